from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from knickpoint.model.errors import InputError, ServiceError
from knickpoint.work import Dask, Processes, Runner, Serial


def square(number: int) -> int:
    if number < 0:
        raise InputError(f"{number} is negative")
    return number * number


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    with Processes(2) as runner:
        yield runner


@pytest.fixture(params=["serial", "processes"])
def runner(request: pytest.FixtureRequest) -> Runner:
    if request.param == "serial":
        return Serial()
    found: Processes = request.getfixturevalue("processes")
    return found


def test_results_come_in_the_order_of_the_items(runner: Runner) -> None:
    assert list(runner.map(square, range(20))) == [k * k for k in range(20)]


def test_nothing_to_do_gives_nothing(runner: Runner) -> None:
    assert list(runner.map(square, [])) == []


def test_an_error_reaches_the_caller_as_it_is(runner: Runner) -> None:
    with pytest.raises(InputError, match="-1 is negative"):
        list(runner.map(square, [3, -1, 4]))


def test_a_runner_can_be_used_again_after_an_error(runner: Runner) -> None:
    with pytest.raises(InputError):
        list(runner.map(square, [-1]))
    assert list(runner.map(square, [5])) == [25]


def test_items_are_taken_as_they_are_needed(runner: Runner) -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for k in range(1000):
            taken.append(k)
            yield k

    results = iter(runner.map(square, items()))
    assert next(results) == 0
    assert len(taken) <= 8


def test_a_pool_without_processes_is_refused() -> None:
    with pytest.raises(InputError, match="0 processes"):
        Processes(0)


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("knickpoint.work.CONNECT_SECONDS", 0.2)
    with pytest.raises(ServiceError, match=r"tcp://127\.0\.0\.1:9"):
        list(Dask("tcp://127.0.0.1:9").map(square, [1]))


def end_process(_: int) -> int:
    os._exit(9)


def test_a_process_that_is_killed_is_named_and_the_next_call_starts_new_ones(processes: Processes) -> None:
    with pytest.raises(ServiceError, match="a process ended"):
        list(processes.map(end_process, [1]))
    assert list(processes.map(square, [3])) == [9]
