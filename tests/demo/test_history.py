"""The repository of the demonstration: real, the same everywhere, and true to what it claims."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from knickpoint.demo.history import CHANGES, LAST_RANGE, plan
from knickpoint.demo.measurement import check_out, make_repository
from knickpoint.demo.textmill import BENCHMARKS


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    place = tmp_path_factory.mktemp("demo") / "textmill"
    return place, make_repository(place, plan())


def test_the_repository_has_eighty_commits(repository: tuple[Path, list[str]]) -> None:
    assert len(repository[1]) == 80


def test_the_hashes_are_the_same_on_every_machine(repository: tuple[Path, list[str]], tmp_path: Path) -> None:
    assert make_repository(tmp_path / "again", plan()) == repository[1]


def test_several_people_commit() -> None:
    assert len({commit.author for commit in plan()}) >= 4


def test_every_change_touches_the_module_that_it_names(repository: tuple[Path, list[str]]) -> None:
    place, hashes = repository
    for change in CHANGES:
        touched = subprocess.run(
            ["git", "-C", str(place), "show", "--format=", "--name-only", hashes[change.position]],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        assert touched == [change.path]


def test_the_revert_restores_the_module_to_the_last_byte() -> None:
    commits = list(plan())
    change = next(change for change in CHANGES if change.reverted is not None)
    assert change.reverted is not None
    assert commits[change.reverted].files[change.path] == commits[change.position - 1].files[change.path]


def test_no_commit_changes_how_it_is_measured() -> None:
    assert len({commit.files["benchmarks/suite.py"] for commit in plan()}) == 1


def test_one_change_lies_among_commits_without_results() -> None:
    commits = list(plan())
    assert [change.subject for change in CHANGES if not commits[change.position].benchmarked] == [
        "Measure wide characters as two columns"
    ]


def test_one_commit_of_the_last_range_cannot_be_compiled(repository: tuple[Path, list[str]], tmp_path: Path) -> None:
    place, hashes = repository
    good, bad = LAST_RANGE
    broken = []
    for position in range(good, bad + 1):
        check_out(place, hashes[position], tmp_path / str(position))
        build = [sys.executable, "-m", "compileall", "-q", "textmill"]
        done = subprocess.run(build, cwd=tmp_path / str(position), capture_output=True, check=False)
        broken += [position] if done.returncode else []
    assert broken == [67]
    commits = list(plan())
    assert [commit.position for commit in commits if commit.benchmarked and good <= commit.position <= bad] == [
        good,
        bad,
    ]


@pytest.mark.parametrize("position", [0, *(change.position for change in CHANGES), 79])
def test_the_benchmarks_run_at_every_variant(repository: tuple[Path, list[str]], tmp_path: Path, position: int) -> None:
    place, hashes = repository
    check_out(place, hashes[position], tmp_path)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "benchmarks/suite.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert tuple(sorted(json.loads(done.stdout))) == BENCHMARKS
