"""Text that harms no reader: plain lines, cells of spreadsheets, and secrets that no log shows."""

from __future__ import annotations

import os
import re
from dataclasses import MISSING, field
from enum import Enum
from pathlib import Path
from typing import Any, Final

# Text for people: counted nouns, and text from elsewhere as a line that cannot change how the text around it is shown.


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


# Keep a spreadsheet from taking a text in CSV for a formula, and read such a text back.
#
# Spreadsheets compute a cell that begins with ``=``, ``+``, ``-`` or ``@``, and some of what they compute starts
# programs. An apostrophe in front makes it a text for them.


_FORMULA: Final = re.compile(r"'*[=+\-@\t\r]")
_NUMBER: Final = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_GUARDED: Final = re.compile(r"'+[=+\-@\t\r]")


def guarded(text: str) -> str:
    """Return ``text`` as a cell of CSV; one that begins like a formula gets an apostrophe."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unguarded(cell: str) -> str:
    """Return the text of which :func:`guarded` made ``cell``."""
    return cell[1:] if _GUARDED.match(cell) else cell


# Keep secrets out of what people and logs see: fields that no ``repr`` shows, and addresses without passwords.


SECRET: Final = "secret"  # noqa: S105 - a key, not a secret
"""The key of a :class:`SecretKind` in the metadata of a field."""

_USER: Final = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<user>[^\s/?#]*|[^\s/:@]*:(?!\d+(?:/|\Z))\S*)@", re.IGNORECASE
)
"""The user of an address, and a password in which ``/``, ``?`` or ``#`` is not percent-encoded, as it should be."""

_QUERY: Final = re.compile(r"(://[^\s?#'\"]*\?)[^\s#'\",]+")


class SecretKind(Enum):
    """What of a field is secret: all of it, what is within an address, or the values of a table."""

    WHOLE = "whole"
    ADDRESS = "address"
    OPTIONS = "options"


def secret() -> Any:
    """Declare a field of a dataclass that holds a secret: no ``repr`` shows it, and backups leave it out."""
    return field(default="", repr=False, metadata={SECRET: SecretKind.WHOLE})


def address_with_secret(default: Any = MISSING) -> Any:
    """Declare a field for an address that may have a password: ``repr`` and backups leave it out."""
    return field(default=default, repr=False, metadata={SECRET: SecretKind.ADDRESS})


def secret_options() -> Any:
    """Declare a field that holds a table of texts, some of them secret, as the options of a driver are."""
    return field(default_factory=dict, repr=False, metadata={SECRET: SecretKind.OPTIONS})


def without_secrets(text: str) -> str:
    """Return an address, or a text with addresses, without users, passwords and queries.

    The user of an ``ssh`` address stays, for it is part of the place and no secret.
    """
    return _QUERY.sub(r"\1…", _USER.sub(_place, text))


def _place(found: re.Match[str]) -> str:
    if found["scheme"].lower().endswith("ssh"):
        return f"{found['scheme']}://{found['user'].partition(':')[0]}@"
    return f"{found['scheme']}://"
