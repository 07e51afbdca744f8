"""The order of commits where no git repository says it: times, or the order given; never that of the import."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.ingest.conftest import Lab
from tests.ingest.test_commit_names import GO
from tests.ingest.test_placeholders import pytest_benchmark
from tests.repositories import GitRepository

from knickpoint.ingest import CommitOrder, ImportState, Sidecar, import_data, import_files
from knickpoint.instance import create_instance
from knickpoint.model.commit import Commit
from knickpoint.model.errors import InputError
from knickpoint.watch.alert_run.run import run_alerts

A, B, C = (letter * 40 for letter in "abc")
EARLY, LATE = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)


def untimed(lab: Lab, commit: str, value: float = 1) -> Path:
    """Write a table that names its commit, and no time."""
    return lab.write(f"{commit[:8]}.csv", f"commit,benchmark,value\n{commit},sort,{value}\n")


def timed(lab: Lab, name: str, commit: str, minute: int) -> Path:
    """Write what pytest-benchmark does: the commit, and the time of the run."""
    return lab.write(name, pytest_benchmark(commit, minute))


def times(lab: Lab, repository: str = "main") -> dict[str, datetime | None]:
    """Return commit → its time, None where it is not known."""
    commits = lab.instance.store.commits
    known = commits.repository(repository)
    found = commits.get(known, commits.line(known).slots)
    return {slotted.commit.hash: slotted.commit.time if slotted.commit.has_time else None for slotted in found}


@pytest.mark.parametrize("arrival", list(itertools.permutations(range(3))))
def test_commits_stand_in_the_order_of_their_runs(lab: Lab, arrival: tuple[int, ...]) -> None:
    files = [timed(lab, "a.json", A, 1), timed(lab, "b.json", B, 2), timed(lab, "c.json", C, 3)]
    lab.take(*(files[index] for index in arrival))
    assert lab.line("p") == [A, B, C]


def test_the_date_of_a_commit_is_that_of_its_earliest_run(lab: Lab) -> None:
    lab.take(timed(lab, "late.json", A, 9), timed(lab, "early.json", A, 3))
    assert times(lab, "p") == {A: datetime(2026, 1, 1, 0, 3, tzinfo=UTC)}


def test_a_commit_without_any_time_is_refused_with_three_remedies(lab: Lab) -> None:
    line = lab.take(untimed(lab, A)).lines()[0]
    assert all(part in line for part in ("git repository", "--time", "sidecar", "--order given"))


def test_a_refused_commit_leaves_no_trace(lab: Lab) -> None:
    lab.take(untimed(lab, A))
    assert lab.instance.store.commits.repositories() == []


def test_an_upload_without_any_time_is_refused(lab: Lab) -> None:
    sidecar = Sidecar(commit=A)
    assert import_data(lab.instance, GO.format(1).encode(), source="upload:a", stated=sidecar).failed


def test_results_without_a_time_join_a_commit_that_is_known(lab: Lab) -> None:
    lab.take(timed(lab, "a.json", A, 1))
    summary = lab.take(lab.write("go.txt", GO.format(5)), revision=A)
    assert (summary.failed, lab.line("p")) == (False, [A])


def test_a_time_that_is_given_stands_for_that_of_the_run(lab: Lab) -> None:
    lab.take(untimed(lab, B), time=LATE)
    lab.take(untimed(lab, A), time=EARLY)
    assert times(lab) == {A: EARLY, B: LATE}


def test_numbers_need_no_time_and_have_none(lab: Lab) -> None:
    lab.take(untimed(lab, "12"), untimed(lab, "7"))
    assert times(lab) == {"7": None, "12": None}


@pytest.mark.parametrize("arrival", [["7", "12", "103"], ["103", "7", "12"], ["12", "103", "7"], ["7", "103", "12"]])
def test_numbers_stand_in_their_order_whatever_order_they_arrive_in(lab: Lab, arrival: list[str]) -> None:
    for name in arrival:
        lab.take(untimed(lab, name))
    assert lab.line() == ["7", "12", "103"]


def test_a_number_behind_an_order_that_a_file_states_keeps_that_order(lab: Lab) -> None:
    lab.take(untimed(lab, "12"), untimed(lab, "7"), order=CommitOrder.GIVEN)
    lab.take(untimed(lab, "9"))
    assert lab.line() == ["9", "12", "7"]


def test_a_number_comes_before_commits_with_times(lab: Lab) -> None:
    lab.take(timed(lab, "a.json", A, 1), repository="main")
    lab.take(untimed(lab, "12"), repository="main")
    assert lab.line("main") == ["12", A]


def test_the_order_given_is_that_of_the_paths(lab: Lab) -> None:
    lab.take(untimed(lab, C), untimed(lab, A), untimed(lab, B), order=CommitOrder.GIVEN)
    assert times(lab) == {C: None, A: None, B: None}


def numbered(lab: Lab, folder: str = "") -> list[Path]:
    """Write files of the commits name:v1 to name:v11, whose numbers have no leading zeros."""
    return [
        lab.write(f"{folder}run-{number}.csv", f"commit,benchmark,value\nname:v{number},sort,{number}\n")
        for number in range(1, 12)
    ]


def test_numbered_paths_in_the_order_of_a_shell_are_no_order_of_commits(lab: Lab) -> None:
    files = numbered(lab)
    with pytest.raises(InputError, match=r"sorted as text, run-11\.csv before run-2\.csv") as raised:
        lab.take(*sorted(files), order=CommitOrder.GIVEN)
    assert "ls -v" in raised.value.remedy
    lab.take(*files, order=CommitOrder.GIVEN)
    assert [*lab.values()] == [f"name:v{number}" for number in range(1, 12)]


def test_the_files_of_a_folder_are_given_in_the_order_of_their_numbers(lab: Lab) -> None:
    lab.take(numbered(lab, "runs/")[0].parent, order=CommitOrder.GIVEN)
    assert [*lab.values()] == [f"name:v{number}" for number in range(1, 12)]


def test_the_order_given_is_that_of_the_rows(lab: Lab) -> None:
    rows = "".join(f"{commit},sort,1\n" for commit in (B, C, A))
    lab.take(lab.write("a.csv", f"commit,benchmark,value\n{rows}"), order=CommitOrder.GIVEN)
    assert lab.line() == [B, C, A]


def test_the_order_given_stands_over_times(lab: Lab) -> None:
    lab.take(timed(lab, "c.json", C, 3), timed(lab, "a.json", A, 1), order=CommitOrder.GIVEN)
    assert lab.line("p") == [C, A]


def test_what_is_given_later_stands_at_the_end_and_known_commits_stay(lab: Lab) -> None:
    lab.take(untimed(lab, C), untimed(lab, A), order=CommitOrder.GIVEN)
    lab.take(untimed(lab, B), untimed(lab, C, 2), order=CommitOrder.GIVEN)
    assert lab.line() == [C, A, B]


def test_a_time_that_is_learned_later_keeps_the_order_given(lab: Lab) -> None:
    lab.take(untimed(lab, C), untimed(lab, A), order=CommitOrder.GIVEN)
    lab.take(timed(lab, "a.json", A, 1), timed(lab, "c.json", C, 3), repository="main")
    assert list(times(lab).items()) == [
        (C, datetime(2026, 1, 1, 0, 3, tzinfo=UTC)),
        (A, datetime(2026, 1, 1, 0, 1, tzinfo=UTC)),
    ]


def test_the_order_given_changes_nothing_in_a_git_repository_and_the_import_says_so(lab: Lab) -> None:
    made = GitRepository.make(lab.directory / "mylib")
    first, second = made.commits(2)
    lab.configure('[repositories.mylib]\nlocation = "../mylib"\n')
    summary = lab.take(untimed(lab, second), untimed(lab, first), order=CommitOrder.GIVEN)
    assert lab.line("mylib") == [first, second]
    assert any("--order given changes nothing" in line for line in summary.lines())


def test_a_date_from_an_import_gives_way_to_that_of_a_run(lab: Lab) -> None:
    commits = lab.instance.store.commits
    known = commits.add_repository("p")
    slots = commits.add(known, [Commit(name, "", "", datetime.now(UTC), "") for name in (B, A)])
    commits.set_line(known, "main", list(slots.values()))
    lab.take(timed(lab, "b.json", B, 2), timed(lab, "a.json", A, 1))
    assert list(times(lab, "p").items()) == [
        (A, datetime(2026, 1, 1, 0, 1, tzinfo=UTC)),
        (B, datetime(2026, 1, 1, 0, 2, tzinfo=UTC)),
    ]


@pytest.mark.thorough
@settings(max_examples=examples(2), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arrival=st.permutations(range(16)), number=st.integers())
def test_any_order_of_import_gives_the_same_line_and_findings(
    tmp_path_factory: pytest.TempPathFactory, arrival: list[int], number: int
) -> None:
    place = tmp_path_factory.mktemp(f"order{number % 97}")
    found: list[tuple[list[str], dict[str, dict[str, float]], list[tuple[str, str, str, float]]]] = []
    for order in (list(range(16)), arrival):
        with create_instance(place / str(len(found))) as instance:
            lab = Lab(place, instance)
            files = [_run(lab, commit) for commit in range(16)]
            summary = import_files(instance, [files[commit] for commit in order])
            assert summary.count(ImportState.IMPORTED) == 16
            run_alerts(instance.store, instance.alerts)
            store = instance.store
            repository = store.commits.repository("p")
            changes = [
                (point.key, point.suspect_range.slot, point.direction, point.numbers.relative_size)
                for change in store.findings.changes(repository)
                for point in change.members
            ]
            names = {slotted.slot: slotted.commit.hash for slotted in store.commits.get(repository, list(range(16)))}
            facts = sorted((key, names[slot], way.value, size) for key, slot, way, size in changes)
            found.append((lab.line("p"), lab.values("p"), facts))
    assert found[0] == found[1]
    assert found[0][2]


def _run(lab: Lab, number: int) -> Path:
    """Write the run of one commit; from the eighth on, sorting takes longer."""
    document = pytest_benchmark(f"{(number * 7) % 16 + 1:x}".rjust(40, "e"), number)
    samples = [(1.0 if number < 8 else 1.5) + 0.001 * ((number * 5) % 3)]
    benchmark = {"fullname": "t.py::test_sort", "params": None, "param": None, "stats": {"data": samples}}
    return lab.write(f"{number}.json", document | {"benchmarks": [benchmark]})


@pytest.mark.parametrize("column", ["branch", "Branch", "BRANCH", "param:Branch"])
def test_two_branches_of_one_commit_are_refused_unless_they_are_params(lab: Lab, column: str) -> None:
    (file,) = lab.take(lab.write("t.csv", branched(column, pgo=10, plain=12))).files
    if column.startswith("param:"):
        assert (file.state, file.new_traces) == (ImportState.IMPORTED, 2)
        return
    assert file.state is ImportState.REFUSED
    problem = file.problems[0]
    assert problem.where.endswith("t.csv")
    assert problem.message == f"the commit {A[:12]} has results of two branches, 'pgo' and 'plain'"
    assert f"call the column param:{column}" in problem.remedy


def branched(column: str, **values: int) -> str:
    """Return a table of one commit with a row for each branch."""
    rows = (f"{A},2026-01-01T00:00:00Z,{name},sort,{value}\n" for name, value in values.items())
    return f"commit,time,{column},benchmark,value\n" + "".join(rows)


def test_another_branch_of_a_known_commit_is_refused_with_the_file_that_has_the_first(lab: Lab) -> None:
    (first,) = lab.take(lab.write("a.csv", branched("Branch", pgo=10))).files
    (second,) = lab.take(lab.write("b.csv", branched("Branch", plain=12))).files
    assert (first.state, second.state) == (ImportState.IMPORTED, ImportState.REFUSED)
    assert "'pgo' (from " in second.problems[0].message
    assert "a.csv) and 'plain'" in second.problems[0].message
    assert lab.values() == {A: {"sort": 10}}


def test_a_branch_by_option_is_refused_with_the_param_that_takes_its_place(lab: Lab) -> None:
    lab.take(lab.write("a.csv", branched("env:x", one=10)), branch="pgo")
    (second,) = lab.take(lab.write("b.csv", branched("env:x", one=12)), branch="plain").files
    assert second.state is ImportState.REFUSED
    assert "use --param branch=plain in place of the branch" in second.problems[0].remedy
    (again,) = lab.take(lab.write("a.csv", branched("env:x", one=11)), branch="plain").files
    assert (again.state, again.corrected) == (ImportState.IMPORTED, 1)


def test_a_re_run_of_the_same_branch_joins_the_first(lab: Lab) -> None:
    lab.take(lab.write("a.csv", "run," + branched("Branch", pgo=10).replace(A, f"1,{A}")))
    (second,) = lab.take(lab.write("b.csv", "run," + branched("Branch", pgo=12).replace(A, f"2,{A}"))).files
    assert second.rerun == 1


@pytest.mark.parametrize("branch", ["pgo", "main"])
def test_an_import_says_what_the_column_of_a_branch_became(lab: Lab, branch: str) -> None:
    lines = lab.take(lab.write("a.csv", branched("Branch", **{branch: 10}))).lines()
    note = "the column Branch became the branch of the runs (pgo), each with a line of its own"
    assert any(line.startswith(note) and "param:Branch" in line for line in lines) is (branch == "pgo")


def test_branches_of_one_commit_of_a_git_repository_are_joined_with_a_warning(
    lab: Lab, new_repository: Callable[[str], GitRepository]
) -> None:
    commit = new_repository("lib").commit("Begin")
    lab.configure('[repositories.lib]\nlocation = "../lib"\n')
    (file,) = lab.take(lab.write("t.csv", branched("branch", main=10, other=12).replace(A, commit))).files
    assert file.state is ImportState.IMPORTED
    assert "branches main, other, joined as re-runs" in "".join(problem.message for problem in file.problems)
