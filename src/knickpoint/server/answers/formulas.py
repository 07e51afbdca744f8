"""Evaluate formulas over the traces of a repository, and keep sets of keys and formulas under a short id."""

from __future__ import annotations

import numpy as np

from knickpoint.calc import FORMULA_SIGN, parse
from knickpoint.model.commit import Line, Repository
from knickpoint.plots.reduction import thin
from knickpoint.server.answers.traces import trace_answer
from knickpoint.server.schemas.formulas import FormulaAnswer, FormulaTraceAnswer, ShortcutAnswer, ShortcutRequest
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store import Store
from knickpoint.watch.formula_traces import calculate_traces

__all__ = ["add_shortcut", "calculate", "read_shortcut"]


def calculate(visible: VisibleRepositories, line: Line, formula: str, *, points: int, limit: int) -> FormulaAnswer:
    """Evaluate ``formula`` on ``line``: at most ``limit`` traces, each thinned out to ``points`` values.

    Raises:
        QueryError: the formula cannot be read or evaluated; it names the column.
    """
    found, unit = calculate_traces(visible.store, line, formula, short_id=visible.short_id)
    origins = visible.store.traces.find_ids(line.repository, [key for key in found.origins[:limit] if key])
    answers = []
    for name, values, origin in zip(found.ids[:limit], found.values, found.origins, strict=False):
        positions = np.flatnonzero(~np.isnan(values))
        kept = positions[thin(values[positions], points)]
        answers.append(
            FormulaTraceAnswer(
                id=name,
                trace=next(iter(origins.get(origin, ())), None),
                unit=unit,
                measured=len(positions),
                positions=kept.tolist(),
                values=values[kept].tolist(),
            )
        )
    return FormulaAnswer(line=line.name, commits=len(line.slots), total=len(found), traces=answers)


def add_shortcut(store: Store, request: ShortcutRequest, *, most: int) -> str:
    """Return the short id of a set of keys and formulas; the same set has the same id.

    Raises:
        InputError: the set is empty, a key or formula is invalid, or ``most`` sets are kept already.
    """
    for formula in request.formulas:
        parse(formula)
    entries = [*request.keys, *(FORMULA_SIGN + formula for formula in request.formulas)]
    return store.shortcuts.add(entries, most=most)


def read_shortcut(visible: VisibleRepositories, repository: Repository, name: str) -> ShortcutAnswer:
    """Return the keys and formulas of a short id, with the traces of those keys that ``repository`` has.

    Raises:
        UnknownError: there is no such short id.
    """
    store = visible.store
    entries = visible.short_id(name)
    keys = [entry for entry in entries if not entry.startswith(FORMULA_SIGN)]
    known = store.traces.find_ids(repository, keys)
    traces = store.traces.get([number for key in keys for number in known.get(key, ())])
    return ShortcutAnswer(
        id=name,
        keys=keys,
        formulas=[entry.removeprefix(FORMULA_SIGN) for entry in entries if entry.startswith(FORMULA_SIGN)],
        traces=[trace_answer(trace, repository.name) for trace in traces],
    )
