"""Keep a spreadsheet from taking a text in CSV for a formula, and read such a text back.

Spreadsheets compute a cell that begins with ``=``, ``+``, ``-`` or ``@``, and some of what they compute starts programs. An
apostrophe in front makes it a text for them.
"""

from __future__ import annotations

import re
from typing import Final

__all__ = ["guarded", "unguarded"]

_FORMULA: Final = re.compile(r"'*[=+\-@\t\r]")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_GUARDED: Final = re.compile(r"'+[=+\-@\t\r]")


def guarded(text: str) -> str:
    """Return ``text`` as a cell of CSV; one that begins like a formula gets an apostrophe."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unguarded(cell: str) -> str:
    """Return the text of which :func:`guarded` made ``cell``."""
    return cell[1:] if _GUARDED.match(cell) else cell
