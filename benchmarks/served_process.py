"""Run ``knick serve`` in a process of its own, and read from the system what it takes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["Process", "processor_seconds", "served"]

_KNICK: Final = Path(sys.executable).with_name("knick")
_START_SECONDS: Final = 120.0
_AS_A_WORKER: Final = ("nice", "--adjustment=10", "chrt", "--batch", "0")
_ADDRESS: Final = re.compile(r"http://[^ ]+/")


@dataclass(frozen=True, slots=True)
class Process:
    """A running ``knick serve``, and the address where it answers."""

    process: subprocess.Popen[str]
    address: str

    @property
    def memory(self) -> float:
        """The memory that it holds now, in MB."""
        return self._status("VmRSS")

    @property
    def memory_of_all(self) -> float:
        """The memory that it and the processes that it started hold now, in MB."""
        children = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        started = [child for listed in children for child in listed.read_text(encoding="ascii").split()]
        return self.memory + sum(_memory(int(child), "VmRSS") for child in started)

    @property
    def most_memory(self) -> float:
        """The most memory that it held, in MB."""
        return self._status("VmHWM")

    @property
    def processor_seconds(self) -> float:
        """The processor time that it has taken, which does not depend on what else the machine does."""
        return processor_seconds(self.process.pid)

    def _status(self, name: str) -> float:
        return _memory(self.process.pid, name)


def _memory(process: int, name: str) -> float:
    """Return a figure of the memory of a process in MB, 0 for one that has ended."""
    try:
        text = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    except FileNotFoundError:
        return 0.0
    found = re.search(rf"{name}:\s+(\d+) kB", text)
    return int(found[1]) / 1000 if found else 0.0


def processor_seconds(process: int) -> float:
    """Return the processor time that a process has taken, by its id."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(directory: Path, *arguments: str) -> Iterator[Process]:
    """Start the server of an instance, wait until it is ready, and end it in the end.

    A worker runs as the shipped units say.
    """
    command = [str(_KNICK), "serve", "--instance", str(directory), "--port", "0", *arguments]
    if "worker" in arguments:
        command = [*_AS_A_WORKER, *command]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert process.stdout is not None
        address = next((found[0] for line in process.stdout if (found := _ADDRESS.search(line))), "")
        assert address, "knick serve did not start"
        threading.Thread(target=process.stdout.read, daemon=True).start()
        _wait_until_ready(address)
        yield Process(process, address)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait_until_ready(address: str) -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"{address}api/v1/ready") as answer:  # noqa: S310
                if answer.status == 200:
                    return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.01)
    raise AssertionError("the server was not ready in time")
