"""Messages go out at once, at the times of digests, and never in quiet hours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.model.errors import ConfigError
from knickpoint.notify.recipients import Schedule, read_schedule
from knickpoint.notify.settings import NotifySettings


def schedule(*, digest: tuple[str, ...] = (), quiet: str = "", zone: str = "Europe/Berlin") -> Schedule:
    return read_schedule(NotifySettings(digest=digest, quiet=quiet, time_zone=zone))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_without_settings_a_message_goes_out_at_once() -> None:
    now = utc("2026-01-10T02:00")
    assert schedule().due(now) == now


@pytest.mark.parametrize(
    ("now", "due"),
    [
        ("2026-01-10T06:59", "2026-01-10T07:00"),
        ("2026-01-10T07:00", "2026-01-10T07:00"),
        ("2026-01-10T07:01", "2026-01-10T15:00"),
        ("2026-01-10T15:01", "2026-01-11T07:00"),
        ("2026-07-10T05:00", "2026-07-10T06:00"),
    ],
)
def test_a_digest_goes_out_at_the_next_of_its_times_by_the_clock_on_the_wall(now: str, due: str) -> None:
    assert schedule(digest=("08:00", "16:00")).due(utc(now)) == utc(due)


@pytest.mark.parametrize(
    ("now", "due"),
    [
        ("2026-01-10T20:59", "2026-01-10T20:59"),
        ("2026-01-10T21:00", "2026-01-11T06:00"),
        ("2026-01-11T05:59", "2026-01-11T06:00"),
        ("2026-01-11T06:00", "2026-01-11T06:00"),
        # The night in which the clock goes forward is an hour shorter, the one in which it goes back an hour longer.
        ("2026-03-28T21:00", "2026-03-29T05:00"),
        ("2026-10-24T20:00", "2026-10-25T06:00"),
    ],
)
def test_quiet_hours_over_midnight_end_in_the_morning(now: str, due: str) -> None:
    assert schedule(quiet="22:00-07:00").due(utc(now)) == utc(due)


def test_quiet_hours_that_end_at_a_time_the_clock_skips_end_after_the_skip() -> None:
    assert schedule(quiet="22:00-02:30").due(utc("2026-03-29T00:30")) == utc("2026-03-29T01:30")


def test_quiet_hours_that_end_at_a_time_the_clock_shows_twice_end_at_its_first_time() -> None:
    berlin = schedule(quiet="22:00-02:30")
    assert berlin.due(utc("2026-10-25T00:29")) == utc("2026-10-25T00:30")
    assert berlin.due(utc("2026-10-25T01:10")) == utc("2026-10-25T01:10")


def test_a_digest_within_quiet_hours_goes_out_at_their_end() -> None:
    assert schedule(digest=("05:00",), quiet="22:00-07:00").due(utc("2026-01-10T20:00")) == utc("2026-01-11T06:00")


@given(
    st.datetimes(datetime(2025, 1, 1), datetime(2027, 12, 31)),  # noqa: DTZ001  # made aware below
    st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "UTC"]),
    st.tuples(st.integers(0, 23), st.integers(0, 59), st.integers(0, 23), st.integers(0, 59)),
)
def test_nothing_goes_out_in_quiet_hours_and_nothing_waits_for_longer_than_a_day(
    now: datetime, zone: str, hours: tuple[int, int, int, int]
) -> None:
    begin, end = f"{hours[0]:02}:{hours[1]:02}", f"{hours[2]:02}:{hours[3]:02}"
    if begin == end:
        return
    quiet = schedule(quiet=f"{begin}-{end}", zone=zone)
    moment = now.replace(tzinfo=UTC)
    due = quiet.due(moment)
    assert moment <= due <= moment + timedelta(hours=26)
    assert quiet.after_quiet(due) == due


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (NotifySettings(time_zone="Europe/Atlantis"), "time_zone is 'Europe/Atlantis', which is unknown"),
        (NotifySettings(time_zone="../etc/passwd"), "time_zone is"),
        (NotifySettings(digest=("8 am",)), "digest has '8 am', which is not a time of the day"),
        (NotifySettings(quiet="22:00"), "quiet has '', which is not a time of the day"),
        (NotifySettings(quiet="22:00-24:00"), "quiet has '24:00'"),
        (NotifySettings(quiet="07:00-07:00"), "the whole day"),
    ],
)
def test_what_cannot_be_read_is_refused(settings: NotifySettings, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_schedule(settings)
