from __future__ import annotations

import itertools
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.ingest.conftest import Lab
from tests.ingest.test_file_import import history
from tests.published_history import PublishedHistory, commit_hash

from knickpoint.ingest import ImportState
from knickpoint.ingest.settings import CommitOrder

A, B, C, D = ("abcd"[index] * 40 for index in range(4))


def dated(lab: Lab, commit: str, minute: int) -> Path:
    """Write a CSV file of one commit with its time."""
    return lab.write(
        f"{commit}.csv", f"commit,time,benchmark,value\n{commit},2026-01-01T00:{minute:02}:00Z,sort,{minute}\n"
    )


@pytest.mark.parametrize("arrival", list(itertools.permutations(range(3))))
def test_single_commits_stand_in_order_of_time_whatever_the_order_of_arrival(
    lab: Lab, arrival: tuple[int, ...]
) -> None:
    files = [dated(lab, A, 3), dated(lab, B, 1), dated(lab, C, 2)]
    for index in arrival:
        lab.take(files[index])
    assert lab.line() == [B, C, A]


@pytest.mark.parametrize("arrival", list(itertools.permutations(range(3))))
def test_histories_keep_the_order_that_each_file_tells(lab: Lab, arrival: tuple[int, ...]) -> None:
    files = [
        lab.write("one.js", history((A, 1, 1), (C, 5, 1))),
        lab.write("two.js", history((B, 3, 1), (C, 5, 1), (D, 6, 1))),
        lab.write("three.js", history((A, 1, 2), (D, 6, 2))),
    ]
    for index in arrival:
        lab.take(files[index])
    assert lab.line("o/r") == [A, B, C, D]


def named(lab: Lab, commit: str, minute: int) -> Path:
    """Write a file of one run that names its commit, and states when it ran."""
    context = {"date": f"2026-01-01T00:{minute:02}:00+00:00", "host_name": "h", "executable": "x", "num_cpus": 4}
    result = {
        "name": "sort",
        "run_type": "iteration",
        "iterations": 1,
        "real_time": 1,
        "cpu_time": 1,
        "time_unit": "ns",
    }
    lab.write(f"{commit[0]}{minute}.json.sidecar.json", {"commit": commit})
    return lab.write(f"{commit[0]}{minute}.json", {"context": context, "benchmarks": [result]})


@pytest.mark.parametrize("arrival", list(itertools.permutations(range(4))))
def test_commits_that_runs_name_stand_by_their_earliest_run(lab: Lab, arrival: tuple[int, ...]) -> None:
    files = [named(lab, A, 1), named(lab, A, 30), named(lab, B, 20), named(lab, B, 40)]
    for index in arrival:
        lab.take(files[index])
    assert lab.line() == [A, B]


@pytest.mark.parametrize("arrival", list(itertools.permutations(range(3))))
def test_who_describes_a_commit_knows_its_time_better_than_a_run(lab: Lab, arrival: tuple[int, ...]) -> None:
    files = [named(lab, A, 1), lab.write("a.js", history((A, 3, 1))), lab.write("b.js", history((B, 2, 1)))]
    for index in arrival:
        lab.take(files[index], repository="o/r")
    assert lab.line("o/r") == [B, A]


@pytest.mark.parametrize("arrival", list(itertools.permutations(range(3))))
def test_a_branch_leaves_its_base_at_the_same_place_whatever_came_first(lab: Lab, arrival: tuple[int, ...]) -> None:
    files = [(dated(lab, B, 2), "main"), (dated(lab, A, 1), "main"), (dated(lab, D, 5), "feature")]
    lab.take(dated(lab, C, 9), branch="main")
    for index in arrival:
        lab.take(files[index][0], branch=files[index][1])
    assert lab.line("main", "feature") == [A, B, D]


def test_a_repository_is_asked_for_by_the_name_that_it_has(lab: Lab) -> None:
    lab.take(lab.write("a.js", history((A, 1, 1))))
    lab.take(dated(lab, B, 2), repository="o/r")
    assert lab.line("o/r") == [A, B]


def test_numbers_stand_in_their_order(lab: Lab) -> None:
    for number in ("100", "9", "23"):
        lab.take(lab.skia(f"{number}.json", f"CP:{number}", sort=1))
    assert lab.line() == ["9", "23", "100"]


def test_a_prefix_of_a_known_commit_is_that_commit(lab: Lab) -> None:
    lab.take(lab.skia("a.json", A, sort=1))
    lab.take(lab.skia("b.json", A[:8], sort=3))
    assert lab.values() == {A: {"sort": 2}}


def test_a_prefix_of_two_commits_refuses_its_file_and_no_other(lab: Lab) -> None:
    one, other = "abcdef1" + "0" * 33, "abcdef1" + "1" * 33
    lab.take(lab.skia("a.json", one, sort=1), lab.skia("b.json", other, sort=1))
    summary = lab.take(lab.skia("c.json", "abcdef1", sort=1), lab.skia("d.json", A, sort=1))
    assert [file.state for file in summary.files] == [ImportState.REFUSED, ImportState.IMPORTED]
    assert "fits more than one commit" in summary.lines()[0]


FULL = "3f2a1b9c" + "0d1e2f3a" * 4


@pytest.mark.parametrize("arrival", list(itertools.permutations((FULL, FULL[:8], FULL[:12].upper()))))
def test_a_commit_is_one_under_its_hash_and_its_abbreviations_whatever_came_first(
    lab: Lab, arrival: tuple[str, ...]
) -> None:
    for minute, name in enumerate(arrival):
        lab.take(dated(lab, name, minute))
    assert lab.values() == {FULL: {"sort": 1}}
    assert lab.line() == [FULL]


def test_a_commit_that_gets_its_full_hash_is_named(lab: Lab) -> None:
    lab.take(dated(lab, FULL[:8], 1))
    assert lab.take(dated(lab, FULL, 1)).notes == (
        "1 abbreviated commit got the full hash: 3f2a1b9c is 3f2a1b9c0d1e2f3a now",
    )


@pytest.mark.parametrize("stored", ["", FULL[:7], FULL[:9], FULL])
def test_a_commit_is_one_under_its_hash_and_its_abbreviation_in_one_file(lab: Lab, stored: str) -> None:
    if stored:
        lab.take(dated(lab, stored, 1), params={"benchmark": "0"})
    rows = "".join(f"{name},2026-01-01,{place},1\n" for place, name in enumerate((FULL[:9], FULL, FULL[:7].upper())))
    assert not lab.take(lab.write("a.csv", f"commit,time,benchmark,value\n{rows}")).failed
    assert lab.values() == {FULL: {"0": 1, "1": 1, "2": 1}}


def test_an_abbreviation_of_two_commits_of_its_file_is_refused(lab: Lab) -> None:
    rows = "".join(f"{name},2026-01-01,sort,1\n" for name in ("abcdef1", "abcdef10", "abcdef11"))
    summary = lab.take(lab.write("a.csv", f"commit,time,benchmark,value\n{rows}"))
    assert "'abcdef1' fits more than one commit: abcdef10, abcdef11. Write more of its digits" in summary.lines()[0]


def test_an_abbreviation_that_came_before_two_commits_of_a_file_stays_apart(lab: Lab) -> None:
    lab.take(dated(lab, "abcdef1", 0))
    rows = "".join(f"{name},2026-01-02,sort,1\n" for name in ("abcdef10", "abcdef11"))
    summary = lab.take(lab.write("a.csv", f"commit,time,benchmark,value\n{rows}"))
    assert "abcdef1 of earlier results stays apart: 2 commits" in summary.notes[0]
    assert lab.line() == ["abcdef1", "abcdef10", "abcdef11"]


def test_a_hash_in_the_name_of_a_file_is_the_commit_that_earlier_results_abbreviate(lab: Lab) -> None:
    lab.take(dated(lab, FULL[:8], 1))
    lab.take(lab.write(f"{FULL}.csv", "benchmark,value\nparse,7\n"))
    assert lab.values() == {FULL: {"sort": 1, "parse": 7}}


def test_a_stated_hash_in_capitals_is_the_commit_of_the_small_one(lab: Lab) -> None:
    lab.take(dated(lab, FULL, 1))
    lab.take(lab.write("a.csv", "benchmark,value\nparse,7\n"), revision=FULL.upper())
    assert lab.values() == {FULL: {"sort": 1, "parse": 7}}


@pytest.mark.parametrize(("long", "short"), [("12345678", "1234567"), ("v2024.10", "v2024.1")])
def test_a_number_or_a_name_is_no_abbreviation_of_a_longer_one(lab: Lab, long: str, short: str) -> None:
    for name in (long, short):
        path = lab.write(f"{name}.csv", f"commit,benchmark,value\n{name},sort,{len(name)}\n")
        lab.take(path, order=CommitOrder.GIVEN)
    assert lab.values() == {long: {"sort": len(long)}, short: {"sort": len(short)}}


def test_a_commit_with_an_impossible_name_refuses_its_file(lab: Lab) -> None:
    summary = lab.take(lab.skia("a.json", "x" * 300, sort=1))
    assert "cannot be a commit" in summary.lines()[0]


def test_a_branch_has_a_line_of_its_own(lab: Lab) -> None:
    lab.take(dated(lab, A, 1), dated(lab, B, 2), dated(lab, C, 9))
    lab.take(dated(lab, D, 5), branch="feature")
    assert lab.line() == [A, B, C]
    assert lab.line("main", "feature") == [A, B, D]


def test_a_branch_that_is_merged_moves_to_the_default_line(lab: Lab) -> None:
    lab.take(dated(lab, A, 1))
    for branch in ("feature", "main"):
        document = {"version": 1, "git_hash": B, "key": {"branch": branch}}
        results = [{"key": {"benchmark": "sort", "unit": "ms"}, "measurement": 7}]
        lab.take(
            lab.write(f"{branch}.json", document | {"results": results}), time=datetime(2026, 1, 1, 0, 2, tzinfo=UTC)
        )
    assert lab.line() == [A, B]


def test_the_only_branch_that_results_name_is_the_default_one(lab: Lab) -> None:
    lab.take(dated(lab, A, 1), dated(lab, B, 2), branch="develop")
    assert lab.line() == [A, B]


def test_authors_and_subjects_come_from_the_results(lab: Lab) -> None:
    lab.take(lab.write("data.js", PublishedHistory().text()))
    commits = lab.instance.store.commits
    first = commits.get(commits.repository("org/project"), [0])[0].commit
    assert (first.author, first.subject) == ("Author 0", "Change 0")
    assert first.url.endswith(f"/commit/{commit_hash(0)}")


def test_a_commit_whose_time_is_yet_to_come_is_named_as_it_stays_the_newest(lab: Lab) -> None:
    lab.take(dated(lab, A, 3))
    late = lab.write("late.csv", f"commit,time,benchmark,value\n{B},2101-02-03T04:05:00Z,sort,1\n")
    lines = lab.take(late).lines()
    assert any(
        f"commit {B[:12]} has a time in the future, 2101-02-03 04:05, and stays the newest" in line for line in lines
    ), lines
    assert lab.line() == [A, B]
    assert not any("in the future" in line for line in lab.take(dated(lab, C, 4)).lines())


def test_a_file_with_the_newest_commit_first_is_no_history_that_runs_backwards(lab: Lab) -> None:
    rows = [f"{commit},2026-01-01T00:0{minute}:00Z,sort,1\n" for minute, commit in enumerate((A, B, C, D))]
    lab.take(lab.write("newest-first.csv", "commit,commit_time,benchmark,value\n" + "".join(reversed(rows))))
    assert lab.line() == [A, B, C, D]


def test_a_file_whose_commits_are_out_of_order_by_the_times_of_their_runs_says_which_order_counts(lab: Lab) -> None:
    minutes = {A: 4, B: 2, C: 3, D: 1}
    rows = [f"{commit},2026-01-01T00:0{minute}:00Z,sort,1\n" for commit, minute in minutes.items()]
    lines = lab.take(lab.write("shuffled.csv", "commit,time,benchmark,value\n" + "".join(rows))).lines()
    assert any("is not that of their times; the order of the file counts" in line for line in lines), lines
    assert lab.line() == [A, B, C, D]


def of_branch(lab: Lab, name: str, *rows: tuple[str, str, int]) -> Path:
    """Write a table of commits, their branches and values, a minute apart."""
    lines = [
        f"{commit},2026-01-01T00:0{at}:00Z,{branch},sort,{value}\n" for at, (commit, branch, value) in enumerate(rows)
    ]
    return lab.write(name, "commit,commit_time,branch,benchmark,value\n" + "".join(lines))


def test_the_main_branch_is_the_default_one_also_where_another_comes_first_in_the_file(lab: Lab) -> None:
    lab.take(of_branch(lab, "a.csv", (A, "dev", 1), (B, "main", 2), (C, "dev", 3), (D, "main", 4)))
    assert lab.values() == {B: {"sort": 2}, D: {"sort": 4}}


def test_results_of_main_on_the_line_of_a_branch_that_came_first_are_named(lab: Lab) -> None:
    assert not any("came first" in line for line in lab.take(of_branch(lab, "a.csv", (A, "dev", 1))).lines())
    lines = lab.take(of_branch(lab, "b.csv", (B, "main", 2))).lines()
    assert any(
        "that of the branch 'dev', whose results came first, so those of 'main' are on it" in line for line in lines
    )
