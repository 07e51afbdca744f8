"""The traces that formulas work on: a row of values for each, with its id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.errors import ParamsError, QueryError
from knickpoint.model.params import decode_key

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


# Pair the traces of two sides of an operator.


Params = dict[str, str]
Rest = tuple[tuple[str, str], ...]


def origin_params(traces: Traces) -> list[Params]:
    """Return the params of the trace that each row was calculated from, {} where that is not a single trace."""
    params: list[Params] = []
    for key in traces.origins:
        try:
            params.append(decode_key(key))
        except ParamsError:
            params.append({})
    return params


def _rows_by_rest(side: list[Params], distinguishing: set[str]) -> dict[Rest, list[int]]:
    rows: dict[Rest, list[int]] = defaultdict(list)
    for row, params in enumerate(side):
        rows[tuple(sorted((name, value) for name, value in params.items() if name not in distinguishing))].append(row)
    return rows


def pair(left: Traces, right: Traces) -> list[tuple[int, int]]:
    """Pair the rows of ``left`` and ``right`` that belong together.

    A single trace goes with every trace of the other side. Otherwise params that have no value in common on the two
    sides distinguish the sides and are ignored; traces that agree in all other params go together. A trace without a
    partner is left out.

    Raises:
        QueryError: several traces of one side would go with several of the other.
    """
    if len(left) == 1 or len(right) == 1:
        return [(i, j) for i in range(len(left)) for j in range(len(right))]
    sides = origin_params(left), origin_params(right)
    names = {name for side in sides for params in side for name in params}
    distinguishing = {
        name
        for name in names
        if {params.get(name) for params in sides[0]}.isdisjoint(params.get(name) for params in sides[1])
    }
    partners = _rows_by_rest(sides[1], distinguishing)
    pairs: list[tuple[int, int]] = []
    for rest, rows in _rows_by_rest(sides[0], distinguishing).items():
        others = partners.get(rest, [])
        if len(rows) > 1 and len(others) > 1:
            raise QueryError(
                f"{left.ids[rows[0]]} and {left.ids[rows[1]]} both go with "
                f"{right.ids[others[0]]} and {right.ids[others[1]]}",
                remedy="Narrow a filter, or fold one side with ave(…).",
            )
        pairs += [(row, other) for row in rows for other in others]
    return pairs
