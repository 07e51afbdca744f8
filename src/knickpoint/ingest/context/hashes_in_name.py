"""Find what may be the hash of a commit in the name of a results file, or in that of the directory that it lies in."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

__all__ = ["hashes_in_name"]

_HASH: Final = re.compile(r"(?<![0-9A-Za-z])(?:(?=[0-9]*[a-f])[0-9a-f]{7,64}|[0-9]{8,64})(?![0-9A-Za-z])")
"""At least seven digits as git shortens hashes; eight where none is a letter, as in one of 27 hashes and in every date."""


def hashes_in_name(source: str, *, top: str = "") -> tuple[tuple[str, ...], ...]:
    """Return the possible hashes in the name of the file ``source`` (a path or URL), then those in the name of its directory.

    Either may be empty. The directory ``top``, which holds a work tree, says nothing about one commit.
    """
    path = PurePosixPath(source.replace("\\", "/"))
    directory = "" if str(path.parent) == top else path.parent.name
    return tuple(tuple(dict.fromkeys(_HASH.findall(name))) for name in (path.name, directory))
