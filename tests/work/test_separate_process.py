"""Processes for calls: they stay, end in the middle of a call that nobody waits for, and end with the one that started them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from knickpoint.budget import Budget, spending
from knickpoint.model.errors import AbandonedError, DeadlineError, InputError
from knickpoint.work import ProcessEndedError, SeparateProcesses


@pytest.fixture
def process() -> Iterator[SeparateProcesses]:
    made = SeparateProcesses(("knickpoint.instance.separate_import",))  # as what other tests of this run need
    yield made
    made.close()


def kill_this_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(name: str) -> None:
    raise InputError("it cannot be read", where=name, remedy="Write it again.")


def work_without_end(own_id: Path) -> None:
    own_id.write_text(str(os.getpid()), encoding="ascii")
    while True:
        pass


def id_of_the_one_that_works(own_id: Path) -> int:
    until = time.monotonic() + 60
    while not (own_id.exists() and own_id.read_text(encoding="ascii")):
        assert time.monotonic() < until
        time.sleep(0.01)
    return int(own_id.read_text(encoding="ascii"))


def test_a_call_whose_time_is_up_ends_with_its_process(process: SeparateProcesses, tmp_path: Path) -> None:
    process.call(is_running, os.getpid())  # which imports this module there
    with spending(Budget.begin(1.0, 1)), pytest.raises(DeadlineError, match="longer than 1 seconds"):
        process.call(work_without_end, tmp_path / "id")
    assert not is_running(id_of_the_one_that_works(tmp_path / "id"))


def test_a_call_that_nobody_waits_for_ends_with_its_process(process: SeparateProcesses, tmp_path: Path) -> None:
    budget = Budget.begin(60, 1)

    def wait() -> None:
        with spending(budget):
            process.call(work_without_end, tmp_path / "id")

    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(wait)
        working = id_of_the_one_that_works(tmp_path / "id")
        budget.abandoned.set()
        with pytest.raises(AbandonedError):
            waiting.result()
    assert not is_running(working)


def test_the_end_of_the_program_ends_a_call_under_way_and_admits_no_other(
    process: SeparateProcesses, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(process.call, work_without_end, tmp_path / "id")
        working = id_of_the_one_that_works(tmp_path / "id")
        process.close()
        with pytest.raises(ProcessEndedError):
            waiting.result()
    assert not is_running(working)
    with pytest.raises(ProcessEndedError):
        process.call(os.getpid)


def meet(meeting: Path, name: str) -> int:
    (meeting / name).touch()
    while len(list(meeting.iterdir())) < 2:
        time.sleep(0.001)
    return os.getpid()


def test_calls_of_several_threads_have_a_process_each_and_only_some_of_these_stay(
    process: SeparateProcesses, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(2) as threads:
        both = list(threads.map(lambda name: process.call(meet, tmp_path, name), "ab"))
    assert len(set(both)) == 2
    assert sorted(map(is_running, both)) == [False, True]


def test_a_call_of_its_own_leaves_no_process(process: SeparateProcesses) -> None:
    assert not is_running(process.call_once(os.getpid))


def test_the_same_other_process_makes_each_call(process: SeparateProcesses) -> None:
    first, second = process.call(os.getpid), process.call(os.getpid)
    assert first == second != os.getpid()


def test_an_error_comes_back_with_its_place_and_remedy(process: SeparateProcesses) -> None:
    with pytest.raises(InputError) as caught:
        process.call(refuse, "results.json")
    assert (caught.value.where, caught.value.remedy) == ("results.json", "Write it again.")


def test_where_the_process_was_killed_the_next_call_starts_another_one(process: SeparateProcesses) -> None:
    with pytest.raises(ProcessEndedError):
        process.call(kill_this_process)
    assert process.call(os.getpid) != os.getpid()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_all_processes_leaves_its_end_to_the_one_that_started_it(
    process: SeparateProcesses, number: signal.Signals
) -> None:
    first = process.call(os.getpid)
    os.kill(first, number)
    assert process.call(os.getpid) == first


_PARENT = """
import os, signal
from knickpoint.work import SeparateProcesses

if __name__ == "__main__":
    print(SeparateProcesses().call(os.getpid), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_process_ends_with_the_one_that_started_it_however_that_ends() -> None:
    killed = subprocess.run([sys.executable, "-c", _PARENT], check=False, capture_output=True, text=True)
    assert killed.returncode == -signal.SIGKILL
    until = time.monotonic() + 30
    while is_running(int(killed.stdout)):
        assert time.monotonic() < until
        time.sleep(0.05)


def is_running(process: int) -> bool:
    """Return whether a process works; one that ended and that its new parent has not noticed does not."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{process}/stat")
    return not state.exists() or state.read_text(encoding="ascii").rpartition(") ")[2][0] != "Z"
