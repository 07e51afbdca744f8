"""Build the answers about change points: their commits, suspect ranges, levels and sparklines.

A list shows hundreds of change points. Lines, commits, traces and values are therefore read once for all change
points of a repository, and each answer is put together in memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from knickpoint.model.change_point import ChangePoint, SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.model.step import Movement
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.answers.sparklines import sparklines
from knickpoint.server.answers.traces import trace_answer
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.schemas.members import ChangePointAnswer, SparklineAnswer, SuspectRangeAnswer
from knickpoint.store import Store
from knickpoint.watch.suspect_ranges import RangeReader

__all__ = ["commit_at", "member_answers", "read_members", "suspect_range_answer"]


def commit_at(reader: RangeReader, line: str, slot: int) -> CommitAnswer:
    """Return the commit at ``slot``, with its position on a line."""
    return commit_answer(reader.commit(slot), reader.lines.line(line).positions.get(slot))


def suspect_range_answer(reader: RangeReader, suspect_range: SuspectRange) -> SuspectRangeAnswer:
    """Return a suspect range by positions on its line."""
    interval, before = reader.lines.interval(suspect_range), reader.before(suspect_range)
    return SuspectRangeAnswer(
        line=reader.lines.line(suspect_range.line).name,
        previous=interval.previous if interval and before else None,
        position=interval.position if interval else None,
        commits=reader.count(suspect_range),
        previous_hash=before.hash if before else "",
    )


def member_answers(store: Store, repository: Repository, points: Sequence[ChangePoint]) -> list[ChangePointAnswer]:
    """Return the answers for change points of one repository, in their order."""
    if not points:
        return []
    reader = RangeReader(store, repository)
    reader.load(point.suspect_range for point in points)
    return read_members(store, reader, points)


def read_members(store: Store, reader: RangeReader, points: Sequence[ChangePoint]) -> list[ChangePointAnswer]:
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
            suspect_range=suspect_range_answer(reader, point.suspect_range),
            commit=commit_at(reader, point.suspect_range.line, point.suspect_range.slot),
            movement=Movement.of(point.numbers.size or point.movement),
            status=point.effective_status,
            certainty=point.certainty,
            certainty_reason=point.certainty_reason,
            sparkline=drawn.get(point.id),
        )
        for point in points
    ]
