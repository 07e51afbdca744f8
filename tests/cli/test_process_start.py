"""A process that starts holds the garbage collector back, leaves out what it loaded, and retains little memory."""

from __future__ import annotations

import gc
import os
import platform
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from knickpoint.cli.process import collecting_later


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


def test_a_command_that_ends_leaves_what_is_alive_out_of_the_last_collections() -> None:
    script = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > 10_000)); "
    command = [sys.executable, "-c", script + "from knickpoint.cli import main; main()", "--help"]
    assert subprocess.run(command, capture_output=True, check=True, text=True).stdout.endswith("True\n")


_BEGIN = """
import ctypes
import sys
import threading
from knickpoint.cli.process import limit_retained_memory

if sys.argv[1] == "limited":
    limit_retained_memory()
library = ctypes.CDLL(None)
library.malloc.restype = library.fopen.restype = ctypes.c_void_p

def allocate(size):
    return ctypes.c_void_p(library.malloc(ctypes.c_size_t(size)))
"""

_COUNT_ARENAS = """
together = threading.Barrier(6)

def work():
    together.wait()
    allocate(5000)
    together.wait()

threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
file = ctypes.c_void_p(library.fopen(sys.argv[2].encode(), b"w"))
library.malloc_info(0, file)
library.fclose(file)
print(open(sys.argv[2]).read().count("<heap "))
"""

_COUNT_KEPT_BYTES = """
def held():
    return int(open("/proc/self/statm").read().split()[1]) * 4096

def use(count, size):
    blocks = [None] * count  # a list that grows lies between the blocks, and keeps those before it
    for number in range(count):
        blocks[number] = allocate(size)
    for block in blocks:
        ctypes.memset(block, 1, size)
    for block in blocks:
        library.free(block)

use(1, 20 << 20)  # by default, the library keeps as much as the largest block from now on
before = held()
use(400, 1 << 16)
print(held() - before)
"""


def _printed(script: str, directory: Path, way: str, **environment: str) -> int:
    command = [sys.executable, "-c", _BEGIN + script, way, str(directory / "info.xml")]
    without = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    return int(subprocess.run(command, env={**without, **environment}, capture_output=True, check=True).stdout)


needs_glibc = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the options are of the GNU C library")


@pytest.mark.long
@needs_glibc
def test_threads_share_two_arenas_unless_the_environment_has_a_number(tmp_path: Path) -> None:
    assert _printed(_COUNT_ARENAS, tmp_path, "by default") > 2
    assert _printed(_COUNT_ARENAS, tmp_path, "limited") == 2
    assert _printed(_COUNT_ARENAS, tmp_path, "limited", MALLOC_ARENA_MAX="4") == 4


@pytest.mark.long
@needs_glibc
def test_little_of_what_was_freed_is_retained_unless_the_environment_has_a_number(tmp_path: Path) -> None:
    much = 16 << 20
    assert _printed(_COUNT_KEPT_BYTES, tmp_path, "by default") > much
    assert _printed(_COUNT_KEPT_BYTES, tmp_path, "limited") < 5 << 20
    kept = {"MALLOC_TRIM_THRESHOLD_": str(64 << 20)}
    assert _printed(_COUNT_KEPT_BYTES, tmp_path, "limited", **kept) > much
