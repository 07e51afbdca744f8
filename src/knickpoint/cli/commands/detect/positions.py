"""Replace parameters that refer to the positions of a file: ``commits=pos``, ``times=pos``, ``releases=pos:…``."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from typing import Any, Final

from knickpoint.formats.series import NamedSeries, is_number, position_keys
from knickpoint.model.errors import InputError

__all__ = ["ROWS", "in_rows", "names_positions"]

_POSITIONS: Final = "pos"
_AT_POSITIONS: Final = "pos:"
_DAY_SECONDS: Final = 86_400.0

ROWS: Final = frozenset({"commits", "times", "releases"})
"""Parameters that speak about rows; rows of one position stay apart where one is given."""


def names_positions(parameters: Mapping[str, str]) -> bool:
    """Return whether a parameter refers to positions, so that it differs between series."""
    return _POSITIONS in {parameters.get("commits"), parameters.get("times")} or parameters.get(
        "releases", ""
    ).startswith(_AT_POSITIONS)


def _rows_of(series: NamedSeries, keys: list[float], texts: list[str]) -> tuple[int, ...]:
    """Return the last row at or before each release; without any, the newest row, which no value follows."""
    numbers = is_number(series.positions[0])
    if not all(texts) or any(is_number(text) is not numbers for text in texts):
        raise InputError(
            f"the releases are {', '.join(texts)} where the positions are like {series.positions[0]}",
            where=f"--set releases, series {series.id!r}",
            remedy="Give positions of the file with commas in between, such as releases=pos:120,180.",
        )
    try:
        releases = position_keys(texts)
    except ValueError as error:
        raise InputError(
            f"the releases are not positions ({error})",
            where="--set releases",
            remedy="Give numbers, or dates in ISO 8601, as in the column pos.",
        ) from None
    rows = [bisect_right(keys, release) - 1 for release in releases]
    return tuple(row for row in rows if row >= 0) or (len(keys) - 1,)


def in_rows(series: NamedSeries, parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return ``parameters`` for the method, with references to positions replaced by rows, commits and times.

    ``series`` has at least one row. Rows with the same position are samples of one commit. Times are the positions, dates
    in days. A release is at the last row at or before its position.

    Raises:
        InputError: a release is not a position.
    """
    found: dict[str, Any] = dict(parameters)
    keys = position_keys(series.positions)
    if parameters.get("commits") == _POSITIONS:
        numbers: dict[float, int] = {}
        found["commits"] = tuple(numbers.setdefault(key, len(numbers)) for key in keys)
    if parameters.get("times") == _POSITIONS:
        unit = 1.0 if is_number(series.positions[0]) else _DAY_SECONDS
        found["times"] = tuple(key / unit for key in keys)
    releases = parameters.get("releases", "")
    if releases.startswith(_AT_POSITIONS):
        found["releases"] = _rows_of(series, keys, releases.removeprefix(_AT_POSITIONS).split(","))
    return found
