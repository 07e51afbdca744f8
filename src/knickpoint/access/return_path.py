"""The path of this server that a browser returns to after a sign-in, and nothing that could lead to another server."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

__all__ = ["return_path"]

_HOME: Final = "/"
_LONGEST: Final = 1_500
_PATH: Final = re.compile(r"/(?![/\\])[!-\[\]-~]*")
"""One slash, then printed ASCII without space and backslash: browsers read ``/\\evil`` and ``/<tab>/evil`` as ``//evil``."""

_DECODED_TWICE: Final = 2
_ELSEWHERE: Final = re.compile(r"[/\\]{2}|[\x00-\x1f\x7f\\]")
"""What leads elsewhere, or might after a proxy has tidied the path up."""

_SIGN_IN: Final = re.compile(r"/sign(?:-in|-out|ed-out)(?![\w-])")


def return_path(text: str) -> str:
    """Return ``text`` where it is a path of this server with its query, else the path of the first page.

    The pages of sign-in and sign-out are no places to return to.
    """
    if len(text) > _LONGEST or not _PATH.fullmatch(text):
        return _HOME
    path = text.partition("?")[0].partition("#")[0]
    for _ in range(_DECODED_TWICE + 1):
        if _ELSEWHERE.search(path) or "/./" in path or "/../" in path or _SIGN_IN.match(path):
            return _HOME
        path = unquote(path, errors="replace")
    return text
