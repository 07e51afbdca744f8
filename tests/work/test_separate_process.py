"""A process for one call after another: it stays, it ends with the one that started it, and a new one follows one that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from knickpoint.model.errors import InputError
from knickpoint.work import SeparateProcess


@pytest.fixture
def process() -> Iterator[SeparateProcess]:
    made = SeparateProcess()
    yield made
    made.close()


def kill_this_process() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuse(name: str) -> None:
    raise InputError("it cannot be read", where=name, remedy="Write it again.")


def test_the_same_other_process_makes_each_call(process: SeparateProcess) -> None:
    first, second = process.call(os.getpid), process.call(os.getpid)
    assert first == second != os.getpid()


def test_an_error_comes_back_with_its_place_and_remedy(process: SeparateProcess) -> None:
    with pytest.raises(InputError) as caught:
        process.call(refuse, "results.json")
    assert (caught.value.where, caught.value.remedy) == ("results.json", "Write it again.")


def test_where_the_process_was_killed_the_next_call_starts_another_one(process: SeparateProcess) -> None:
    with pytest.raises(BrokenProcessPool):
        process.call(kill_this_process)
    assert process.call(os.getpid) != os.getpid()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_all_processes_leaves_its_end_to_the_one_that_started_it(
    process: SeparateProcess, number: signal.Signals
) -> None:
    first = process.call(os.getpid)
    os.kill(first, number)
    assert process.call(os.getpid) == first


_PARENT = """
import os, signal
from knickpoint.work import SeparateProcess

if __name__ == "__main__":
    print(SeparateProcess().call(os.getpid), flush=True)
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
