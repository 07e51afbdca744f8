"""Text for people: counted nouns, and text from elsewhere as a line that cannot change how the text around it is shown."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

__all__ = ["counted", "path_text", "plain_line"]

_CUT: Final = "…"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 change``, ``1,234 changes``. The plural is the noun with an s by default."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def plain_line(text: str, longest: int) -> str:
    r"""Return ``text`` with every character escaped that is not printed, cut to ``longest`` characters.

    Escaped are control characters, line breaks, marks that turn the direction of writing, and halves of characters:
    ``\x1b``, ``\u202e``. Letters of all scripts stay as they are, and so does the space.
    """
    if text.isprintable() and len(text) <= longest:
        return text
    # Only as many characters as can be shown are escaped, however long the text is.
    shown = "".join(letter if letter.isprintable() else _escaped(letter) for letter in text[: longest + 1])
    return shown if len(shown) <= longest else shown[: longest - len(_CUT)] + _CUT


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def path_text(path: Path | str) -> str:
    r"""``path`` as text that every store and terminal takes: a byte that is not UTF-8 is written as ``\xff``."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
