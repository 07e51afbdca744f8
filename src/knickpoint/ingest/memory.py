"""Find out how much memory this process may still take, on Linux; and bound what reading a results file takes."""

from __future__ import annotations

import gc
import resource
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, TypeVar

from knickpoint.formats.toolbox.file_content import ReadingLimits
from knickpoint.ingest.settings import IngestSettings
from knickpoint.model.errors import FormatError

Result = TypeVar("Result")

_MEGABYTE: Final = 1_000_000
_SMALL: Final = 100_000
"""Bytes of a plain file below which no memory is looked for: it takes a thousandth of what any process has."""

_PACKED: Final = (b"\x1f\x8b", b"PAR1")
"""Beginnings of compressed files, which may unpack to any size."""

_PIECE: Final = 1 << 20
_STATUS: Final = Path("/proc/self/statm")
_MEMORY: Final = Path("/proc/meminfo")
_GROUP: Final = Path("/sys/fs/cgroup")
_LIMIT: Final = "Split the file, or raise parsing_megabytes of [ingest] in knickpoint.toml."
_LEFT: Final = "Split the file, or import it where more memory is free."


def reading_limits(settings: IngestSettings, data: bytes) -> ReadingLimits:
    """Return the limits for reading the file ``data``: those of the settings, and no more than is left."""
    unpacked, allowed = settings.largest_megabytes * _MEGABYTE, settings.parsing_megabytes * _MEGABYTE
    left = memory_left() if len(data) >= _SMALL or data.startswith(_PACKED) else None
    if left is None or left >= allowed:
        return ReadingLimits(unpacked, allowed, _LIMIT)
    return ReadingLimits(min(unpacked, left), left, _LEFT)


def memory_left() -> int | None:
    """Return the bytes that this process may still take, None if not known.

    It is the least of what the limit of its address space, its control group and the machine leave.
    """
    known = [left for left in (_left_of_address_space(), _left_of_group(), _left_of_machine()) if left is not None]
    return max(0, min(known)) if known else None


def _left_of_address_space() -> int | None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    text = _read(_STATUS)
    if limit == resource.RLIM_INFINITY or not text:
        return None
    return limit - int(text.split()[0]) * resource.getpagesize()


def _left_of_group() -> int | None:
    """Return the bytes that the control group leaves; files that it has cached give way."""
    limit, used = _read(_GROUP / "memory.max").strip(), _read(_GROUP / "memory.current").strip()
    if not (limit.isdecimal() and used.isdecimal()):
        return None
    cached = _number_after("inactive_file", _read(_GROUP / "memory.stat")) or 0
    return int(limit) - int(used) + cached


def _left_of_machine() -> int | None:
    kilobytes = _number_after("MemAvailable:", _read(_MEMORY))
    return None if kilobytes is None else kilobytes * 1024


def _number_after(name: str, text: str) -> int | None:
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == name:
            return int(words[1])
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, ValueError):
        return ""


def within_memory(work: Callable[[], Result], where: str) -> Result:
    """Return the result of ``work``; where the memory does not suffice for it, that is an error of the file ``where``.

    Raises:
        FormatError: the memory does not suffice.
    """
    with suppress(MemoryError):
        return work()
    # Out of the ``with``, so that the error no longer holds what the work held; the frames of errors hold each other.
    gc.collect()
    raise FormatError("it needs more memory than this process may use", where=where, remedy=_LEFT)


def read_at_most(file: IO[bytes], limit: int) -> bytes:
    """Return at most ``limit`` bytes of a file.

    Unlike ``file.read(limit)``, it takes no memory for more than there are.
    """
    data = bytearray()
    while piece := file.read(min(_PIECE, limit - len(data))):
        data += piece
    return bytes(data)
