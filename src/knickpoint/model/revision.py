"""Distinguish the name of a commit from what tools write where they know none."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable
from typing import Final

from knickpoint.model.errors import HistoryError

_PLACEHOLDERS: Final = frozenset(
    {
        "?",
        "detached",
        "detached head",
        "dirty",
        "empty",
        "error",
        "exported",
        "fetch head",
        "head",
        "invalid",
        "missing",
        "n/a",
        "na",
        "nan",
        "nil",
        "no branch",
        "no commit",
        "none",
        "not available",
        "not committed yet",
        "not set",
        "null",
        "tbd",
        "unavailable",
        "uncommitted",
        "undefined",
        "unknown",
        "unknown dirty",
        "unset",
        "unspecified",
        "unversioned",
        "unversioned directory",
        "working copy",
        "working directory",
        "working tree",
        "worktree",
    }
)
"""Words that tools (pytest-benchmark: unversioned; svnversion: exported.

Git blame: not committed yet) and scripts write.
"""

_AROUND: Final = " \t\r\n\"'`()[]<>"
_GAP: Final = re.compile(r"[\s_-]+")
_NO_NUMBER: Final = re.compile(r"-1|0{7,64}\+?")
"""Names of no commit in version control: revision -1, and a hash of zeros."""
_OF_A_SPREADSHEET: Final = re.compile(r"\d(?:[.,]\d+)?[eE]\+\d+")
"""A hash of digits that a spreadsheet took for a number, such as 1.23E+10: its digits are lost."""
_VARIABLE: Final = re.compile(r"\$\w+|\$\{.*\}|\$\(.*\)|\{\{.*\}\}|%\w+%", re.DOTALL)
"""A variable that a script or a template did not replace."""

HASH_DIGITS: Final = 16
"""A text with at least this many digits is a hash that happens to have no letters."""

_HASH: Final = re.compile(r"[0-9a-fA-F]{7,64}")
_NUMBER: Final = re.compile(r"[0-9]{1,18}")


def is_placeholder(text: str) -> bool:
    """Return True if ``text`` names no commit: it is empty, a word such as unversioned, or zeros only.

    Case, brackets and quotes around it do not matter. HEAD is a placeholder, because it names another commit later.
    """
    bare = text.strip(_AROUND)
    words = _GAP.sub(" ", bare).strip().lower()
    return words in _PLACEHOLDERS or not words or bool(_NO_NUMBER.fullmatch(bare) or _VARIABLE.fullmatch(text.strip()))


def is_rounded(text: str) -> bool:
    """Return True if ``text`` is what a spreadsheet makes of a hash of digits, such as 1.23E+10."""
    return bool(_OF_A_SPREADSHEET.fullmatch(text.strip()))


def commit_name(text: str) -> str:
    """Return the commit that ``text`` names, without spaces around it and a hash in small letters.

    "" for a placeholder.
    """
    name = text.strip()
    return "" if is_placeholder(text) else name.lower() if _HASH.fullmatch(name) else name


def is_hash(text: str) -> bool:
    """Return True if ``text`` is 7 to 64 hexadecimal digits: a hash, or an abbreviated one."""
    return _HASH.fullmatch(text) is not None


def is_number(text: str) -> bool:
    """Return True if ``text`` is a number of fewer digits than a hash has."""
    return text.isascii() and text.isdigit() and len(text) < HASH_DIGITS


def full_hashes(names: Iterable[str], hashes: Collection[str]) -> dict[str, str]:
    """Return name → the longest of ``hashes`` that it abbreviates, for those of ``names`` that abbreviate one.

    One number is not an abbreviation of another.

    Raises:
        HistoryError: a name abbreviates several that do not abbreviate each other.
    """
    ordered = sorted(name for name in hashes if is_hash(name) and not is_number(name))
    found = {}
    for name in filter(is_hash, names):
        longest = name
        for place in range(bisect_right(ordered, name), len(ordered)):
            other = ordered[place]
            if not other.startswith(name):
                break
            if not other.startswith(longest):
                raise HistoryError(
                    f"{name!r} fits more than one commit: {longest[:16]}, {other[:16]}",
                    remedy="Write more of its digits.",
                )
            longest = other
        if longest != name:
            found[name] = longest
    return found


def is_hash_or_number(text: str) -> bool:
    """Return True if ``text`` looks like a commit: 7 to 64 hexadecimal digits, or a number."""
    return bool(_HASH.fullmatch(text) or _NUMBER.fullmatch(text))
