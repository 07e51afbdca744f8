"""Find the files that a format needs beside the results, such as a file with the units."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from posixpath import basename, dirname, join, normpath

from knickpoint.formats import all_formats

__all__ = ["companions_of"]


@cache
def _names() -> tuple[str, ...]:
    """Return the companions that formats ask for, as paths relative to the results."""
    return tuple(dict.fromkeys(name for known in all_formats() for name in known.companions))


def companions_of(name: str, read: Callable[[str], bytes | None]) -> dict[str, bytes]:
    """Return the companions of the file ``name``, by the last part of their names.

    ``read`` returns the bytes of a file, None where there is none.
    """
    found: dict[str, bytes] = {}
    for companion in _names():
        beside = normpath(join(dirname(name), companion))
        data = read(beside) if beside != name else None
        if data is not None:
            found[basename(companion)] = data
    return found
