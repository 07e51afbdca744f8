"""Replay a history commit by commit through the real pipeline: import, alerts, announcements.

A *replay* is one instance in a temporary directory. Each commit arrives as one results file, the alerts run over the
traces of the event, and what became known is read from the store, as a sender of messages would.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from accuracy_series import Traces
from knickpoint.ingest import import_data
from knickpoint.instance import Instance, create_instance, open_instance
from knickpoint.instance.worker.alert_runs import AlertRuns
from knickpoint.model.change_point import ChangePoint, Condition, SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.model.notification import Announcement
from knickpoint.model.statement import Change
from knickpoint.store import EventKind

__all__ = ["Replay", "SeenMessage", "history_of_series", "published_history", "published_traces", "replay"]

_START: Final = 1_600_000_000
_ASSIGNMENT: Final = re.compile(r"^\s*window\.BENCHMARK_DATA\s*=\s*")

Document = dict[str, Any]


def published_history(path: Path) -> list[Document]:
    """Return a published history (``data.js``) as one document for each commit, in the order of the first results."""
    whole = json.loads(_ASSIGNMENT.sub("", path.read_text()).rstrip().removesuffix(";"))
    entries = [(suite, entry) for suite, listed in whole["entries"].items() for entry in listed]
    first: dict[str, int] = {}
    for _, entry in entries:
        key = entry["commit"]["id"]
        first[key] = min(entry["date"], first.get(key, entry["date"]))
    entries.sort(key=lambda each: (first[each[1]["commit"]["id"]], each[1]["commit"]["id"]))
    documents = []
    for _, group in groupby(entries, key=lambda each: each[1]["commit"]["id"]):
        suites: dict[str, list[Any]] = {}
        for suite, entry in group:
            suites.setdefault(suite, []).append(entry)
        documents.append({"lastUpdate": 0, "repoUrl": whole["repoUrl"], "entries": suites})
    return documents


def published_traces(path: Path) -> list[Traces]:
    """Return the values of each suite of a published history, its traces x the commits of all suites."""
    documents = published_history(path)
    suites: dict[str, dict[str, dict[int, float]]] = {}
    for column, document in enumerate(documents):
        for suite, entries in document["entries"].items():
            for bench in (bench for entry in entries for bench in entry["benches"]):
                suites.setdefault(suite, {}).setdefault(bench["name"], {})[column] = float(bench["value"])
    return [
        Traces(
            tuple(f",benchmark={name.replace(',', ';').replace('=', ':')}," for name in traces),
            np.array([[values.get(column, np.nan) for column in range(len(documents))] for values in traces.values()]),
        )
        for traces in suites.values()
    ]


def history_of_series(values: NDArray[np.float64], *, name: str, higher_is_better: bool = False) -> list[Document]:
    """Return one series as a history of one trace: a document for each value."""
    tool = "customBiggerIsBetter" if higher_is_better else "customSmallerIsBetter"
    url = f"https://example.org/{name}"
    documents = []
    for number, value in enumerate(values.tolist()):
        identity = hashlib.sha1(f"{name} {number}".encode(), usedforsecurity=False).hexdigest()
        second = _START + 3600 * number
        stamp = f"{np.datetime64(second, 's')}Z"
        commit = {
            "id": identity,
            "message": f"SeenMessage {number}",
            "timestamp": stamp,
            "url": f"{url}/commit/{identity}",
            "author": {"name": "A. Author", "email": "author@example.org", "username": "author"},
        }
        entry = {
            "commit": commit,
            "date": second * 1000,
            "tool": tool,
            "benches": [{"name": "benchmark", "value": value, "unit": "ns"}],
        }
        documents.append({"lastUpdate": second * 1000, "repoUrl": url, "entries": {"Suite": [entry]}})
    return documents


@dataclass(frozen=True, slots=True)
class SeenMessage:
    """One announcement: of which change, at which commit of the replay, and how many values after the message.

    The change lies in the positions (``previous``, ``position``] of the line, or ``interval`` values away.
    """

    change: int
    kind: str
    commit: int
    later: int
    previous: int
    position: int
    interval: int = 0
    chain: int = 0

    @property
    def opens(self) -> bool:
        """Whether it announces a change, and not what became of one."""
        return self.kind in {"regressed", "improved"}

    def covers(self, position: int) -> bool:
        """Return whether a change at ``position`` is what it announces."""
        return self.previous - self.interval < position <= self.position + self.interval


@dataclass(frozen=True, slots=True)
class Replay:
    """What a replay came to.

    ``first_seen`` are the new changes, each as soon as a run found it; ``announced`` the rows of the ledger, ``final``
    the live changes of the end. ``contradictions`` are the chains whose last row is not what the data show: withdrawn
    but there, gone but not withdrawn, or elsewhere.
    """

    commits: int
    first_seen: tuple[SeenMessage, ...]
    announced: tuple[SeenMessage, ...]
    final: tuple[Change, ...]
    contradictions: tuple[int, ...]

    @property
    def opened(self) -> list[SeenMessage]:
        """The announcements of changes."""
        return [message for message in self.announced if message.opens]

    @property
    def delays(self) -> list[int]:
        """How many values after the change each change of the end was announced, without those that never were."""
        opened = {message.chain: message.later for message in self.opened}
        chains = [
            [opened[member.announced] for member in change.members if member.announced in opened]
            for change in self.final
        ]
        return [min(found) for found in chains if found]

    @property
    def first_delays(self) -> list[int]:
        """How many values after the change each change of the end was first seen."""
        live = {change.id for change in self.final}
        return [message.later for message in self.first_seen if message.change in live]


@contextmanager
def _instance() -> Iterator[Instance]:
    with tempfile.TemporaryDirectory() as place:
        create_instance(Path(place) / "instance", as_work=True)
        with open_instance(Path(place) / "instance") as opened:
            yield opened


def replay(documents: Sequence[Document]) -> Replay:
    """Import ``documents`` one by one into a new instance, and run the alerts after each."""
    seen: list[SeenMessage] = []
    announced: list[SeenMessage] = []
    with _instance() as instance:
        instance.store.outbox.subscribe("replay", [EventKind.CHANGES_UPDATED])
        alerts = AlertRuns(instance, "replay", lambda _line: None, lambda: 0.0)
        last = 0
        for number, document in enumerate(documents):
            import_data(instance, json.dumps(document).encode(), source=f"{number}.json")
            alerts.over_changes()
            seen += list(_first_seen(instance, number))
            rows = instance.store.findings.announcements.after(last)
            announced += [_announced(instance, number, row) for row in rows]
            last = max((last, *(row.id for row in rows)))
        (repository,) = instance.store.commits.repositories()
        final = tuple(instance.store.findings.changes(repository))
        contradictions = tuple(_contradictions(instance, repository, announced, final))
    return Replay(len(documents), tuple(seen), tuple(announced), final, contradictions)


def _first_seen(instance: Instance, number: int) -> Iterator[SeenMessage]:
    store = instance.store
    for event in store.outbox.claim([EventKind.CHANGES_UPDATED], "replay", 60, 1000, consumer="replay"):
        (repository,) = store.commits.repositories()
        for key in event.payload.get("new_changes", []):
            change = store.findings.change(key)
            points = [member for member in change.members if member.condition is not Condition.GONE]
            previous, position = _bounds(instance, repository, change.suspect_range)
            yield SeenMessage(key, "new", number, _later(instance, repository, points), previous, position)
        store.outbox.done(event)


def _announced(instance: Instance, number: int, row: Announcement) -> SeenMessage:
    (repository,) = instance.store.commits.repositories()
    points = instance.store.findings.points([row.lead])
    later = _later(instance, repository, points)
    previous, position = _bounds(instance, repository, row.suspect_range)
    return SeenMessage(row.change_id, row.kind.value, number, later, previous, position, row.interval, row.chain)


def _bounds(instance: Instance, repository: Repository, suspect_range: SuspectRange) -> tuple[int, int]:
    positions = instance.store.commits.line(repository).positions
    return positions.get(suspect_range.previous, -1), positions[suspect_range.slot]


def _contradictions(
    instance: Instance, repository: Repository, announced: Sequence[SeenMessage], final: Sequence[Change]
) -> Iterator[int]:
    """Yield the chains whose last announcement disagrees with the settled findings of the end."""
    last = {message.chain: message for message in announced}
    live: dict[int, list[ChangePoint]] = {}
    for member in (member for change in final for member in change.members):
        live.setdefault(member.announced, []).append(member)
    for chain, message in last.items():
        settled = [point for point in live.get(chain, []) if point.settlement.settled]
        if (message.kind == "withdrawn" and settled) or (
            settled and not any(_covered(instance, repository, message, point) for point in live[chain])
        ):
            yield chain


def _covered(instance: Instance, repository: Repository, message: SeenMessage, point: ChangePoint) -> bool:
    previous, position = _bounds(instance, repository, point.suspect_range)
    reach = max(message.interval, point.interval)
    return previous < message.position + reach and message.previous - reach < position


def _later(instance: Instance, repository: Repository, points: Sequence[ChangePoint]) -> int:
    """Return how many values the trace of a change has since it; of several changes the least."""
    store = instance.store
    line = store.commits.line(repository)
    counts = []
    for point in points:
        values = store.frames.values(line, [point.trace_id])[0]
        counts.append(int((~np.isnan(values[line.positions[point.suspect_range.slot] :])).sum()))
    return min(counts, default=0)
