from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knickpoint.calc import FUNCTIONS, Traces, evaluate, parse, pivot, queries_of
from knickpoint.calc.grammar import DEEPEST, LONGEST
from knickpoint.model.errors import QueryError

_NAN = float("nan")


def _traces(**rows: list[float]) -> Traces:
    return Traces(tuple(f",name={name}," for name in rows), np.array(list(rows.values()), dtype=np.float64))


_GRID = Traces(
    (",arch=arm,config=565,", ",arch=arm,config=gpu,", ",arch=x86,config=565,", ",arch=x86,config=gpu,"),
    np.array([[1.0, 2.0], [10.0, 10.0], [3.0, 4.0], [20.0, 40.0]]),
)


def _grid(query: str) -> Traces:
    rows = [row for row, key in enumerate(_GRID.ids) if query in key]
    return Traces(tuple(_GRID.ids[row] for row in rows), _GRID.values[rows])


def _value(formula: str, traces: Traces) -> list[list[float]]:
    return [list(row) for row in evaluate(formula, lambda _: traces).values]


def test_numbers_bind_as_in_arithmetic() -> None:
    traces = _traces(a=[2.0])
    assert _value('1 + 2 * filter("") - 8 / 4', traces) == [[3.0]]
    assert _value('(1 + 2) * -filter("")', traces) == [[-6.0]]
    assert _value('10 - 3 - filter("")', traces) == [[5.0]]
    assert _value('--filter("")', traces) == [[2.0]]


def test_a_division_by_nothing_is_missing() -> None:
    assert _value('1 / filter("")', _traces(a=[0.0, 2.0, _NAN])) == [
        [pytest.approx(_NAN, nan_ok=True), 0.5, pytest.approx(_NAN, nan_ok=True)]
    ]


def test_traces_pair_by_the_params_that_do_not_tell_the_sides_apart() -> None:
    found = evaluate('filter("config=gpu") / filter("config=565")', _grid)
    assert found.ids == (
        "@(,arch=arm,config=gpu, / ,arch=arm,config=565,)",
        "@(,arch=x86,config=gpu, / ,arch=x86,config=565,)",
    )
    assert found.values[:, 0] == pytest.approx([10, 20 / 3])


def test_a_single_trace_goes_with_every_other() -> None:
    found = evaluate('filter("config=gpu") - ave(filter("config=565"))', _grid)
    assert found.values.tolist() == [[8, 7], [18, 37]]
    assert found.ids[0] == '@(,arch=arm,config=gpu, - ave(filter("config=565")))'


def test_calculated_traces_pair_by_the_params_of_their_origin() -> None:
    found = evaluate('trace_ave(filter("config=gpu")) / fill(filter("config=565"))', _grid)
    assert found.values.tolist() == [[10, 5], [10, 7.5]]
    assert found.origins == (",arch=arm,config=gpu,", ",arch=x86,config=gpu,")


def test_one_trace_may_go_with_several_but_not_several_with_several() -> None:
    keys = [f",config={config},run={run}," for config in ("a", "b") for run in (1, 2)]
    traces = Traces((*keys, ",config=c,", ",config=d,"), np.arange(1.0, 7.0)[:, None])

    def select(query: str) -> Traces:
        rows = [row for row, key in enumerate(traces.ids) if any(f"={name}," in key for name in query)]
        return Traces(tuple(traces.ids[row] for row in rows), traces.values[rows])

    assert evaluate('filter("ab") - filter("12")', select).values.ravel().tolist() == [0] * 4
    crossed = Traces((",config=a,run=1,", ",config=a,run=2,"), np.ones((2, 1)))
    other = Traces((",config=b,run=3,", ",config=b,run=4,"), np.ones((2, 1)))
    with pytest.raises(QueryError, match="column 15: ,config=a,run=1, and ,config=a,run=2, both match"):
        evaluate('filter("one") / filter("two")', lambda query: crossed if query == "one" else other)


def test_several_configurations_are_compared_with_one_for_each_machine() -> None:
    keys = [f",arch={arch},config={config}," for arch in ("arm", "x86") for config in ("a", "b", "base")]
    traces = Traces(tuple(keys), np.arange(1.0, 7.0)[:, None])

    def select(query: str) -> Traces:
        rows = [row for row, key in enumerate(keys) if ("config=base" in key) == (query == "base")]
        return Traces(tuple(keys[row] for row in rows), traces.values[rows])

    found = evaluate('filter("others") - filter("base")', select)
    assert found.values.ravel().tolist() == [-2, -1, -2, -1]


def test_ratio_is_a_division_with_a_name() -> None:
    found = evaluate('ratio(ave(filter("gpu")), ave(filter("565")))', _grid)
    assert found.ids == ('@ratio(ave(filter("gpu")), ave(filter("565")))',)
    assert found.values[0, 0] == 7.5


def test_ids_of_calculated_traces_begin_with_the_sign_and_nest_without_it() -> None:
    traces = _traces(a=[1.0, 2.0])
    for formula, identity in (
        ('filter("")', ",name=a,"),
        ('norm(fill(filter("")))', "@norm(fill(,name=a,))"),
        ('fill(ave(filter("")))', '@fill(ave(filter("")))'),
        ('-filter("")', "@-(,name=a,)"),
        ('2 * filter("")', "@(2 * ,name=a,)"),
    ):
        assert evaluate(formula, lambda _: traces).ids == (identity,)


def test_a_fold_by_params_gives_a_trace_for_each_group() -> None:
    found = evaluate('sum(filter(""), "config")', _grid)
    assert found.ids == ('@sum(filter(""), "config") of ,config=565,', '@sum(filter(""), "config") of ,config=gpu,')
    assert found.values.tolist() == [[4.0, 6.0], [30.0, 50.0]]
    assert evaluate('sum(filter(""), "arch", "config")', _grid).values.tolist() == _GRID.values.tolist()


def test_folds_by_params_are_paired_by_these() -> None:
    found = evaluate('ave(filter("gpu"), "arch") / ave(filter("565"), "arch")', _grid)
    assert found.origins == (",arch=arm,", ",arch=x86,")
    assert found.values.tolist() == [[10.0, 5.0], [20 / 3, 10.0]]


def test_traces_without_the_param_are_in_no_group() -> None:
    traces = Traces((",a=1,b=2,", ",a=1,"), np.array([[1.0], [5.0]]))
    assert evaluate('max(filter(""), "b")', lambda _: traces).values.tolist() == [[1.0]]
    assert len(evaluate('max(filter(""), "b")', lambda _: _traces())) == 0


@pytest.mark.parametrize("fold", ["ave", "sum", "min", "max", "std", "count", "geo"])
def test_a_group_has_the_values_of_the_fold_of_its_traces(fold: str) -> None:
    groups = evaluate(f'{fold}(filter(""), "arch")', _grid).values
    for row, arch in zip(groups, ("arm", "x86"), strict=True):
        assert row.tolist() == evaluate(f'{fold}(filter("arch={arch}"))', _grid).values[0].tolist()


def test_a_column_without_values_folds_to_missing_and_counts_as_nought() -> None:
    traces = _traces(a=[1.0, _NAN], b=[3.0, _NAN])
    for name, value in (("ave", 2), ("sum", 4), ("min", 1), ("max", 3), ("geo", 3**0.5), ("std", 1)):
        (row,) = _value(f'{name}(filter(""))', traces)
        assert row[0] == pytest.approx(value)
        assert np.isnan(row[1])
    assert _value('count(filter(""))', traces) == [[2.0, 0.0]]


def test_norm_scales_whatever_the_unit_unless_told_a_least_deviation() -> None:
    traces = _traces(a=[1e-9, 3e-9], b=[5.0, 5.0])
    assert _value('norm(filter(""))', traces) == [[pytest.approx(-1), pytest.approx(1)], [0.0, 0.0]]
    assert _value('norm(filter(""), 0.001)', traces)[0] == pytest.approx([-1e-9, 1e-9])


def test_overflow_is_missing() -> None:
    (row,) = _value('filter("") * 1e308', _traces(a=[1e300, 1.0]))
    assert np.isnan(row[0])
    assert row[1] == 1e308


@pytest.mark.parametrize(
    ("formula", "column", "says"),
    [
        ("", 1, "expected a function, a string or a number, got the end of the formula"),
        ("ave(2)", 5, "expected traces, got a number"),
        ('ave(filter(""), 2)', 17, "ave groups by names of params"),
        ('ave(filter(""), "name", "os")', 25, "no trace has the param 'os' to group by"),
        ('ave(ave(filter("")), "arch")', 22, "no trace has the param 'arch' to group by"),
        ('ave("a")', 5, "expected traces, got a string"),
        ("3 + 4", 1, "expected traces, got a number"),
        ('nosuch(filter(""))', 1, "there is no function 'nosuch'"),
        ('ave(filter("")', 15, "expected ',', got"),
        ('ave(filter(""', 14, "expected ',', got"),
        ('filter("a=b', 8, "is not closed"),
        ("filter(2)", 8, "filter takes a string"),
        ('filter("a", "b")', 1, "filter takes 1 arguments, not 2"),
        ('norm(filter(""), "x")', 18, "expected a number, got a string"),
        ('ave(filter("")) tail', 17, "got 'tail'"),
        ('sum(filter("") filter(""))', 16, "expected ',', got"),
        ('filter("") + "a"', 14, "expected a number or traces, got a string"),
        ('-"a"', 2, "expected a number or traces, got a string"),
        ('filter("") * (1 / 0)', 17, "the result is not a number"),
        ("ave{", 4, "has no meaning"),
        ("filter", 7, "expected '(', got"),
        ("1e999", 1, "too large"),
        ('shortcut("x")', 10, "there is no shortcut 'x'"),
    ],
)
def test_an_error_points_at_its_column(formula: str, column: int, says: str) -> None:
    with pytest.raises(QueryError) as caught:
        evaluate(formula, lambda _: _traces(a=[1.0]))
    assert f"column {column}" in caught.value.where
    assert says in caught.value.message
    assert caught.value.remedy


def test_a_query_without_quotes_is_told_where_they_belong() -> None:
    with pytest.raises(QueryError) as caught:
        evaluate("filter(a=b)", lambda _: _traces(a=[1.0]))
    assert caught.value.remedy == 'Write a query in double quotes, as in filter("a=b").'


def test_an_error_of_the_query_points_at_its_text() -> None:
    def refuse(query: str) -> Traces:
        raise QueryError("a= has no value", where=f"query {query!r}, column 2", remedy="Give one.")

    with pytest.raises(QueryError, match=r"column 12: query 'a=', column 2: a= has no value"):
        evaluate('ave(filter("a="))', refuse)


@pytest.mark.parametrize("formula", ["(" * 5000, "-" * 5000 + "1", "ave(" * 5000, "1" + "+1" * 4000])
def test_endless_depth_is_refused(formula: str) -> None:
    with pytest.raises(QueryError):
        evaluate(formula, lambda _: _traces(a=[1.0]))


def test_depth_within_the_bound_is_read() -> None:
    inner = 'filter("")'
    for _ in range(DEEPEST - 2):
        inner = f"fill({inner})"
    assert _value(inner, _traces(a=[1.0])) == [[1.0]]


def test_a_formula_that_is_too_long_is_refused() -> None:
    with pytest.raises(QueryError, match=f"Stay within {LONGEST}"):
        parse('filter("' + "a" * LONGEST + '")')


def test_a_backslash_takes_the_next_character_as_it_is() -> None:
    assert queries_of(r'filter("a=\"b\"\\")') == ('a="b"\\',)


def test_the_queries_of_a_formula_are_known_without_evaluating_it() -> None:
    formula = 'ave(filter("a=1")) / -norm(filter("a=2"), 3) + filter("a=1") * shortcut("x")'
    assert queries_of(formula) == ("a=1", "a=2")


def test_an_empty_selection_gives_an_empty_result() -> None:
    nothing = Traces((), np.empty((0, 4)))
    for formula in ('ave(filter(""))', 'norm(filter(""))', 'filter("") / filter("")', '2 * filter("")'):
        assert len(evaluate(formula, lambda _: nothing)) == 0


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='aven()",+-*/ 12.e\\filtr_', max_size=40))
def test_any_text_is_read_or_refused_with_a_column(text: str) -> None:
    refused = ""
    try:
        evaluate(text, lambda _: _traces(a=[1.0, _NAN]))
    except QueryError as error:
        refused = error.where
    assert not refused or "column" in refused


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from([name for name in FUNCTIONS if name not in {"filter", "shortcut", "ratio"}]),
    rows=st.lists(st.lists(st.floats(-1e6, 1e6) | st.just(_NAN), min_size=4, max_size=4), min_size=1, max_size=4),
)
def test_functions_give_finite_or_missing_values(name: str, rows: list[list[float]]) -> None:
    traces = Traces(tuple(f",name={row}," for row in range(len(rows))), np.array(rows))
    before = traces.values.copy()
    found = evaluate(f'{name}(filter(""))', lambda _: traces)
    assert not np.isinf(found.values).any()
    assert found.values.shape[1] == 4
    np.testing.assert_array_equal(traces.values, before)


def test_a_pivot_folds_groups_and_sums_them_up() -> None:
    found = pivot(_GRID, ["arch"], "sum", ["avg", "count"])
    assert (found.keys, found.columns) == ((",arch=arm,", ",arch=x86,"), ("avg", "count"))
    assert found.values.tolist() == [[11.5, 2], [33.5, 2]]


def test_a_pivot_takes_calculated_traces_for_those_of_their_origin() -> None:
    found = pivot(evaluate('2 * filter("")', _grid), ["arch"], "sum")
    assert found.values.tolist() == [[22, 24], [46, 88]]


def test_a_pivot_leaves_out_what_has_no_single_origin() -> None:
    traces = Traces((",a=1,", "@ave(x)"), np.array([[1.0], [5.0]]))
    assert pivot(traces, ["a"], "sum").values.tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("group_by", "operation", "summary", "says"),
    [
        ([], "sum", [], "a param to group by"),
        (["colour"], "sum", [], "no trace has the param 'colour'"),
        (["arch"], "mode", [], "no operation 'mode'"),
        (["arch"], "sum", ["bad"], "no operation 'bad'"),
    ],
)
def test_a_pivot_that_cannot_be_is_refused(group_by: list[str], operation: str, summary: list[str], says: str) -> None:
    with pytest.raises(QueryError, match=says):
        pivot(_GRID, group_by, operation, summary)
