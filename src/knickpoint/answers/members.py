"""The members of a change, with commit, suspect range, levels, status and sparkline; and its suspects.

Suspects are those of the store; nothing is ranked while a request waits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from knickpoint.answers.base import Answer, ChangeId, ChangePointId, FiniteOrNull
from knickpoint.answers.commits import CommitAnswer, commit_answer
from knickpoint.answers.traces import TraceAnswer, trace_answer
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.model.alert import AlertKind, AlertSeverity
from knickpoint.model.change_point import ChangePoint, Condition, Direction, Status, SuspectRange
from knickpoint.model.commit import Line, Repository
from knickpoint.model.settlement import Certainty, FindingKind
from knickpoint.model.step import Movement
from knickpoint.model.suspects import SuspectFacts
from knickpoint.store import Store
from knickpoint.watch.lines import RangeReader

# The change points of a change: suspect range, levels, numbers, status.


class LevelAnswer(Answer):
    """The values of one level, in the unit of the trace."""

    count: int
    minimum: float
    maximum: float
    median: float
    mean: float
    variance: float


class SuspectRangeAnswer(Answer):
    """A suspect range: the change lies in (previous, position]."""

    line: str
    previous: int | None = Field(description="Position of the last measured commit before the change.")
    position: int | None = Field(description="Position of the first measured commit at the new level.")
    commits: int = Field(description="Number of commits in the range; 1 when the commit before was measured too.")
    previous_hash: str


class SparklineAnswer(Answer):
    """Measured values around a change, for a small drawing."""

    values: list[float]
    begin: int = Field(description="Index of the first value of the level before the change.")
    split: int = Field(description="Index of the first value at the new level.")
    end: int = Field(description="Index of the first value after the new level, where a later change ends it.")


class ChangePointAnswer(Answer):
    """A change point: a step of one trace, and its status."""

    id: ChangePointId
    change: ChangeId | None
    trace: TraceAnswer = Field(description="The trace that it is a step of.")
    suspect_range: SuspectRangeAnswer
    commit: CommitAnswer
    movement: Movement
    direction: Direction
    before_level: float = Field(description="Median of the at most 20 values before the change.")
    after_level: float = Field(description="Median of up to 20 values after the change.")
    deviation: FiniteOrNull = Field(description="Robust standard deviation of single values around these levels.")
    size_text: str = Field(description="The size in words, as `12 % slower`.")
    size: float = Field(description="Level after minus level before, in the unit of the trace.")
    relative_size: FiniteOrNull = Field(description="size / |level before|; null where the level before is 0.")
    low: FiniteOrNull = Field(description="The size is at least this (95 %); null where there are too few values.")
    high: FiniteOrNull = Field(description="The size is at most this (95 %); null where there are too few values.")
    sign: FiniteOrNull = Field(description="Chance that the size has the right sign; null where it is unknown.")
    reference: str = Field(description="What a drift is compared with: `best`, a date or a tag; empty for its start.")
    over_reference: FiniteOrNull = Field(
        description="How far the end of the drift lies from the level there, as a share of it; null without a "
        "reference."
    )
    hazard: FiniteOrNull = Field(description="log(mean before / mean after); null where a mean is not positive.")
    before: LevelAnswer = Field(description="The level before the change.")
    after: LevelAnswer = Field(description="The level after the change.")
    score: FiniteOrNull = Field(description="Strength by the method, larger is stronger.")
    p_value: FiniteOrNull
    method: str = Field(description="The method that found it.")
    alerts: list[str] = Field(description="Names of the alerts that report it.")
    alert_kind: AlertKind = Field(
        description="`work`; `informational` or `canary` where all of its alerts are; these are not work and not "
        "announced."
    )
    alert_severity: AlertSeverity = Field(description="The highest severity of its alerts.")
    condition: Condition
    kind: FindingKind = Field(
        description="`step`: a change of level; `drift`: a slow one; `mode`: another share of several levels; "
        "`noise`: more noise around the same level."
    )
    certainty: Certainty = Field(description="Whether later values may still move the change or take it away.")
    certainty_reason: str = Field(description="Why it is provisional; empty where it is settled.")
    held: str = Field(description="Why it is held back: results at its place are quarantined; empty where none are.")
    found: datetime | None = Field(
        description="When a run first found it; later than that of its change for a member that joined."
    )
    history: bool = Field(description="Whether its change lies at or before the history boundary.")
    status: Status = Field(description="The status; `ticket` for a `new` change point that a known ticket covers.")
    note: str
    ticket: str
    matched_ticket: str = Field(description="The known ticket that covers this trace and suspect range.")
    assignee: str
    sparkline: SparklineAnswer | None = None


class MembersAnswer(Answer):
    """One page of the members of a change: the worst first, equal ones by trace key."""

    change: ChangeId
    members: list[ChangePointAnswer]
    after: ChangePointId | None = Field(description="The value of `after` for the next page; null on the last one.")


# Build sparklines: the values around a change, few enough for a small drawing.
#
# A sparkline has 24 measured values on each side. Most traces are measured at almost every commit, so 48 commits on
# each side suffice; where they do not, the search is repeated over 512. Change points whose surroundings overlap are
# read together, as one block of values, as long as the block stays small.


_SIDE: Final = 24
"""Values before the change, and values after it."""

_REACH: Final = (48, 512)
"""Commits to read on each side: at first, and where too few of them were measured."""

_ENOUGH: Final = 6
"""Values on a side that need no second search."""

_LARGEST_BLOCK: Final = 1 << 21
"""Values (traces times commits) of a block; one change point may take more."""

_DIGITS: Final = 5
"""Significant digits of a drawn value."""


def sparklines(store: Store, line: Line, points: Sequence[ChangePoint]) -> dict[int, SparklineAnswer]:
    """Return change point id → the values around it, and the bounds of the levels before and after it.

    Points that are not on ``line`` are left out.
    """
    found: dict[int, SparklineAnswer] = {}
    open_points = [point for point in points if point.suspect_range.slot in line.positions]
    for reach in _REACH:
        if not open_points:
            break
        drawn = _draw(store, line, open_points, reach)
        found |= drawn
        open_points = [point for point in open_points if _is_short(drawn[point.id])]
    return found


def _is_short(drawn: SparklineAnswer) -> bool:
    return min(drawn.split, len(drawn.values) - drawn.split) < _ENOUGH


def _draw(store: Store, line: Line, points: Sequence[ChangePoint], reach: int) -> dict[int, SparklineAnswer]:
    found: dict[int, SparklineAnswer] = {}
    for near in _neighbours(line, points, reach):
        positions = [line.positions[point.suspect_range.slot] for point in near]
        first = max(0, positions[0] - reach)
        last = min(positions[-1] + reach, len(line.slots)) - 1
        ids = sorted({point.trace_id for point in near})
        rows = dict(zip(ids, store.frames.values(line, ids, first=first, last=last), strict=True))
        for point, position in zip(near, positions, strict=True):
            begin = max(position - reach, first)
            row = rows[point.trace_id][begin - first : position + reach - first]
            level = (
                line.positions.get(point.numbers.before.first, 0) - begin,
                line.positions.get(point.numbers.after.last, len(line.slots)) - begin + 1,
            )
            found[point.id] = _cut(row, position - begin, level)
    return found


def _neighbours(line: Line, points: Sequence[ChangePoint], reach: int) -> Iterator[list[ChangePoint]]:
    """Part ``points`` into groups whose surroundings overlap, by position; the block of a group stays small."""
    near: list[ChangePoint] = []
    first = before = 0
    for point in sorted(points, key=lambda point: line.positions[point.suspect_range.slot]):
        position = line.positions[point.suspect_range.slot]
        block = (len(near) + 1) * (position - first + 2 * reach)
        if near and (position - before > reach or block > _LARGEST_BLOCK):
            yield near
            near = []
        first = first if near else position
        near.append(point)
        before = position
    if near:
        yield near


def _cut(row: NDArray[np.floating], change: int, levels: tuple[int, int]) -> SparklineAnswer:
    """Keep the values nearest to the index ``change``; the levels beside it are ``levels[0]`` to ``levels[1]``."""
    measured = np.flatnonzero(~np.isnan(row))
    split = int(np.searchsorted(measured, change))
    kept = measured[max(0, split - _SIDE) : split + _SIDE]
    begin, middle, end = (int(bound) for bound in np.searchsorted(kept, [levels[0], change, levels[1]]))
    return SparklineAnswer(
        values=[float(f"{value:.{_DIGITS}g}") for value in row[kept].tolist()], begin=begin, split=middle, end=end
    )


# Build the answers about change points: their commits, suspect ranges, levels and sparklines.
#
# A list shows hundreds of change points. Lines, commits, traces and values are therefore read once for all change
# points of a repository, and each answer is put together in memory.


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


# The suspects of a change.


class SuspectAnswer(Answer):
    """A commit that may have caused a change."""

    rank: int = Field(description="Place in the list, 1 for the most likely.")
    commit: CommitAnswer
    probability: float = Field(description="Probability that it is the cause, before any commit is measured again.")
    reasons: list[str] = Field(description="What speaks for or against it, in words, the most important first.")


class SuspectsAnswer(Answer):
    """The commits that may have caused a change, the most likely first."""

    change: ChangeId
    ranked: bool = Field(
        description="False before the worker ranks them: the change is new, or its suspect range moved."
    )
    none: float | None = Field(description="Probability that no commit of the list is the cause; null if not ranked.")
    facts: SuspectFacts | None = Field(
        description="`git`: the ranking knows the touched files; `results`: it does not, and places alone decide."
    )
    note: str = Field(description="What limits the ranking, empty if nothing does.")
    machine: str = Field(description="What changed about the machine at the step, empty if nothing did.")
    suspects: list[SuspectAnswer]


# Build the answer about the suspects of a change, as they are stored: nothing is ranked while someone reads.


def list_suspects(visible: VisibleRepositories, change: int) -> SuspectsAnswer:
    """List the suspects of a change, the most likely first.

    Raises:
        UnknownError: there is no such change.
    """
    repository = visible.of_change(change)
    found = visible.store.findings.suspects.get(change)
    if found is None:
        return SuspectsAnswer(change=change, ranked=False, none=None, facts=None, note="", machine="", suspects=[])
    reader = RangeReader(visible.store, repository)
    reader.load(slots=[suspect.slot for suspect in found.suspects])
    suspects = [
        SuspectAnswer.of(each, rank=rank, commit=commit_at(reader, found.suspect_range.line, each.slot))
        for rank, each in enumerate(found.suspects, 1)
    ]
    return SuspectsAnswer.of(found, change=change, ranked=True, suspects=suspects)
