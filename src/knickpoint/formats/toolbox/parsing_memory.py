"""Estimate the memory that reading a file takes from what stands in it, before it is parsed.

A few bytes can stand for much: `{}` is a dictionary of 64 bytes, a line of one letter a text of 50, a digit between two
commas a row of a table. The estimate counts the signs that begin such objects, each with what CPython takes for it. It
is about right for what is made to take much memory, and up to twice too large for what benchmark tools write.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Final

from knickpoint.model.errors import FormatError

LARGEST_CONTENT: Final = 1 << 30
"""Bytes that a compressed file may unpack to; more is taken for an attack or an accident."""

_MEGABYTE: Final = 1_000_000
_JSON: Final[Mapping[bytes, int]] = {b"{": 150, b"[": 90, b",": 45, b":": 45, b'"': 30}
_MARKUP: Final[Mapping[bytes, int]] = {b"<": 450, b"=": 120}
_LINE_BYTES: Final = 70
_CELL_BYTES: Final = 120
_DELIMITERS: Final = (b",", b"\t", b";", b"|")
_WIDEST: Final = 4
"""Bytes of a letter in memory where a text has letters beyond ASCII."""


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """What reading one file may take, in bytes: its content when unpacked, and the memory; None is not a limit.

    ``remedy`` says what to do where the memory does not suffice.
    """

    unpacked: int = LARGEST_CONTENT
    memory: int | None = None
    remedy: str = "Split the file."


UNLIMITED: Final = ReadingLimits()


def parsing_bytes(content: bytes) -> int:
    """Return about how many bytes of memory reading the text ``content`` takes."""
    text = len(content) * (2 if content.isascii() else 1 + _WIDEST)
    start = content[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    weights = _JSON if start in (b"{", b"[") else _MARKUP if start == b"<" else None
    if weights is not None:
        return text + sum(weight * content.count(sign) for sign, weight in weights.items())
    cells = max(content.count(sign) for sign in _DELIMITERS)
    return text + _LINE_BYTES * content.count(b"\n") + _CELL_BYTES * cells


def check_memory(wanted: int, limits: ReadingLimits, where: str) -> None:
    """Refuse to read what would take more memory than the limits allow.

    Raises:
        FormatError: it would; ``where`` is the name of the file.
    """
    if limits.memory is not None and wanted > limits.memory:
        raise FormatError(
            f"reading it would take about {wanted // _MEGABYTE:,} MB of memory, and may take "
            f"{limits.memory // _MEGABYTE:,} MB",
            where=where,
            remedy=limits.remedy,
        )


# Hold back Python's cyclic garbage collector while a large document is built.


_LOCK: Final = Lock()
_holders: list[bool] = []
"""Who holds it back now; the first one knows whether it was on before."""


@contextmanager
def held_back() -> Iterator[None]:
    """Run the body without cyclic collection, in all threads; it comes back with the last one that leaves.

    A parsed document is a large number of new objects without a cycle among them, which the collector would walk
    again and again: a third of the time of reading.
    """
    with _LOCK:
        _holders.append(gc.isenabled())
        gc.disable()
    try:
        yield
    finally:
        with _LOCK:
            was_on = _holders.pop()
            if was_on and not _holders:
                gc.enable()
            elif was_on:
                _holders[0] = True
