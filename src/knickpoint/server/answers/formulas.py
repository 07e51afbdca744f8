"""Evaluate formulas over the traces of a repository, and keep sets of keys and formulas under a short id."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.budget import check_time, largest_read
from knickpoint.calc import FORMULA_SIGN, Traces, evaluate, parse
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import QueryError
from knickpoint.model.query import parse_query
from knickpoint.plots.reduction import thin
from knickpoint.server.answers.formula_units import unit_of
from knickpoint.server.answers.traces import trace_answer
from knickpoint.server.errors import UnknownError
from knickpoint.server.schemas.formulas import FormulaAnswer, FormulaTraceAnswer, ShortcutAnswer, ShortcutRequest
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store import Store

__all__ = ["add_shortcut", "calculate", "read_shortcut"]

_MOST_VALUES: Final = 20_000_000
"""Values (traces times commits) that one formula may read where no budget says so; 160 MB."""

_MOST_TRACES: Final = 200_000
"""Traces that one formula may read."""

_MOST_READS: Final = 1000
"""Queries and short ids in one formula, with those of its short ids."""

_DEEPEST: Final = 3
"""How deep short ids may be nested within the formulas of short ids."""


@dataclass
class _Reader:
    """Read the traces of a formula, and collect their units."""

    visible: VisibleRepositories
    line: Line
    units: set[str] = field(default_factory=set)
    values: int = 0
    traces: int = 0
    reads: int = 0
    depth: int = 0

    def select(self, query: str) -> Traces:
        return self._read(self.visible.store.traces.select(self.line.repository, parse_query(query)))

    def shortcut(self, name: str) -> Traces:
        try:
            entries = self.visible.short_id(name)
        except UnknownError as error:
            raise QueryError(error.message, remedy=error.remedy) from error
        keys = [entry for entry in entries if not entry.startswith(FORMULA_SIGN)]
        known = self.visible.store.traces.find_ids(self.line.repository, keys)
        parts = [self._read(np.array([number for key in keys for number in known.get(key, ())], dtype=np.int64))]
        self.depth += 1
        if self.depth > _DEEPEST:
            raise QueryError(
                f"{name!r} is a short id within too many other short ids", remedy="Write its formulas out."
            )
        formulas = [entry.removeprefix(FORMULA_SIGN) for entry in entries if entry.startswith(FORMULA_SIGN)]
        parts += [self.evaluate(formula) for formula in formulas]
        self.depth -= 1
        return Traces(
            tuple(name for part in parts for name in part.ids),
            np.concatenate([part.values for part in parts]),
            tuple(origin for part in parts for origin in part.origins),
        )

    def evaluate(self, formula: str) -> Traces:
        return evaluate(formula, self.select, shortcut=self.shortcut, checkpoint=check_time)

    def _read(self, ids: NDArray[np.int64]) -> Traces:
        """Return the values of traces. All limits are checked before anything of them is read."""
        self.reads += 1
        if self.reads > _MOST_READS:
            raise QueryError(
                f"the formula has more than {_MOST_READS:,} queries and short ids",
                remedy="Write a shorter one.",
            )
        self.traces += len(ids)
        self.values += len(ids) * len(self.line.slots)
        if self.traces > _MOST_TRACES or self.values > (largest_read() or _MOST_VALUES):
            raise QueryError(
                f"{len(ids):,} traces of {len(self.line.slots):,} commits are too many for one formula",
                remedy="Narrow the query.",
            )
        traces = self.visible.store.traces.get(ids)
        self.units |= {trace.unit for trace in traces}
        values = np.asarray(self.visible.store.frames.values(self.line, ids), dtype=np.float64)
        return Traces(tuple(trace.key for trace in traces), values.reshape(len(ids), len(self.line.slots)))


def calculate(visible: VisibleRepositories, line: Line, formula: str, *, points: int, limit: int) -> FormulaAnswer:
    """Evaluate ``formula`` on ``line``: at most ``limit`` traces, each thinned out to ``points`` values.

    Raises:
        QueryError: the formula cannot be read or evaluated; it names the column.
    """
    reader = _Reader(visible, line)
    found = reader.evaluate(formula)
    unit = unit_of(parse(formula), reader.units)
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
