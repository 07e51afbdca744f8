from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.access.tokens import read_expiry, read_since
from knickpoint.model.errors import InputError

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def test_days_count_on_for_an_expiry_and_back_for_a_beginning() -> None:
    assert read_expiry("90d", NOW) == NOW + timedelta(days=90)
    assert read_since("7d", NOW) == NOW - timedelta(days=7)


def test_a_date_includes_its_day() -> None:
    assert read_expiry("2026-05-01", NOW) == datetime(2026, 5, 2, tzinfo=UTC)
    assert read_since("2026-05-01", NOW) == datetime(2026, 5, 1, tzinfo=UTC)


def test_a_date_with_a_time_is_taken_as_it_is() -> None:
    assert read_expiry("2026-05-01T14:30+02:00", NOW) == datetime(2026, 5, 1, 12, 30, tzinfo=UTC)
    assert read_since("2026-05-01 10:00", NOW) == datetime(2026, 5, 1, 10, tzinfo=UTC)


@pytest.mark.parametrize("text", ["0d", "2026-04-30", "2026-05-01T12:00Z"])
def test_an_expiry_lies_in_the_future(text: str) -> None:
    with pytest.raises(InputError, match="not in the future"):
        read_expiry(text, NOW)


@given(st.one_of(st.text(max_size=80), st.from_regex(r"[0-9]{4,6}d|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:+.]{0,9}")))
def test_any_other_text_is_refused_as_bad_input(text: str) -> None:
    with suppress(InputError):
        assert read_since(text, NOW).tzinfo is not None
