from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.ingest import Rename
from knickpoint.ingest.naming_rules import NamingRules, volatile_params
from knickpoint.ingest.results_file import digest_run, run_identity
from knickpoint.model.errors import InputError, ParamsError
from knickpoint.model.report import Result, ResultTable, RunReport

names = st.text(st.sampled_from("abc=,%é "), min_size=1, max_size=4).filter(lambda text: text == text.strip())
params = st.dictionaries(names, names, min_size=1, max_size=4)


def table(*each: dict[str, str]) -> ResultTable:
    return ResultTable.of(Result(params, (float(index),)) for index, params in enumerate(each))


def named(naming: NamingRules, *each: dict[str, str]) -> list[dict[str, str]]:
    return [dict(result.params) for result in naming.apply(table(*each))[0]]


def test_without_rules_a_table_stays_as_it_is() -> None:
    results = table({"benchmark": "sort"})
    assert NamingRules().apply(results) == (results, ())


@given(params, params)
def test_added_params_override_those_of_the_file(params: dict[str, str], added: dict[str, str]) -> None:
    assert named(NamingRules(added), params) == [{**params, **added}]


@given(params, names)
def test_a_dropped_param_is_gone_from_all_keys(params: dict[str, str], dropped: str) -> None:
    after, warnings = NamingRules(dropped=[dropped]).apply(table({**params, "keep": "1", dropped: "x"}))
    assert [dict(result.params) for result in after] == [
        {name: value for name, value in (params | {"keep": "1"}).items() if name != dropped}
    ]
    assert len(warnings) == 1


def test_names_that_are_encoded_are_dropped_too() -> None:
    assert named(NamingRules(dropped=["a,b"]), {"a,b": "1", "c": "2"}) == [{"c": "2"}]


def test_a_key_of_nothing_but_dropped_params_is_refused() -> None:
    with pytest.raises(InputError, match="nothing is left"):
        NamingRules(dropped=["pid"]).apply(table({"pid": "1"}))


def test_a_refused_param_refuses_the_file() -> None:
    with pytest.raises(InputError, match="'pid' changes with every run"):
        NamingRules(refused=["pid"]).apply(table({"benchmark": "sort", "pid": "1"}))


def test_a_rename_needs_all_its_params() -> None:
    rename = Rename({"benchmark": "sort", "size": "10"}, {"benchmark": "quicksort", "n": "10"})
    naming = NamingRules(renames=[rename])
    assert named(naming, {"benchmark": "sort", "size": "10", "os": "x"}, {"benchmark": "sort", "size": "20"}) == [
        {"benchmark": "quicksort", "n": "10", "os": "x"},
        {"benchmark": "sort", "size": "20"},
    ]


def test_renames_follow_each_other() -> None:
    renames = [Rename({"b": "1"}, {"b": "2"}), Rename({"b": "2"}, {"b": "3"})]
    assert named(NamingRules(renames=renames), {"b": "1"}) == [{"b": "3"}]


def test_an_added_param_that_breaks_the_rules_is_refused() -> None:
    with pytest.raises(ParamsError):
        NamingRules({"machine": " m1"}).apply(table({"benchmark": "sort"}))


@pytest.mark.parametrize(
    ("value", "volatile"),
    [
        ("123e4567-e89b-12d3-a456-426614174000", True),
        ("2026-01-31T12:00:00Z", True),
        ("1767225600", True),
        ("1767225600123", True),
        ("1024", False),
        ("2026", False),
        ("sort", False),
    ],
)
def test_values_that_name_a_moment_are_noticed(value: str, *, volatile: bool) -> None:
    assert volatile_params([("c1", table({"benchmark": "sort", "x": value}))]) == (("x",) if volatile else ())


def identity(**facts: str) -> str:
    run = RunReport(table({"benchmark": "sort"}), identity=facts.get("id", ""), entry=facts.get("entry", ""))
    added = {"machine": facts["machine"]} if "machine" in facts else {}
    return run_identity(
        run,
        commit=facts.get("commit", "1"),
        source=facts.get("source", "/a.json"),
        ci=facts.get("ci", ""),
        params=added,
    )


def test_identities_differ_where_executions_do() -> None:
    cases: list[dict[str, str]] = [
        {},
        {"commit": "2"},
        {"source": "/b.json"},
        {"ci": "github/1"},
        {"ci": "github/2"},
        {"id": "x"},
        {"id": "y"},
        {"entry": "x"},
        {"machine": "m1"},
        {"machine": "m2"},
    ]
    assert len({identity(**case) for case in cases}) == len(cases)


def test_a_given_id_counts_wherever_its_file_lies() -> None:
    assert identity(id="x", source="/a.json", commit="1") == identity(id="x", source="/b.json", commit="2")


def test_the_folder_does_not_matter_in_a_ci() -> None:
    assert identity(ci="github/1", source="/home/one/a.json") == identity(ci="github/1", source="/home/two/a.json")


def test_the_digest_of_a_run_changes_with_its_values() -> None:
    run, other = (RunReport(ResultTable.of([Result({"b": "1"}, (value,))])) for value in (1.0, 2.0))
    assert digest_run(run) != digest_run(other)
    assert digest_run(run) == digest_run(RunReport(ResultTable.of([Result({"b": "1"}, (1.0,))])))


@pytest.mark.parametrize(
    ("commits", "builds", "volatile"),
    [("abcde", "12345", ("build",)), ("abcde", "12341", ()), ("abcd", "1234", ()), ("aabbccdd", "12345678", ())],
    ids=["other values at each of five commits", "two commits share a value", "four commits", "runs of four commits"],
)
def test_a_param_that_no_two_of_five_commits_share_is_volatile(
    commits: str, builds: str, volatile: tuple[str, ...]
) -> None:
    runs = [
        (commit, table({"benchmark": "sort", "build": build})) for commit, build in zip(commits, builds, strict=True)
    ]
    assert volatile_params(runs) == volatile
