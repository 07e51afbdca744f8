"""Results files as they arrive: their bytes, what is known beside them, and how much memory reading them may take."""

from __future__ import annotations

import base64
import gc
import resource
import sys
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import IO, Final, TypeVar

from knickpoint.formats import find_format
from knickpoint.formats.toolbox.file_content import ReadingLimits
from knickpoint.ingest.settings import IngestSettings
from knickpoint.ingest.sidecar import FileContext
from knickpoint.model.errors import FormatError, InputError
from knickpoint.model.plain_text import path_text
from knickpoint.store.array_codec import decompressed

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


@dataclass(frozen=True, slots=True)
class ResultsFile:
    """A results file as it arrives.

    Attributes:
        source: the path or URL that names the file among all others.
        data: its bytes.
        context: what is known beside it.
        companions: the files beside it that formats ask for, by their last name.
        found: whether it was found in a folder or a bucket, not named by a person; it may then hold no results.
        written: when the file was written, where HEAD of a work tree may be the commit that it does not name; None for
            a file that comes from elsewhere or from another time.
        references: whether the commit stated beside it may be a branch or a tag, because it was stated just now.
    """

    source: str
    data: bytes
    context: FileContext = field(default_factory=FileContext)
    companions: Mapping[str, bytes] = field(default_factory=dict)
    found: bool = False
    written: datetime | None = None
    references: bool = False

    def as_options(self, format: str = "") -> dict[str, object]:  # noqa: A002 - as everywhere in this room
        """Return, as plain values, what is kept with the bytes so that they can be read again.

        ``format`` is the one that the file was read as, "" where it could not be read. Only the companions that this
        format asks for are kept.
        """
        asked = find_format(format).companions if format and not self.context.mapping else None
        kept = {
            name: base64.b64encode(zlib.compress(data)).decode()
            for name, data in self.companions.items()
            if asked is None or any(path.endswith(name) for path in asked)
        }
        options = self.context.as_options()
        return {**options, "companions": kept} if kept else options

    @classmethod
    def kept(cls, source: str, payload: bytes, options: Mapping[str, object]) -> ResultsFile:
        """Return a file from what the store kept: its bytes compressed by zlib, and the values of :meth:`as_options`.

        Raises:
            StoreError: they are damaged.
        """
        stored = options.get("companions")
        companions = (
            {str(name): decompressed(str(data)) for name, data in stored.items()} if isinstance(stored, Mapping) else {}
        )
        return cls(source, decompressed(payload), FileContext.from_options(options), companions)


# Read files of this machine: results, what stands beside them, and mappings.


def is_stream(path: Path) -> bool:
    """Return True if ``path`` is standard input (``-``), or a pipe that the shell gave a name (``<(command)``)."""
    return str(path) in {"-", "/dev/stdin"} or str(path.parent) in {"/dev/fd", "/proc/self/fd"}


def read_file(path: Path, megabytes: int) -> bytes:
    """Return the bytes of a file or stream, at most one more than ``megabytes`` allow.

    Raises:
        InputError: it cannot be read.
    """
    if str(path) == "-":
        return read_at_most(sys.stdin.buffer, megabytes * 1_000_000 + 1)
    try:
        if path.exists() and not path.is_file() and not is_stream(path):
            raise InputError(
                "this is neither a file nor a folder",
                where=path_text(path),
                remedy="Name a file or a folder, or pipe into -.",
            )
        with path.open("rb") as file:
            return read_at_most(file, megabytes * 1_000_000 + 1)
    except OSError as error:
        raise cannot_read(path, error) from error


def cannot_read(path: Path, error: OSError) -> InputError:
    """Return the error that says why a file or folder cannot be read."""
    if isinstance(error, FileNotFoundError):
        return InputError("there is no such file or folder", where=path_text(path), remedy="Correct the name.")
    if isinstance(error, PermissionError):
        return InputError("permission denied", where=path_text(path), remedy="Grant read access to it.")
    return InputError(
        f"it cannot be read: {error.strerror}", where=path_text(path), remedy="Copy it elsewhere, then retry."
    )


def reader_of_neighbours(megabytes: int) -> Callable[[str], bytes | None]:
    """Return a function that reads the files beside results; a file beside many results is read once."""

    @lru_cache(maxsize=8)
    def read(name: str) -> bytes | None:
        try:
            data = read_file(Path(name), megabytes)
        except InputError:
            return None
        return data if len(data) <= megabytes * 1_000_000 else None

    return read


def read_format_option(format: str) -> tuple[str, str]:  # noqa: A002 - the word of the command line
    """Return the name of a format and the text of a mapping, one of them "": ``format`` is a name or a path.

    Raises:
        InputError: the mapping cannot be read.
    """
    if not format.lower().endswith(".toml"):
        return format, ""
    try:
        return "", read_file(Path(format), 1).decode()
    except UnicodeDecodeError as error:
        raise InputError("the mapping is not UTF-8", where=format, remedy="Save it as UTF-8.") from error


def written_at(path: Path) -> datetime | None:
    """Return when the file was written, now for a stream; None where that is unknown."""
    if is_stream(path):
        return datetime.now(UTC)
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError):
        return None
