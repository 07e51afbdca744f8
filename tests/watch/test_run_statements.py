"""A run asks the database for what it needs, and for nothing about no rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from knickpoint.model.errors import HistoryError
from knickpoint.watch.lines import Lines

from .conftest import QUICK, World, levels


@contextmanager
def sending() -> Iterator[list[tuple[str, object]]]:
    """Collect each statement with the values bound to it."""
    sent: list[tuple[str, object]] = []

    def listen(*call: object) -> None:
        sent.append((str(call[2]), call[3]))

    event.listen(Engine, "before_cursor_execute", listen)
    try:
        yield sent
    finally:
        event.remove(Engine, "before_cursor_execute", listen)


def test_a_run_that_finds_nothing_asks_nothing_about_no_rows(world: World) -> None:
    world.measure({"parse": levels((20, 10))})
    world.run()
    world.measure({"parse": [10.0]}, first=20)
    with sending() as sent:
        world.run()
    assert sent
    assert [statement for statement, values in sent if isinstance(values, tuple) and "[]" in values] == []


def test_a_run_reads_its_line_once_whatever_the_number_of_alerts(world: World) -> None:
    world.measure({"parse": levels((20, 10))})
    world.run()

    def lines_read(number: int) -> int:
        world.measure({"parse": [10.0]}, first=20 + number)
        with sending() as sent:
            world.run(*(replace(QUICK, name=f"alert-{each}") for each in range(number)))
        return sum("default_line" in statement and "next_slot" in statement for statement, _ in sent)

    assert lines_read(5) == lines_read(1)


def test_the_line_of_an_alert_that_does_not_exist_is_named(world: World) -> None:
    with pytest.raises(HistoryError, match="there is no line 'release'"):
        Lines(world.store, world.repository).existing("release")
