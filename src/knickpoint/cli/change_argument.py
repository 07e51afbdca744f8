"""Read the change, or one of its change points, that a command is about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.model.change_point import ChangePoint
    from knickpoint.store import Store

__all__ = ["find_change_points", "read_change"]

_CHANGE: Final = re.compile(r"R?([0-9]{1,15})", re.IGNORECASE)
_FINDING: Final = re.compile(r"([RP])([0-9]{1,15})", re.IGNORECASE)


def read_change(text: str) -> int:
    """Return the id of a change. Raises ``InputError`` where ``text`` is none."""
    found = _CHANGE.fullmatch(text)
    if found is None:
        raise InputError(
            f"{text!r} is no id of a change",
            where="CHANGE",
            remedy="Take it from knick changes, such as R12.",
        )
    return int(found[1])


def find_change_points(store: Store, text: str) -> list[ChangePoint]:
    """Return the members of the change ``R12``, the lead first, or the change point ``P34``; none for any other text.

    Raises:
        InputError: there is no such change or change point.
    """
    found = _FINDING.fullmatch(text)
    if found is None:
        return []
    if found[1] in "rR":
        return list(store.findings.change(int(found[2])).members)
    points = store.findings.points([int(found[2])])
    if not points:
        raise InputError(f"there is no change point {text}", remedy="Take it from knick changes, such as P34.")
    return points
