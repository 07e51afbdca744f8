"""Pauses between attempts grow, differ between deliveries, and are the same each time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from knickpoint.notify.sender import pause_after


def test_the_pause_doubles_up_to_a_limit() -> None:
    exact = [30 * 2**number for number in range(10)] + [6 * 3600] * 5
    for number, seconds in enumerate(exact, 1):
        pause = pause_after("key", number).total_seconds()
        assert 0.75 * seconds <= pause <= 1.25 * seconds


def test_the_pause_of_an_attempt_is_always_the_same() -> None:
    assert pause_after("key", 3) == pause_after("key", 3)


def test_deliveries_that_failed_together_are_spread() -> None:
    assert len({pause_after(f"key {number}", 5) for number in range(50)}) == 50


@pytest.mark.parametrize(("asked", "seconds"), [(3600.0, 3600.0), (1e9, 86_400.0)])
def test_the_receiver_may_ask_for_a_longer_pause_up_to_a_day(asked: float, seconds: float) -> None:
    assert pause_after("key", 1, asked) == timedelta(seconds=seconds)
