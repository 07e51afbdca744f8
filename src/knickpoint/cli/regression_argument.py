"""Read the regression that a command is about."""

from __future__ import annotations

import re
from typing import Final

from knickpoint.model.errors import InputError

__all__ = ["read_regression"]

_REGRESSION: Final = re.compile(r"R?([0-9]{1,15})", re.IGNORECASE)


def read_regression(text: str) -> int:
    """Return the id of a regression. Raises ``InputError`` where ``text`` is none."""
    found = _REGRESSION.fullmatch(text)
    if found is None:
        raise InputError(
            f"{text!r} is no id of a regression",
            where="REGRESSION",
            remedy="Take it from knick regressions, such as R12.",
        )
    return int(found[1])
