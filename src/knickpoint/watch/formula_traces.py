"""Evaluate formulas over the stored traces of a line, within a budget of values and queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.budget import check_time, largest_read
from knickpoint.calc import FORMULA_SIGN, Traces, evaluate, parse, unit_of
from knickpoint.model.commit import Line
from knickpoint.model.errors import AbsentError, InputError, QueryError
from knickpoint.model.plain_text import counted
from knickpoint.model.query import parse_query
from knickpoint.store import Store

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

    store: Store
    line: Line
    short_id: Callable[[str], Sequence[str]]
    units: set[str] = field(default_factory=set)
    values: int = 0
    traces: int = 0
    reads: int = 0
    depth: int = 0

    def select(self, query: str) -> Traces:
        return self._read(self.store.traces.select(self.line.repository, parse_query(query)))

    def shortcut(self, name: str) -> Traces:
        try:
            entries = self.short_id(name)
        except (AbsentError, InputError) as error:
            raise QueryError(error.message, remedy=error.remedy) from error
        keys = [entry for entry in entries if not entry.startswith(FORMULA_SIGN)]
        known = self.store.traces.find_ids(self.line.repository, keys)
        parts = [self._read(np.array([number for key in keys for number in known.get(key, ())], dtype=np.int64))]
        self.depth += 1
        if self.depth > _DEEPEST:
            raise QueryError(f"{name!r} is nested in too many other short ids", remedy="Write its formulas out.")
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
                f"{counted(len(ids), 'trace')} of {counted(len(self.line.slots), 'commit')} are too many for one "
                "formula",
                remedy="Narrow the query.",
            )
        traces = self.store.traces.get(ids)
        self.units |= {trace.unit for trace in traces}
        values = np.asarray(self.store.frames.values(self.line, ids), dtype=np.float64)
        return Traces(tuple(trace.key for trace in traces), values.reshape(len(ids), len(self.line.slots)))


def calculate_traces(
    store: Store, line: Line, formula: str, *, short_id: Callable[[str], Sequence[str]]
) -> tuple[Traces, str]:
    """Return the traces that ``formula`` means on ``line`` (values: traces x commits of the line), and their unit.

    ``short_id`` returns the trace keys and formulas of a short id; it raises ``AbsentError`` or ``InputError`` for one
    that does not exist.

    Raises:
        QueryError: the formula cannot be read or evaluated; it names the column.
    """
    reader = _Reader(store, line, short_id)
    found = reader.evaluate(formula)
    return found, unit_of(parse(formula), reader.units)
