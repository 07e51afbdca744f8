"""What goes on while an instance is disturbed: results arrive, people decide; and what is compared in the end."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from tests.instance.test_worker import Clock
from tests.waiting import PAUSE

from knickpoint.ingest.context.sidecar import Sidecar
from knickpoint.ingest.file_import import import_data
from knickpoint.instance import Instance, Worker, create_instance
from knickpoint.model.query import Query
from knickpoint.model.regression import Status

__all__ = ["Visitors", "assert_decided", "assert_logged", "live", "results", "undisturbed_instance", "values"]

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
        for regression in instance.store.findings.regressions(repository)
        for point in instance.store.findings.live_members(regression.id)
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
        asked: how often each decision was sent, by its note: a server that is lost may have taken one that it did not answer.
    """

    api: str
    files: int
    pause_seconds: float = 0.1
    headers: Mapping[str, str] = field(default_factory=dict)
    name: str = "decision"
    stored: list[int] = field(default_factory=list)
    decided: list[tuple[str, int, Status]] = field(default_factory=list)
    asked: Counter[str] = field(default_factory=Counter)
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
        for number in range(self.files):
            parameters = {"name": str(number), "repository": "main"}
            while self._ask("POST", "/results", params=parameters, content=results(number)) is None:
                PAUSE.wait(0.2)
            self.stored.append(number)
            PAUSE.wait(self.pause_seconds)

    def _decide(self) -> None:
        ids: list[int] = []
        while not self._stop.wait(self.pause_seconds):
            for path in ("/regressions", "/regressions?processed=true"):
                if (answer := self._ask("GET", path)) is None:
                    continue
                found = [member["id"] for group in answer.json()["groups"] for member in group["members"]]
                ids += [each for each in found if each not in ids]
            if not ids:
                continue
            number = len(self.decided)
            status = (Status.ACKNOWLEDGED, Status.HIDDEN)[number // len(ids) % 2]
            note, point = f"{self.name} {number}", ids[number % len(ids)]
            body = {"ids": [point], "status": status.value, "note": note}
            self.asked[note] = 1
            while self._ask("POST", "/triage", json=body) is None:
                PAUSE.wait(0.2)
                self.asked[note] += 1
            self.decided.append((note, point, status))

    def _ask(self, method: str, path: str, **request: object) -> httpx.Response | None:
        """Return the answer, None where there was none or a refusal."""
        with suppress(httpx.HTTPError):
            url = self.api + path
            answer = httpx.request(method, url, headers=self.headers, timeout=_SECONDS, **request)  # type: ignore[arg-type]
            if answer.status_code == httpx.codes.OK:
                return answer
        return None
