"""What goes on while an instance is disturbed: results arrive, people decide; and what is compared in the end."""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from tests.instance.test_worker import Clock
from tests.waiting import PAUSE

from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import Instance, Worker, create_instance
from knickpoint.model.change_point import Status
from knickpoint.model.query import Query

__all__ = ["Reader", "Visitors", "assert_decided", "assert_logged", "live", "results", "undisturbed_instance", "values"]

_STEP = 20
_SECONDS = 15.0


def results(number: int) -> bytes:
    """Return the file of the commit ``number``: six traces, of which three step."""
    chance = random.Random(number)
    level = {name: 150.0 if number >= _STEP and name < "d" else 100.0 for name in "abcdef"}
    rows = [{"key": {"benchmark": n, "unit": "ms"}, "measurement": v + chance.random()} for n, v in level.items()]
    return json.dumps({"version": 1, "git_hash": f"CP:{1000 + number}", "results": rows}).encode()


@contextmanager
def undisturbed_instance(directory: Path, files: int) -> Iterator[Instance]:
    """Import the same files into an instance of this process, and judge them."""
    with create_instance(directory, repositories={"main": ""}, as_work=True) as instance:
        for number in range(files):
            import_data(instance, results(number), source=f"upload:{number}", stated=Sidecar(repository="main"))
        Worker(instance, clock=Clock()).step()
        yield instance


def live(instance: Instance) -> list[tuple[str, int]]:
    """Return the trace and the position of each change point that is there, in order."""
    repository = instance.store.commits.repository("main")
    found = [
        point
        for change in instance.store.findings.changes(repository)
        for point in instance.store.findings.live_members(change.id)
    ]
    order = list(instance.store.commits.line(repository).slots)
    keys = {trace.id: trace.key for trace in instance.store.traces.get([point.trace_id for point in found])}
    return sorted((keys[point.trace_id], order.index(point.suspect_range.slot)) for point in found)


def values(instance: Instance) -> list[list[float]]:
    """Return all values, traces by name × commits in order."""
    store = instance.store
    repository = store.commits.repository("main")
    ids = store.traces.select(repository, Query())
    keys = {trace.id: trace.key for trace in store.traces.get(ids.tolist())}
    matrix = store.frames.read(store.commits.line(repository), ids).values
    rows = sorted(zip([keys[each] for each in ids.tolist()], matrix.tolist(), strict=True))
    return [row for _, row in rows]


def assert_logged(instance: Instance, visitors: Visitors) -> None:
    """Assert that each answered decision is in the log, once, however often it was asked until an answer came."""
    notes = Counter(entry.note for entry in instance.store.findings.triage.entries())
    entries = {note: (notes[note], visitors.asked[note]) for note, _, _ in visitors.decided}
    wrong = {note: found for note, found in entries.items() if found[0] != 1}
    assert not wrong, f"decision: entries in the log, requests: {wrong}"


def assert_decided(instance: Instance, visitors: Visitors) -> None:
    """Assert that the log has each answered decision, and that the last one about each finding counts."""
    assert_logged(instance, visitors)
    last = {point: status for _, point, status in visitors.decided}
    assert {point.id: point.status for point in instance.store.findings.points(sorted(last))} == last


@dataclass
class Visitors:
    """A machine that sends results, and a person who decides, each until the answer is there.

    Attributes:
        api: the address of the API.
        files: how many files are sent.
        pause_seconds: after each file, and after each decision.
        headers: of each request.
        name: stands in the note of each decision.
        stored: the files that were answered as stored.
        decided: the decisions that were answered, in order: note, change point, status.
        asked: how often each decision was sent, by its note: a server that is lost may have taken one that it did not
            answer.
        unseen: what the machine or the person had written, and did not see when they looked.
    """

    api: str
    files: int
    pause_seconds: float = 0.1
    headers: Mapping[str, str] = field(default_factory=dict)
    name: str = "decision"
    stored: list[int] = field(default_factory=list)
    decided: list[tuple[str, int, Status]] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
    unseen: list[str] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        self._threads = [threading.Thread(target=task, daemon=True) for task in (self._send, self._decide)]
        for thread in self._threads:
            thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait for the last file; return whether it was answered."""
        self._threads[0].join(seconds)
        return not self._threads[0].is_alive()

    def stop(self) -> None:
        """Let the person finish the decision that is under way."""
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _send(self) -> None:
        browser = _Browser(self.api, self.headers)
        for number in range(self.files):
            parameters = {"name": str(number), "repository": "main"}
            while browser.ask("POST", "/results", params=parameters, content=results(number)) is None:
                PAUSE.wait(0.2)
            self.stored.append(number)
            if (known := browser.commits()) is not None and known <= number:
                self.unseen.append(f"the commit of file {number} among {known}")
            PAUSE.wait(self.pause_seconds)

    def _decide(self) -> None:
        browser = _Browser(self.api, self.headers)
        ids: list[int] = []
        while not self._stop.wait(self.pause_seconds):
            for path in ("/changes", "/changes?processed=true"):
                if (answer := browser.ask("GET", path)) is None:
                    continue
                listed = [point for change in answer.json()["changes"] for point in change["members"]]
                found = [int(point["id"].removeprefix("P")) for point in listed]
                ids += [each for each in found if each not in ids]
            if not ids:
                continue
            number = len(self.decided)
            status = (Status.ACKNOWLEDGED, Status.HIDDEN)[number // len(ids) % 2]
            note, point = f"{self.name} {number}", ids[number % len(ids)]
            body = {"ids": [point], "status": status.value, "note": note}
            self.asked[note] = 1
            while browser.ask("POST", "/triage", json=body) is None:
                PAUSE.wait(0.2)
                self.asked[note] += 1
            self.decided.append((note, point, status))
            answer = browser.ask("GET", f"/triage?finding={point}")
            if answer is not None and note not in [entry["note"] for entry in answer.json()]:
                self.unseen.append(f"{note} about change point {point}")


@dataclass
class _Browser:
    """Ask the API at ``api``, with ``headers``, and keep its cookies; each request has a connection of its own."""

    api: str
    headers: Mapping[str, str]
    failure: str = ""
    _cookies: httpx.Cookies = field(default_factory=httpx.Cookies)

    def ask(self, method: str, path: str, **request: object) -> httpx.Response | None:
        """Return the answer, None where there was none or a refusal; then ``failure`` says which."""
        try:
            with httpx.Client(headers=self.headers, cookies=self._cookies, timeout=_SECONDS) as client:
                answer = client.request(method, self.api + path, **request)  # type: ignore[arg-type]
                self._cookies = client.cookies
        except httpx.HTTPError as error:
            self.failure = repr(error)
            return None
        if answer.status_code == httpx.codes.OK:
            return answer
        self.failure = f"{answer.status_code} {answer.text}"
        return None

    def commits(self) -> int | None:
        """Return how many commits the main line has."""
        answer = self.ask("GET", "/lines?repository=main")
        return None if answer is None else sum(line["commits"] for line in answer.json() if not line["base"])


@dataclass(frozen=True, slots=True)
class _Look:
    """What a reader saw between two moments: how many commits, or why nothing."""

    asked: float
    answered: float
    commits: int | None
    failure: str = ""


@dataclass
class Reader:
    """A person who only reads, again and again: how many commits there are."""

    api: str
    headers: Mapping[str, str]
    pause_seconds: float = 0.1
    looks: list[_Look] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def went_back(self, seconds: float) -> list[str]:
        """Return the looks that saw less than a look had seen ``seconds`` before they were asked."""
        seen = [look for look in self.looks if look.commits is not None]
        found, first, most = [], 0, 0
        for look in seen:
            while seen[first].answered <= look.asked - seconds:
                most, first = max(most, seen[first].commits or 0), first + 1
            if (look.commits or 0) < most:
                found.append(f"{look.commits} commits after {most}")
        return found

    def failures(self, spared: list[tuple[float, float]]) -> list[str]:
        """Return what failed outside of the ``spared`` stretches of time."""
        return [
            look.failure
            for look in self.looks
            if look.failure and not any(look.answered >= begin and look.asked <= end for begin, end in spared)
        ]

    def _look(self) -> None:
        browser = _Browser(self.api, self.headers)
        while not self._stop.wait(self.pause_seconds):
            asked = time.monotonic()
            known = browser.commits()
            self.looks.append(_Look(asked, time.monotonic(), known, browser.failure if known is None else ""))
