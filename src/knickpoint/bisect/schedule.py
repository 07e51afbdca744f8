"""The schedule: which commits are measured as they arrive, and which are measured later to narrow a finding."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from knickpoint.bisect.settings import ScheduleMode, ScheduleSettings
from knickpoint.model.commit import Commit

# Choose which commits inside a suspect range are worth a measurement, the most useful first; pure functions.


@dataclass(frozen=True, slots=True)
class FillRange:
    """A suspect range: ``commits`` after the last good one, oldest first; the last of them is the first bad one.

    ``answered`` are the places in ``commits`` that are measured or about to be, ``impossible`` those that cannot be.
    Both ends of the range are measured. ``weights`` has how likely each commit is the cause, not negative, of any sum;
    empty for equally.
    """

    commits: tuple[str, ...]
    answered: frozenset[int] = frozenset()
    impossible: frozenset[int] = frozenset()
    weights: tuple[float, ...] = ()


def useful_commits(suspects: FillRange, count: int) -> tuple[str, ...]:
    """Return at most ``count`` commits to measure at the same time, the most useful first.

    A measurement at a commit says on which side of it the change is. So the next commit is the one that leaves the
    least weight on its heavier side, in the heaviest stretch between two places with an answer. Of one commit, that is
    the middle; of three, the middle and the middles of both halves, so that two rounds decide a range of sixteen.
    """
    last = len(suspects.commits) - 1
    weights = suspects.weights if sum(suspects.weights) > 0 else (1.0,) * len(suspects.commits)
    answered = suspects.answered | {-1, last}
    chosen: list[int] = []
    while len(chosen) < count:
        place = _most_useful(weights, sorted(answered), answered | suspects.impossible)
        if place is None:
            break
        chosen.append(place)
        answered = answered | {place}
    return tuple(suspects.commits[place] for place in chosen)


def _most_useful(weights: Sequence[float], answered: Sequence[int], taken: frozenset[int]) -> int | None:
    """Return the place that splits the heaviest stretch that has one best.

    Stretches lie between places in ``answered``.
    """
    best: tuple[float, float, int] | None = None
    for low, high in pairwise(answered):
        free = [place for place in range(low + 1, high) if place not in taken]
        if not free:
            continue
        stretch = sum(weights[low + 1 : high + 1])
        heavier, place = min((_heavier_side(weights, low, place, high), place) for place in free)
        if best is None or (-stretch, heavier, place) < best:
            best = -stretch, heavier, place
    return best[2] if best else None


def _heavier_side(weights: Sequence[float], low: int, place: int, high: int) -> float:
    """Return the larger weight that is left in a stretch once ``place`` has an answer."""
    return max(sum(weights[low + 1 : place + 1]), sum(weights[place + 1 : high + 1]))


# Decide which commits of a line are measured; a pure function of the line, of what is measured, and of the time.


@dataclass(frozen=True, slots=True)
class Waiting:
    """The commits that are newer than the last measured one, oldest first, and when the next one is measured.

    ``since`` is the time of the oldest of them. ``due`` is when one is measured if no further commit arrives; it may be
    past. Both are None where no commit waits, ``due`` also where only an event asks for measurements.
    """

    commits: tuple[Commit, ...] = ()
    since: datetime | None = None
    due: datetime | None = None


def due_commits(
    line: Sequence[Commit], measured: Collection[str], settings: ScheduleSettings, now: datetime
) -> tuple[Commit, ...]:
    """Return the commits of ``line`` to measure now.

    With EVERY, that is the newest commit, as soon as ``settings.commits`` are new or the oldest new one has waited for
    ``settings.minutes``. With EACH, it is each new commit; on a line without any measurement the newest one, for a
    schedule does not measure the past. With EVENT, it is none.

    Args:
        line: the commits by first parent, oldest first.
        measured: the hashes of commits that have results or were chosen before, whatever became of them.
        settings: those of the schedule.
        now: the time, aware. A commit waits since its own time; one whose time lies in the future since that of the
            commit before.
    """
    waiting = waiting_commits(line, measured, settings, now)
    if not waiting.commits or waiting.due is None:
        return ()
    if settings.mode is ScheduleMode.EACH:
        return waiting.commits if _any_measured(line, measured) else waiting.commits[-1:]
    return waiting.commits[-1:] if waiting.due <= now else ()


def waiting_commits(
    line: Sequence[Commit], measured: Collection[str], settings: ScheduleSettings, now: datetime
) -> Waiting:
    """Return the commits after the last measured one, and when one of them is measured.

    Arguments as in :func:`due_commits`.
    """
    known = frozenset(measured)
    commits: list[Commit] = []
    for commit in reversed(line):
        if commit.hash in known:
            break
        commits.append(commit)
    commits.reverse()
    if not commits:
        return Waiting()
    since = _waits_since(line, len(commits), now)
    if settings.mode is ScheduleMode.EVENT:
        return Waiting(tuple(commits), since)
    at_once = settings.mode is ScheduleMode.EACH or len(commits) >= settings.commits
    return Waiting(tuple(commits), since, since if at_once else since + timedelta(minutes=settings.minutes))


def _waits_since(line: Sequence[Commit], count: int, now: datetime) -> datetime:
    """Return since when the oldest of the last ``count`` commits waits; a clock in the future says nothing."""
    plausible = [commit.time for commit in line[-count:] if commit.time <= now]
    if plausible:
        return min(plausible)
    return max((commit.time for commit in line[:-count] if commit.time <= now), default=now)


def _any_measured(line: Sequence[Commit], measured: Collection[str]) -> bool:
    known = frozenset(measured)
    return any(commit.hash in known for commit in reversed(line))
