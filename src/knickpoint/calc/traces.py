"""The traces that formulas work on: a row of values for each, with its id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCK", "FORMULA_SIGN", "Checkpoint", "Traces", "formula_id", "plain"]

BLOCK: Final = 1 << 20
"""Values that are worked on at a time, so that what a function needs beside its result stays small."""

_MOST_ROWS: Final = 4096
"""Rows that are worked on at a time; some functions take a tenth of a millisecond for each."""

Checkpoint = Callable[[], None]
"""Is called between two blocks of work, and stops it with an error."""

FORMULA_SIGN = "@"
"""Ids of calculated traces begin with it; trace keys never do."""


@dataclass(frozen=True, eq=False)
class Traces:
    """Hold ``values`` (traces x commits, float64, ``nan`` for missing) and the id of each row.

    An id is a trace key, or the text of a formula behind ``@``. ``origins`` are the trace keys that the rows
    were calculated from, "" where that is not a single trace; by default they are the ids that are trace keys.
    """

    ids: tuple[str, ...]
    values: NDArray[np.float64]
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Fill in the origins."""
        if not self.origins:
            keys = tuple("" if identity.startswith(FORMULA_SIGN) else identity for identity in self.ids)
            object.__setattr__(self, "origins", keys)

    def __len__(self) -> int:
        """Count the traces."""
        return len(self.ids)

    def map_values(
        self, name: str, function: Callable[[NDArray[np.float64]], NDArray[np.float64]], checkpoint: Checkpoint
    ) -> Traces:
        """Return the traces with ``function`` of their values, some rows at a time; ids become ``name(id)``."""
        ids = tuple(formula_id(f"{name}({plain(identity)})") for identity in self.ids)
        values = np.empty_like(self.values)
        rows = min(_MOST_ROWS, max(1, BLOCK // max(1, values.shape[1])))
        for begin in range(0, len(values), rows):
            checkpoint()
            values[begin : begin + rows] = function(self.values[begin : begin + rows])
        return Traces(ids, values, self.origins)

    def fold_values(
        self, fold: Callable[[NDArray[np.float64]], NDArray[np.float64]], checkpoint: Checkpoint
    ) -> NDArray[np.float64]:
        """Return ``fold`` of all values at each commit, some commits at a time."""
        folded = np.empty(self.values.shape[1], dtype=np.float64)
        columns = max(1, BLOCK // max(1, len(self.values)))
        for begin in range(0, len(folded), columns):
            checkpoint()
            folded[begin : begin + columns] = fold(self.values[:, begin : begin + columns])
        return folded


def plain(identity: str) -> str:
    """Return an id without the sign of formulas, for use inside the text of another formula."""
    return identity.removeprefix(FORMULA_SIGN)


def formula_id(text: str) -> str:
    """Return the id of the trace that the formula ``text`` calculates."""
    return FORMULA_SIGN + text
