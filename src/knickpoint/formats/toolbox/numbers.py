"""Numbers as files write them, and the error for what stands in a number's place and is none."""

from __future__ import annotations

import math
import re
from typing import Final

from knickpoint.model.errors import FormatError

__all__ = ["NUMBER_AND_UNIT", "NoNumberError", "numeral", "shown", "to_float"]

_NUMERAL: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
NUMBER_AND_UNIT: Final = re.compile(
    r"[+-]?\d[\d.,]*\s?(?:[numµμ]?s|min|h|[kKMGT]?i?[bB]|%|[A-Za-zµμ%]+/[A-Za-z]+)", re.ASCII
)
"""How people write a number with its unit in one cell: ``1.2ms``, ``95 %``."""
_LONGEST_SHOWN: Final = 60


class NoNumberError(FormatError):
    """What stands where the number of one result belongs is a scalar, and no finite number.

    The document around it is sound, so only that result is without a value: :meth:`Rows.failing` makes a failure of
    it. Lists and objects in such a place mean that the file is not what it looks like, and are a plain
    :class:`FormatError`.
    """

    def __init__(self, message: str, *, where: str = "", remedy: str = "", of: str = "") -> None:
        """Say ``message`` about the place ``where`` and the benchmark ``of``."""
        super().__init__(f"{message} (benchmark {of!r})" if of else message, where=where, remedy=remedy)
        self.reason = f"{message} at {where}" if where else message
        """The message of the failure: what stood there, and where."""


def numeral(text: str, *, decimal_comma: bool = False) -> float | None:
    """Return the number that ``text`` writes, None where it writes none; thousands separators are none."""
    plain = text.strip()
    if decimal_comma and plain.count(",") == 1 and "." not in plain:
        plain = plain.replace(",", ".")
    return float(plain) if _NUMERAL.fullmatch(plain) else None


def to_float(value: object) -> float:
    """Return the number that ``value`` is; infinity where it is too large for one, NaN where it is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def shown(value: object) -> str:
    """Return ``value`` as messages show it: short, and as the file writes it."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"
