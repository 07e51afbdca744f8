"""Read files of this machine: results, what stands beside them, and mappings."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from knickpoint.ingest.memory import read_at_most
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import path_text

__all__ = ["cannot_read", "is_stream", "read_file", "read_format_option", "reader_of_neighbours", "written_at"]


def is_stream(path: Path) -> bool:
    """Tell whether ``path`` is standard input (``-``), or a pipe that the shell gave a name (``<(command)``)."""
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
        return InputError("you may not read it", where=path_text(path), remedy="Give yourself the right to read it.")
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
