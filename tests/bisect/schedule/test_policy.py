"""Which commits a schedule measures: properties of the policy over any arrival of commits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.bisect.schedule import due_commits, waiting_commits
from knickpoint.bisect.settings import ScheduleMode, ScheduleSettings
from knickpoint.model.commit import Commit

START = datetime(2026, 1, 1, tzinfo=UTC)
EVERY = ScheduleSettings("g", "p", mode=ScheduleMode.EVERY, commits=16, minutes=60)
EACH = ScheduleSettings("g", "p", mode=ScheduleMode.EACH)
EVENT = ScheduleSettings("g", "p", mode=ScheduleMode.EVENT)


def commit(number: int, minute: float) -> Commit:
    return Commit(f"{number:040x}", "", "", START + timedelta(minutes=minute), "")


def line(*minutes: float) -> list[Commit]:
    return [commit(number, minute) for number, minute in enumerate(minutes)]


def at(minute: float) -> datetime:
    return START + timedelta(minutes=minute)


def played(minutes: list[int], settings: ScheduleSettings) -> list[tuple[int, Commit]]:
    """Play an arrival minute by minute; return (minute, commit) of each choice.

    The first commit was measured before.
    """
    commits, chosen = line(0, *minutes), [(0, commit(0, 0))]
    for now in range(max(minutes) + int(settings.minutes) + 1):
        seen = [each for each in commits if each.time <= at(now)]
        due = due_commits(seen, {each.hash for _, each in chosen}, settings, at(now))
        chosen += [(now, each) for each in due]
    return chosen


ARRIVALS = st.lists(st.integers(1, 40), min_size=1, max_size=60).map(
    lambda gaps: [sum(gaps[: place + 1]) // 4 for place in range(len(gaps))]
)
MODES = st.builds(
    ScheduleSettings,
    name=st.just("g"),
    recipe=st.just("p"),
    mode=st.sampled_from([ScheduleMode.EACH, ScheduleMode.EVERY]),
    commits=st.integers(1, 20),
    minutes=st.integers(1, 90).map(float),
)


@given(ARRIVALS, MODES)
def test_each_commit_is_measured_at_most_once(minutes: list[int], settings: ScheduleSettings) -> None:
    chosen = [each.hash for _, each in played(minutes, settings)]
    assert len(chosen) == len(set(chosen))


@given(ARRIVALS, MODES)
def test_no_commit_waits_longer_than_the_stated_time(minutes: list[int], settings: ScheduleSettings) -> None:
    chosen = played(minutes, settings)
    for number, minute in enumerate([0, *minutes]):
        answered = min(now for now, each in chosen if int(each.hash, 16) >= number)
        assert answered <= minute + settings.minutes


@given(ARRIVALS, MODES)
def test_no_more_commits_are_left_out_than_stated(minutes: list[int], settings: ScheduleSettings) -> None:
    """Where commits arrive one by one, the range between two measurements has at most as many commits as stated."""
    minutes = [place + minute for place, minute in enumerate(minutes)]
    places = sorted(int(each.hash, 16) for _, each in played(minutes, settings))
    assert all(later - earlier <= settings.commits for earlier, later in pairwise(places))


@given(ARRIVALS, st.integers(1, 20))
def test_without_a_bound_on_time_there_is_one_job_for_so_many_commits(minutes: list[int], commits: int) -> None:
    settings = ScheduleSettings("g", "p", commits=commits, minutes=1e6)
    now = at(max(minutes))
    chosen = {commit(0, 0).hash}
    jobs = 0
    for count in range(2, len(minutes) + 2):
        due = due_commits(line(0, *minutes)[:count], chosen, settings, now)
        chosen |= {each.hash for each in due}
        jobs += len(due)
    assert jobs == len(minutes) // commits


@given(ARRIVALS)
def test_each_commit_is_measured_where_each_is_asked_for(minutes: list[int]) -> None:
    assert {each.hash for _, each in played(minutes, EACH)} == {each.hash for each in line(0, *minutes)}


def test_the_newest_of_sixteen_is_measured() -> None:
    commits = line(*range(17))
    assert due_commits(commits[:16], {commits[0].hash}, EVERY, at(16)) == ()
    assert due_commits(commits, {commits[0].hash}, EVERY, at(17)) == (commits[16],)


def test_after_an_hour_the_newest_is_measured() -> None:
    commits = line(0, 10, 30)
    measured = {commits[0].hash}
    assert due_commits(commits, measured, EVERY, at(69)) == ()
    assert due_commits(commits, measured, EVERY, at(70)) == (commits[2],)


@pytest.mark.parametrize("settings", [EACH, EVERY])
def test_a_schedule_does_not_measure_the_past(settings: ScheduleSettings) -> None:
    commits = line(*range(100))
    assert due_commits(commits, (), settings, at(1000)) == (commits[-1],)


def test_only_an_event_asks_where_the_schedule_waits_for_events() -> None:
    commits = line(*range(100))
    assert due_commits(commits, {commits[0].hash}, EVENT, at(10_000)) == ()
    assert len(waiting_commits(commits, {commits[0].hash}, EVENT, at(10_000)).commits) == 99


def test_a_commit_from_the_future_waits_since_the_one_before() -> None:
    commits = line(0, 600)
    waiting = waiting_commits(commits, {commits[0].hash}, EVERY, at(5))
    assert (waiting.since, waiting.due) == (at(0), at(60))


def test_commits_before_the_last_measured_one_do_not_wait() -> None:
    commits = line(*range(6))
    assert waiting_commits(commits, {commits[3].hash}, EVERY, at(9)).commits == tuple(commits[4:])


def test_an_empty_line_has_nothing_to_measure() -> None:
    assert due_commits([], (), EACH, at(0)) == ()
