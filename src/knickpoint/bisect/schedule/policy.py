"""Decide which commits of a line are measured; a pure function of the line, of what is measured, and of the time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from knickpoint.bisect.settings import ScheduleMode, ScheduleSettings
from knickpoint.model.commit import Commit

__all__ = ["Waiting", "due_commits", "waiting_commits"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """The commits that are newer than the last measured one, oldest first, and when the next one is measured.

    ``since`` is the time of the oldest of them. ``due`` is when one is measured if no further commit arrives; it may be past.
    Both are None where no commit waits, ``due`` also where only an event asks for measurements.
    """

    commits: tuple[Commit, ...] = ()
    since: datetime | None = None
    due: datetime | None = None


def due_commits(
    line: Sequence[Commit], measured: Collection[str], settings: ScheduleSettings, now: datetime
) -> tuple[Commit, ...]:
    """Return the commits of ``line`` to measure now.

    With EVERY, that is the newest commit, as soon as ``settings.commits`` are new or the oldest new one has waited for
    ``settings.minutes``. With EACH, it is each new commit; on a line without any measurement the newest one, for a schedule does
    not measure the past. With EVENT, it is none.

    Args:
        line: the commits by first parent, oldest first.
        measured: the hashes of commits that have results or were chosen before, whatever became of them.
        settings: those of the schedule.
        now: the time, aware. A commit waits since its own time; one whose time lies in the future since that of the commit before.
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
    """Return the commits after the last measured one, and when one of them is measured; arguments as in :func:`due_commits`."""
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
