"""Evaluate a formula: callbacks return the traces, numbers and texts are in the formula itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.calc.grammar import Binary, Call, Negative, Node, Number, Text, formula_error, parse
from knickpoint.calc.traces import (
    FOLDS,
    PER_TRACE,
    Checkpoint,
    Traces,
    divide,
    formula_id,
    normalised,
    origin_params,
    pair,
    plain,
)
from knickpoint.model.errors import QueryError
from knickpoint.model.params import encode_key

Source = Callable[[str], Traces]
"""Returns the traces of a query, or of a shortcut. Raises ``QueryError`` when it cannot be read or does not exist."""

Value = Traces | float | str

_FOLDED: Final = {"ave": "avg"} | {name: name for name in FOLDS}
_OPERATORS: Final[dict[str, Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": divide,
}

_MOST_GROUPING: Final = 16
"""Params that one call groups by."""

_MOST_NAMED: Final = 100_000_000
"""Characters of the names of joined traces."""

FUNCTIONS: Final = tuple(sorted({"filter", "shortcut", "norm", "ratio", *_FOLDED, *PER_TRACE}))
"""Names of all functions."""


def _describe(value: Value) -> str:
    if isinstance(value, Traces):
        return "traces"
    return "a string" if isinstance(value, str) else "a number"


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """Evaluate the nodes of one formula; a method for each kind of node and of function."""

    formula: str
    select: Source
    shortcut: Source
    checkpoint: Checkpoint

    def value(self, node: Node) -> Value:
        self.checkpoint()
        match node:
            case Number() | Text():
                return node.value
            case Call():
                return self.call(node)
            case Negative():
                return self.negative(node)
            case Binary():
                return self.binary(node)

    def error_at(self, node: Node, message: str, remedy: str) -> QueryError:
        return formula_error(self.formula, node.start, message, remedy)

    def text(self, node: Node) -> str:
        """Return the text of ``node`` in the formula."""
        return self.formula[node.start : node.stop]

    def traces(self, node: Node) -> Traces:
        value = self.value(node)
        if not isinstance(value, Traces):
            raise self.error_at(node, f"expected traces, got {_describe(value)}", 'Give traces, as filter("a=b").')
        return value

    def arguments(self, call: Call, least: int, most: int) -> tuple[Node, ...]:
        given = len(call.arguments)
        if not least <= given <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            raise self.error_at(
                call, f"{call.name} takes {wanted} arguments, not {given}", "See the guide to formulas."
            )
        return call.arguments

    def call(self, call: Call) -> Traces:
        match call.name:
            case "filter":
                return self.source(call, self.select)
            case "shortcut":
                return self.source(call, self.shortcut)
            case "norm":
                return self.norm(call)
            case "ratio":
                left, right = self.arguments(call, 2, 2)
                return self.joined("/", self.traces(left), self.traces(right), call.start, self.text(call))
        if call.name in PER_TRACE:
            (argument,) = self.arguments(call, 1, 1)
            return self.traces(argument).map_values(*PER_TRACE[call.name], self.checkpoint)
        if call.name in _FOLDED:
            argument, *params = self.arguments(call, 1, 1 + _MOST_GROUPING)
            traces = self.traces(argument)
            return self.grouped(call, traces, params) if params else self.folded(call, traces)
        raise self.error_at(call, f"there is no function {call.name!r}", f"The functions are: {', '.join(FUNCTIONS)}.")

    def source(self, call: Call, source: Source) -> Traces:
        (argument,) = self.arguments(call, 1, 1)
        if not isinstance(argument, Text):
            raise self.error_at(argument, f"{call.name} takes a string", f'Write {call.name}("…").')
        try:
            return source(argument.value)
        except QueryError as error:
            inner = f"{error.where}: {error.message}" if error.where else error.message
            raise formula_error(self.formula, argument.start, inner, error.remedy) from error

    def norm(self, call: Call) -> Traces:
        argument, *rest = self.arguments(call, 1, 2)
        traces = self.traces(argument)
        if not rest:
            return traces.map_values("norm", normalised, self.checkpoint)
        least = self.value(rest[0])
        if not isinstance(least, float):
            raise self.error_at(rest[0], f"expected a number, got {_describe(least)}", "Give the least deviation.")
        return traces.map_values("norm", lambda values: normalised(values, least), self.checkpoint)

    def folded(self, call: Call, traces: Traces) -> Traces:
        if not len(traces):
            return traces
        folded = traces.fold_values(FOLDS[_FOLDED[call.name]], self.checkpoint)
        return Traces((formula_id(self.text(call)),), folded[None, :])

    def grouped(self, call: Call, traces: Traces, params: Sequence[Node]) -> Traces:
        """Return one trace for each group of ``traces`` that agree in ``params``, which the call names as texts."""
        names: list[str] = []
        rows = origin_params(traces)
        known = {name for row in rows for name in row}
        for node in params:
            if not isinstance(node, Text):
                raise self.error_at(node, f"{call.name} groups by names of params", f'Write {call.name}(…, "name").')
            if rows and node.value not in known:
                remedy = f"The params are: {', '.join(sorted(known))}." if known else "Group before you combine traces."
                raise self.error_at(node, f"no trace has the param {node.value!r} to group by", remedy)
            names.append(node.value)
        groups: dict[str, list[int]] = {}
        for index, row in enumerate(rows):
            if all(name in row for name in names):
                groups.setdefault(encode_key({name: row[name] for name in names}), []).append(index)
        if not rows:
            return traces
        keys = tuple(sorted(groups))
        values = np.empty((len(keys), traces.values.shape[1]), dtype=np.float64)
        for at, key in enumerate(keys):
            group = Traces(tuple(traces.ids[index] for index in groups[key]), traces.values[groups[key]])
            values[at] = group.fold_values(FOLDS[_FOLDED[call.name]], self.checkpoint)
        return Traces(tuple(formula_id(f"{self.text(call)} of {key}") for key in keys), values, keys)

    def negative(self, node: Negative) -> Value:
        value = self.value(node.value)
        if isinstance(value, str):
            raise self.error_at(node.value, "expected a number or traces, got a string", "Take out the minus sign.")
        return -value if isinstance(value, float) else value.map_values("-", np.negative, self.checkpoint)

    def binary(self, node: Binary) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        for value, side in ((left, node.left), (right, node.right)):
            if isinstance(value, str):
                raise self.error_at(side, "expected a number or traces, got a string", "Take out the quotes.")
        assert not isinstance(left, str)
        assert not isinstance(right, str)
        if isinstance(left, float) and isinstance(right, float):
            result = float(_OPERATORS[node.operator](np.float64(left), np.float64(right)))  # type: ignore[arg-type]
            if not np.isfinite(result):
                raise formula_error(self.formula, node.operator_at, "the result is not a number", "Do not divide by 0.")
            return result
        return self.joined(node.operator, left, right, node.operator_at, "")

    def joined(self, operator: str, left: Traces | float, right: Traces | float, operator_at: int, name: str) -> Traces:
        """Join two sides with ``operator``; the trace of two single traces is named ``name``, if there is a name."""
        operate = _OPERATORS[operator]
        if isinstance(left, float):
            assert isinstance(right, Traces)
            ids = tuple(formula_id(f"({left:.12g} {operator} {plain(identity)})") for identity in right.ids)
            return Traces(ids, operate(np.float64(left), right.values), right.origins)  # type: ignore[arg-type]
        if isinstance(right, float):
            ids = tuple(formula_id(f"({plain(identity)} {operator} {right:.12g})") for identity in left.ids)
            return Traces(ids, operate(left.values, np.float64(right)), left.origins)  # type: ignore[arg-type]
        try:
            pairs = pair(left, right)
        except QueryError as error:
            raise formula_error(self.formula, operator_at, error.message, error.remedy) from error
        self.check_names(len(pairs), left, right, operator_at)
        left_rows, right_rows = [row for row, _ in pairs], [row for _, row in pairs]
        if name and len(left) == len(right) == 1:
            ids = (formula_id(name),)
        else:
            ids = tuple(formula_id(f"({plain(left.ids[i])} {operator} {plain(right.ids[j])})") for i, j in pairs)
        origins = tuple(left.origins[i] or right.origins[j] for i, j in pairs)
        return Traces(ids, operate(left.values[left_rows], right.values[right_rows]), origins)

    def check_names(self, count: int, left: Traces, right: Traces, operator_at: int) -> None:
        """Refuse to name ``count`` joined traces where that takes too much memory: a name has those of both sides."""
        longest = sum(max(map(len, side.ids), default=0) for side in (left, right))
        if count * longest > _MOST_NAMED:
            raise formula_error(
                self.formula,
                operator_at,
                f"the names of {count:,} calculated traces would have {longest:,} characters each",
                "Narrow a filter, or write a shorter formula.",
            )


def _no_shortcuts(identity: str) -> Traces:
    raise QueryError(f"there is no shortcut {identity!r}", remedy="Shortcuts need an instance; use filter instead.")


def _go_on() -> None:
    """Let the work go on."""


def evaluate(
    formula: str, select: Source, *, shortcut: Source = _no_shortcuts, checkpoint: Checkpoint = _go_on
) -> Traces:
    """Return the traces of ``formula``.

    ``select`` returns the traces of the query in ``filter("…")``, ``shortcut`` those of ``shortcut("…")``; all have
    the same commits. Ids of calculated traces begin with ``@``: ``@norm(,arch=x86,)`` for a function of each trace, and
    the text of the call for a fold of many traces. ``checkpoint`` is called between blocks of work, and may raise to
    stop it.

    Raises:
        QueryError: the formula cannot be read or evaluated; the message names the column and the remedy.
    """
    node = parse(formula)
    evaluation = _Evaluation(formula, select, shortcut, checkpoint)
    with np.errstate(over="ignore", invalid="ignore"):
        found = evaluation.traces(node)
    return Traces(found.ids, np.where(np.isinf(found.values), np.nan, found.values), found.origins)


def queries_of(formula: str) -> tuple[str, ...]:
    """Return the queries in ``filter("…")`` of ``formula``, in their order and without repetition.

    Raises:
        QueryError: the formula cannot be read.
    """
    found: dict[str, None] = {}
    waiting: list[Node] = [parse(formula)]
    while waiting:
        match waiting.pop():
            case Call(name="filter", arguments=(Text(value=query),)):
                found[query] = None
            case Call(arguments=arguments):
                waiting.extend(reversed(arguments))
            case Negative(value=inner):
                waiting.append(inner)
            case Binary(left=left, right=right):
                waiting += [right, left]
    return tuple(found)
