"""Pivot tables: fold the traces that agree in some params into one, and these into the columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knickpoint.calc.folds import FOLDS
from knickpoint.calc.pairing import origin_params
from knickpoint.calc.traces import Traces
from knickpoint.model.errors import QueryError
from knickpoint.model.params import encode_key

__all__ = ["Pivot", "pivot"]


@dataclass(frozen=True, eq=False)
class Pivot:
    """A row for each group: ``keys`` are trace keys of the params that define the group, sorted.

    ``values`` is groups x commits, or groups x ``columns`` with a summary, ``columns`` being the names of its folds.
    """

    keys: tuple[str, ...]
    values: NDArray[np.float64]
    columns: tuple[str, ...]


def _check(names: set[str], group_by: Sequence[str], operation: str, summary: Sequence[str]) -> None:
    if not group_by:
        raise QueryError("a pivot needs a param to group by", remedy="Name at least one.")
    for name in group_by:
        if name not in names:
            raise QueryError(
                f"no trace has the param {name!r} to group by", remedy=f"The params are: {', '.join(sorted(names))}."
            )
    for fold in (operation, *summary):
        if fold not in FOLDS:
            raise QueryError(f"there is no operation {fold!r}", remedy=f"The operations are: {', '.join(FOLDS)}.")


def pivot(traces: Traces, group_by: Sequence[str], operation: str, summary: Sequence[str] = ()) -> Pivot:
    """Fold the traces of equal ``group_by`` params commit by commit with ``operation``.

    With ``summary``, each folded trace is folded again, into one number for every operation named there.
    Calculated traces have the params of the one trace that they come from; traces that lack a param of
    ``group_by`` are left out.

    Raises:
        QueryError: no param to group by, one that no trace has, or an operation that does not exist.
    """
    params_of_rows = origin_params(traces)
    _check({name for params in params_of_rows for name in params}, group_by, operation, summary)
    groups: dict[str, list[int]] = {}
    for row, params in enumerate(params_of_rows):
        if all(name in params for name in group_by):
            groups.setdefault(encode_key({name: params[name] for name in group_by}), []).append(row)
    keys = tuple(sorted(groups))
    folded = np.array([FOLDS[operation](traces.values[groups[key]]) for key in keys])
    folded = folded.reshape(len(keys), traces.values.shape[1])
    if not summary:
        return Pivot(keys, folded, ())
    columns = [FOLDS[fold](folded.T) for fold in summary]
    return Pivot(keys, np.stack(columns, axis=1), tuple(summary))
