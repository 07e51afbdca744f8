"""Evaluate formulas over traces, and make pivot tables of traces; without input or output.

::

    from knickpoint.calc import evaluate

    traces = evaluate('ave(filter("config=8888")) / ave(filter("config=gpu"))', select)

``select`` returns the traces of a query; see :class:`Traces`.
"""

from __future__ import annotations

from knickpoint.calc.evaluate import FUNCTIONS, Source, evaluate, queries_of
from knickpoint.calc.grammar import parse, unit_of
from knickpoint.calc.traces import (
    FOLDS,
    FORMULA_SIGN,
    Pivot,
    Traces,
    Trend,
    combine_trends,
    formula_id,
    pivot,
    trend_of,
)

__all__ = [
    "FOLDS",
    "FORMULA_SIGN",
    "FUNCTIONS",
    "Pivot",
    "Source",
    "Traces",
    "Trend",
    "combine_trends",
    "evaluate",
    "formula_id",
    "parse",
    "pivot",
    "queries_of",
    "trend_of",
    "unit_of",
]
