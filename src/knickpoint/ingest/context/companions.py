"""Find the files beside results that their formats ask for."""

from __future__ import annotations

from collections.abc import Callable
from posixpath import basename, dirname, join, normpath
from typing import Final

from knickpoint.formats import FORMATS

__all__ = ["companions_of"]

_NAMES: Final = tuple(dict.fromkeys(name for known in FORMATS for name in known.companions))
"""What formats ask for, as paths from where the results stand."""


def companions_of(name: str, read: Callable[[str], bytes | None]) -> dict[str, bytes]:
    """Return the files beside ``name`` that formats ask for, by their last name.

    ``read`` gives the bytes of a file, None where there is none.
    """
    found: dict[str, bytes] = {}
    for companion in _NAMES:
        beside = normpath(join(dirname(name), companion))
        data = read(beside) if beside != name else None
        if data is not None:
            found[basename(companion)] = data
    return found
