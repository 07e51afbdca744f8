"""Pair the traces of two sides of an operator."""

from __future__ import annotations

from collections import defaultdict

from knickpoint.calc.traces import Traces
from knickpoint.model.errors import ParamsError, QueryError
from knickpoint.model.params import decode_key

__all__ = ["origin_params", "pair"]

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
    """Return which row of ``left`` goes with which row of ``right``.

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
