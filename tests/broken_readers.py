"""Readers that fail on a file of theirs, each with an exception that nobody foresaw."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from knickpoint.formats import FORMATS, FileContent, Format
from knickpoint.formats.format import Parsed

__all__ = ["break_readers", "content_for"]


def content_for(name: str) -> str:
    """Return a file that the format ``name`` claims while its reader is broken."""
    return f"broken {name}\n"


def break_readers(replace: Callable[[Any, str, object], None]) -> None:
    """Let the reader of each format claim a file and fail on it.

    ``replace`` is ``setattr``, or does the same for a while.
    """
    for known in FORMATS:
        module: Any = import_module(known.module)
        replace(module, "fits", _claiming(known, module.fits))
        replace(module, "read", _failing(known, module.read))


def _claiming(known: Format, fits: Callable[[FileContent], bool]) -> Callable[[FileContent], bool]:
    def claims(file: FileContent) -> bool:
        return file.readable == content_for(known.name) or (not file.readable.startswith("broken ") and fits(file))

    return claims


def _failing(known: Format, read: Callable[[FileContent], Parsed]) -> Callable[[FileContent], Parsed]:
    def fail(file: FileContent) -> Parsed:
        if file.readable == content_for(known.name):
            raise RecursionError("maximum recursion depth exceeded")
        return read(file)

    return fail
