"""Read the addresses of git repositories: which are URLs, and which page shows them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

__all__ = ["is_url", "web_address"]

_SCHEME: Final = re.compile(r"(?:file|git|http|https|ssh)://", re.IGNORECASE)
_SCP: Final = re.compile(r"(?:[\w.-]+@)?[\w.-]+:(?!//)[^\\]+")
_WEB: Final = re.compile(
    r"(?:(?:https?|ssh|git)://)?(?:[^@/]+@)?(?P<host>[\w.-]+)(?::\d+)?[:/](?P<path>[\w./~-]+?)(?:\.git)?/?"
)


def is_url(location: str) -> bool:
    """Return whether ``location`` is an address on another machine or with a scheme, and not a local path."""
    if _SCHEME.match(location):
        return True
    return bool(_SCP.fullmatch(location)) and not Path(location).exists()


def web_address(location: str) -> str:
    """Return the page of the repository at ``location``, "" where the addresses of commits on its host are unknown.

    ``git@github.com:o/r.git`` and ``https://github.com/o/r`` both give ``https://github.com/o/r``.
    """
    found = _WEB.fullmatch(location)
    if not found or not any(host in found["host"] for host in ("github", "gitlab", "gitea", "codeberg")):
        return ""
    return f"https://{found['host']}/{found['path']}"
