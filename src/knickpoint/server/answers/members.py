"""Build the answers about change points: their commits, suspect ranges, levels and sparklines.

A list shows hundreds of change points. Lines, commits, traces and values are therefore read once for all change
points of a repository, and each answer is put together in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from knickpoint.model.change_point import ChangePoint, SuspectRange
from knickpoint.model.commit import Commit, Repository
from knickpoint.model.step import Movement
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.answers.sparklines import sparklines
from knickpoint.server.answers.traces import trace_answer
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.schemas.members import ChangePointAnswer, SparklineAnswer, SuspectRangeAnswer
from knickpoint.store import Store
from knickpoint.watch.lines import Lines

__all__ = ["RepositoryReader", "member_answers", "read_members"]

_UNKNOWN: Final = "(unknown commit)"


class RepositoryReader:
    """Read the lines and commits of one repository, each once."""

    def __init__(self, store: Store, repository: Repository) -> None:
        self._store = store
        self.repository = repository
        self.lines = Lines(store, repository)
        self._commits: dict[int, Commit] = {}

    def load(self, ranges: Iterable[SuspectRange], slots: Iterable[int] = ()) -> None:
        """Read the commits at both ends of ``ranges``, and those at ``slots``, at once."""
        ends = (slot for each in ranges for slot in (each.slot, each.previous))
        slots = dict.fromkeys([*ends, *(slot for slot in slots if slot >= 0)])
        missing = [slot for slot in slots if slot not in self._commits]
        self._commits |= {found.slot: found.commit for found in self._store.commits.get(self.repository, missing)}

    def commit(self, suspect_range: SuspectRange) -> CommitAnswer:
        """Return the first commit at the new level."""
        return self.commit_at(suspect_range.line, suspect_range.slot)

    def commit_at(self, line: str, slot: int) -> CommitAnswer:
        """Return the loaded commit at ``slot``, with its position on a line."""
        position = self.lines.line(line).positions.get(slot)
        commit = self._commits.get(slot)
        if commit is None:
            name = str(slot)
            return CommitAnswer(
                hash=name, short=name, author="", email="", time=None, subject=_UNKNOWN, url="", position=position
            )
        return commit_answer(commit, position)

    def suspect_range(self, suspect_range: SuspectRange) -> SuspectRangeAnswer:
        """Return a suspect range by positions on its line."""
        positions = self.lines.line(suspect_range.line).positions
        previous, position = positions.get(suspect_range.previous), positions.get(suspect_range.slot)
        before = self._commits.get(suspect_range.previous)
        return SuspectRangeAnswer(
            line=suspect_range.line,
            previous=previous,
            position=position,
            commits=1 if previous is None or position is None else max(1, position - previous),
            previous_hash=before.hash if before else "",
        )


def member_answers(store: Store, repository: Repository, points: Sequence[ChangePoint]) -> list[ChangePointAnswer]:
    """Return the answers for change points of one repository, in their order."""
    if not points:
        return []
    reader = RepositoryReader(store, repository)
    reader.load(point.suspect_range for point in points)
    return read_members(store, reader, points)


def read_members(store: Store, reader: RepositoryReader, points: Sequence[ChangePoint]) -> list[ChangePointAnswer]:
    """Return the answers for change points whose commits ``reader`` has loaded, in their order."""
    traces = {trace.id: trace for trace in store.traces.get([point.trace_id for point in points])}
    drawn: dict[int, SparklineAnswer] = {}
    for name in {point.suspect_range.line for point in points}:
        on_line = [point for point in points if point.suspect_range.line == name]
        drawn |= sparklines(store, reader.lines.line(name), on_line)
    return [
        ChangePointAnswer.of(
            point,
            point.numbers,
            change=point.change_id or None,
            trace=trace_answer(traces[point.trace_id], reader.repository.name),
            suspect_range=reader.suspect_range(point.suspect_range),
            commit=reader.commit(point.suspect_range),
            movement=Movement.UP if (point.numbers.size or point.movement) > 0 else Movement.DOWN,
            status=point.effective_status,
            certainty=point.certainty,
            certainty_reason=point.certainty_reason,
            sparkline=drawn.get(point.id),
        )
        for point in points
    ]
