"""A process that starts holds the garbage collector back, leaves out what it loaded, and may have few arenas."""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

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


_COUNT_ARENAS = """
import ctypes
import sys
import threading
from knickpoint.cli.process_start import limit_arenas

if sys.argv[1] == "limited":
    limit_arenas()
library = ctypes.CDLL(None)
library.malloc.restype = library.fopen.restype = ctypes.c_void_p
together = threading.Barrier(6)

def allocate():
    together.wait()
    library.malloc(ctypes.c_size_t(5000))
    together.wait()

threads = [threading.Thread(target=allocate) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
file = ctypes.c_void_p(library.fopen(sys.argv[2].encode(), b"w"))
library.malloc_info(0, file)
library.fclose(file)
print(open(sys.argv[2]).read().count("<heap "))
"""


def _arenas(directory: Path, way: str, **environment: str) -> int:
    command = [sys.executable, "-c", _COUNT_ARENAS, way, str(directory / "info.xml")]
    without = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    return int(subprocess.run(command, env={**without, **environment}, capture_output=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="arenas are of the GNU C library")
def test_threads_share_two_arenas_unless_the_environment_has_a_number(tmp_path: Path) -> None:
    assert _arenas(tmp_path, "not limited") > 2
    assert _arenas(tmp_path, "limited") == 2
    assert _arenas(tmp_path, "limited", MALLOC_ARENA_MAX="4") == 4
