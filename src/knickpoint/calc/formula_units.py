"""Derive the unit of a calculated trace from its formula.

A formula keeps the unit of the traces that it reads where every function and operator keeps it. After ``norm``, values
are standard deviations of each trace. Any other formula has no unit.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from knickpoint.calc.grammar import Binary, Call, Negative, Node, Number

__all__ = ["unit_of"]

_DEVIATIONS: Final = "σ"
"""The unit of normalised traces: standard deviations of each."""

_KEEPING: Final = frozenset(
    {"filter", "shortcut", "ave", "avg", "sum", "min", "max", "geo", "std", "fill", "iqrr"}
    | {"trace_ave", "trace_avg", "trace_stddev"}
)
"""Functions whose result has the unit of their arguments."""


def unit_of(node: Node, units: Collection[str]) -> str:
    """Return the unit of a formula over traces of ``units``, "" where it has none or several are mixed."""
    if _is_normalised(node):
        return _DEVIATIONS
    return next(iter(units)) if len(units) == 1 and _keeps_unit(node) else ""


def _is_normalised(node: Node) -> bool:
    """Whether the value of a node is in standard deviations of each trace."""
    match node:
        case Call(name="norm"):
            return True
        case Call(name=name, arguments=arguments):
            parts = [each for each in arguments if isinstance(each, Call | Binary | Negative)]
            return name in _KEEPING and bool(parts) and all(map(_is_normalised, parts))
        case Negative(value=value):
            return _is_normalised(value)
        case Binary(operator="+" | "-", left=left, right=right):
            return _is_normalised(left) and _is_normalised(right)
    return False


def _keeps_unit(node: Node) -> bool:
    """Whether the value of a node has the unit of the traces that it reads."""
    match node:
        case Call(name=name, arguments=arguments):
            return name in _KEEPING and all(
                _keeps_unit(each) for each in arguments if isinstance(each, Call | Binary | Negative)
            )
        case Negative(value=value):
            return _keeps_unit(value)
        case Binary(operator="+" | "-", left=left, right=right):
            return _keeps_unit(left) and _keeps_unit(right)
        case Binary(operator="*", left=Number(), right=other) | Binary(operator="*" | "/", left=other, right=Number()):
            return _keeps_unit(other)
    return False
