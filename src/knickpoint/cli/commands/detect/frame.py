"""Align series by position into one frame, for methods that take several series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from knickpoint.formats.series import NamedSeries, position_keys
from knickpoint.model.errors import InputError

__all__ = ["aligned"]


def aligned(series: Sequence[NamedSeries]) -> tuple[list[str], np.ndarray[tuple[int, int], np.dtype[np.float64]]]:
    """Return all positions in order, and the frame of the series over them; ``nan`` where a series has no row.

    Raises:
        InputError: a series has two rows with the same position, or positions are a mixture of numbers and dates.
    """
    texts = [position for each in series for position in each.positions]
    try:
        keys = position_keys(texts)
    except ValueError:
        raise InputError(
            "some series have numbers for positions and others dates",
            remedy="Number the commits in pos, the same numbers for all series.",
        ) from None
    shown = dict(zip(reversed(keys), reversed(texts), strict=True))
    columns = {key: column for column, key in enumerate(sorted(shown))}
    frame = np.full((len(series), len(columns)), np.nan)
    first = 0
    for row, each in enumerate(series):
        row_keys = keys[first : first + len(each.positions)]
        first += len(row_keys)
        if len(set(row_keys)) < len(row_keys):
            raise InputError(
                "two rows have the same position",
                where=f"series {each.id!r}",
                remedy="Give one value a commit, because these series are judged together.",
            )
        frame[row, [columns[key] for key in row_keys]] = each.values
    return [shown[key] for key in sorted(shown)], frame
