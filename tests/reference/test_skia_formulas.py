"""Formulas and pivots against vectors that the original functions made."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.reference_data import skip_without_reference

from knickpoint.calc import FOLDS, Traces, evaluate, pivot
from knickpoint.calc.traces import PER_TRACE, Change, normalised
from knickpoint.model.errors import ParamsError, QueryError
from knickpoint.model.params import decode_key

skip_without_reference()

_LARGEST = float(np.finfo(np.float32).max)

_BETTER_HERE = {
    'ratio(filter("name=t1"),filter("name=t2"))': "cells without a value are left out",
    ' sum( filter("") ) trailing text': "text behind a formula is an error",
    'ratio(ave(fill(filter("name=t1"))) ave(fill(filter("name=t2"))))': "arguments need a comma",
}
"""Formulas where the original has a defect that is not copied."""


@pytest.fixture(scope="module")
def vectors(reference: Path) -> dict[str, Any]:
    return {
        name: json.loads((reference / "vectors" / f"skia_{name}.json").read_text())
        for name in ("calc", "pivot", "vec32")
    }


def _traces(rows: dict[str, list[float]]) -> Traces:
    values = np.array(list(rows.values()), dtype=np.float64).reshape(len(rows), len(next(iter(rows.values()), ())))
    return Traces(tuple(rows), np.where(values > 1e31, np.nan, values))


def _expected(values: list[float]) -> list[float]:
    array = np.array(values, dtype=np.float64)
    array[(array > 1e31) | (np.abs(array) >= _LARGEST * 0.99)] = np.nan
    return list(array)


def _matches(identity: str, query: str) -> bool:
    try:
        params = decode_key(identity)
    except ParamsError:
        return False
    return all(
        params.get(name) == value for name, _, value in (part.partition("=") for part in query.split("&") if part)
    )


def _select(traces: Traces, query: str) -> Traces:
    rows = [row for row, identity in enumerate(traces.ids) if _matches(identity, query)]
    return Traces(tuple(traces.ids[row] for row in rows), traces.values[rows])


def _evaluate(formula: str, rows: dict[str, list[float]], shortcut: Traces) -> dict[str, list[float]]:
    """Evaluate ``formula`` over rows; those of one length at a time, for some sets have several."""
    found: dict[str, list[float]] = {}
    for length in sorted({len(values) for values in rows.values()}) or [0]:
        traces = _traces({key: values for key, values in rows.items() if len(values) == length})
        result = evaluate(formula, partial(_select, traces), shortcut=lambda _: shortcut)
        found |= dict(zip(result.ids, result.values.tolist(), strict=True))
    return found


def _id_here(key: str, formula: str, plain: set[str]) -> str:
    """Return our id of a trace that Skia calls ``key``: a logarithm has a name of its own here."""
    if "log(" in formula:
        return "@" + key.replace(",name=t1,", "log(,name=t1,)")
    return key if key in plain else f"@{key}"


def test_formulas_give_what_those_of_skia_give_and_refuse_what_they_refuse(vectors: dict[str, Any]) -> None:
    calc = vectors["calc"]
    shortcut = _traces(calc["shortcut_rows"])
    compared = 0
    for case in calc["formula_cases"]:
        formula = case["formula"]
        if case.get("error"):
            with pytest.raises(QueryError, match="column"):
                evaluate(formula, lambda _: Traces((",a=b,",), np.zeros((1, 3))))
        if case.get("error") or formula in _BETTER_HERE:
            continue
        rows = calc["row_sets"][case["rows"]]
        found = _evaluate(formula, rows, shortcut)
        wanted = {_id_here(key, formula, {*rows, *shortcut.ids}): values for key, values in case["result"].items()}
        assert sorted(found) == sorted(wanted), formula
        for identity, values in found.items():
            np.testing.assert_allclose(values, _expected(wanted[identity]), rtol=1e-6, atol=1e-7, err_msg=formula)
        compared += 1
    assert compared == 41


def test_pivots_are_those_of_skia(vectors: dict[str, Any]) -> None:
    traces = _traces(vectors["pivot"]["traceset"])
    # the one trace whose key is not canonical has none of the params
    rows = [row for row, identity in enumerate(traces.ids) if "does=not" not in identity]
    traces = Traces(tuple(traces.ids[row] for row in rows), traces.values[rows])
    for case in vectors["pivot"]["cases"]:
        group_by, summary = case["group_by"] or [], case["summary"] or []
        if case.get("error"):
            with pytest.raises(QueryError):
                pivot(traces, group_by, case["operation"], summary)
            continue
        found = pivot(traces, group_by, case["operation"], summary)
        assert list(found.keys) == sorted(case["traceset"])
        assert found.columns == tuple(summary)
        for key, values in zip(found.keys, found.values, strict=True):
            np.testing.assert_allclose(values, case["traceset"][key], rtol=1e-6, atol=1e-7)


def _given(values: object) -> NDArray[np.float64]:
    """Read numbers as the file has them: texts for infinities, 1e32 and beyond for missing."""
    items = values if isinstance(values, list) else [values]
    array = np.array([float(str(item).replace("Inf", "inf")) for item in items])
    array[np.abs(array) > 1e31] = np.nan
    return array


_FUNCTIONS: dict[str, Change] = {
    "fill": PER_TRACE["fill"][1],
    "fill_cov": PER_TRACE["trace_cov"][1],
    "fill_mean_missing": PER_TRACE["trace_ave"][1],
    "fill_stddev": PER_TRACE["trace_stddev"][1],
    "fill_step": PER_TRACE["step"][1],
    "iqrr": PER_TRACE["iqrr"][1],
    "norm_0.001": lambda values: normalised(values, 0.001),
    "norm_0.1": lambda values: normalised(values, 0.1),
    "scale_by_mean": PER_TRACE["scale_by_ave"][1],
    "count": lambda values: FOLDS["count"](values.T)[:, None],
    "geo_e": lambda values: FOLDS["geo"](values.T)[:, None],
    "max": lambda values: FOLDS["max"](values.T)[:, None],
    "mean_e": lambda values: FOLDS["avg"](values.T)[:, None],
    "min": lambda values: FOLDS["min"](values.T)[:, None],
    "sum_e": lambda values: FOLDS["sum"](values.T)[:, None],
}


def test_numeric_functions_are_those_of_skia(vectors: dict[str, Any]) -> None:
    compared = 0
    for case in vectors["vec32"]["cases"]:
        values = _given(case["in"])
        if not values.size or np.nanmax(np.abs(values), initial=0) > 1e29:  # beyond single precision when squared
            continue
        scale = 1e-6 * np.nanmax(np.abs(values), initial=1)
        for name, function in _FUNCTIONS.items():
            found = function(values[None, :])[0]
            np.testing.assert_allclose(found, _given(case[name]), rtol=2e-6, atol=scale, err_msg=name)
        compared += 1
    assert compared > 60
