"""Measure the machine of a process for its metrics: processors, load, memory, and the disk of the instance.

A container sees its host, for that is what runs short.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from prometheus_client.core import GaugeMetricFamily

__all__ = ["host_gauges"]

_MEMORY: Final = Path("/proc/meminfo")
_STATES: Final = {"MemTotal": "total", "MemAvailable": "available"}
_KIB: Final = 1024


def host_gauges(directory: Path) -> Iterator[GaugeMetricFamily]:
    """Yield the gauges of this machine and of the disk that holds ``directory``; what a system does not say is left out."""
    yield GaugeMetricFamily("knickpoint_host_processors", "Processors of the machine.", value=os.cpu_count() or 1)
    with_load = getattr(os, "getloadavg", None)
    if with_load is not None:
        about = "Processes that run or wait for a processor or a disk, as a mean of the last minute."
        yield GaugeMetricFamily("knickpoint_host_load", about, value=with_load()[0])
    yield _by_state("knickpoint_host_memory_bytes", "Memory of the machine.", _memory())
    try:
        disk = shutil.disk_usage(directory)
    except OSError:
        return
    about = "The disk that holds the directory of the instance."
    yield _by_state("knickpoint_host_disk_bytes", about, {"total": disk.total, "available": disk.free})


def _by_state(name: str, about: str, sizes: dict[str, int]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, about, labels=["state"])
    for state, size in sizes.items():
        family.add_metric([state], size)
    return family


def _memory() -> dict[str, int]:
    """Return the bytes of memory by state, {} where the system is not Linux."""
    try:
        lines = _MEMORY.read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    sizes = dict(line.split(":", 1) for line in lines if ":" in line)
    return {state: int(sizes[name].split()[0]) * _KIB for name, state in _STATES.items() if name in sizes}
