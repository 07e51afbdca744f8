"""A process that starts holds the garbage collector back, and leaves out what it loaded."""

from __future__ import annotations

import gc
from contextlib import suppress

from knickpoint.cli.process_start import collecting_later


def test_the_collector_waits_until_everything_is_loaded() -> None:
    with collecting_later() as loaded:
        assert not gc.isenabled()
        loaded()
        assert gc.isenabled()


def test_what_was_loaded_is_left_out_of_collections_while_the_process_runs() -> None:
    with collecting_later() as loaded:
        many = [[number] for number in range(10_000)]
        loaded()
        assert gc.get_freeze_count() >= len(many)
    assert gc.get_freeze_count() == 0


def test_a_start_that_fails_leaves_the_collector_as_it_was() -> None:
    with suppress(OSError), collecting_later():
        raise OSError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with collecting_later() as loaded:
            loaded()
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
