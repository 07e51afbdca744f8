"""Check the names of repositories, commits and lines, and list them for messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from knickpoint.model.errors import InputError

__all__ = ["check_name", "listed"]

_MOST_LISTED: Final = 20
"""Names that a message lists."""

_LONGEST_NAME: Final = 1000
"""Bytes of the name of a repository, a commit or a line; an index of PostgreSQL takes 2,700."""


def check_name(what: str, name: str) -> None:
    """Check that an index takes ``name``. Raises ``InputError`` where it is too long."""
    size = len(name.encode(errors="surrogatepass"))
    if size > _LONGEST_NAME:
        raise InputError(
            f"the name of a {what} has {size:,} bytes, more than {_LONGEST_NAME:,}",
            where=f"{name[:40]}…",
            remedy="Give it a shorter name.",
        )


def listed(names: Sequence[str]) -> str:
    """Return the first names for a message."""
    further = len(names) - _MOST_LISTED
    return ", ".join(names[:_MOST_LISTED]) + (f" and {further:,} more" if further > 0 else "") or "none yet"
