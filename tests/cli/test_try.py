"""``knick try``: sessions of attempts on a real repository, with their record and report."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.bisect.runner.projects import project
from tests.cli.conftest import Knick, Ran
from tests.repositories import GitRepository

Make = Callable[[str], GitRepository]


@pytest.fixture
def repository(new_repository: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitRepository:
    made = new_repository("project")
    monkeypatch.chdir(made.directory)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (made.directory / ".git" / "info" / "exclude").write_text("knick-try.json\n")
    return made


def start(knick: Knick, base: str, *options: str) -> Ran:
    build = ("--results", "out.json", "--build", f"{sys.executable} build.py")
    rules = ("--error", "0.2", "--most-rounds", "6")
    return knick("try", "start", "--base", base, *build, *rules, *options, "--", sys.executable, "measure.py")


def test_a_faster_commit_is_confirmed_with_its_size_and_reported(knick: Knick, repository: GitRepository) -> None:
    base, faster = project(repository, [10.0, 9.0])
    assert start(knick, base).code == 0
    ran = knick("try", "attempt")
    assert (ran.code, ran.output.split(": ")[1]) == (0, "confirmed faster")
    assert "benchmark=render,: 9." in ran.output
    record = json.loads(Path("knick-try.json").read_text())
    assert [each["stage"] for each in record["attempts"][0]["end"]["stages"]] == ["screen", "confirm", "size"]
    report = knick("try", "report").output
    assert report.startswith("# 1 attempt, 1 confirmed\n")
    assert f"| 1 | `{faster[:12]}` | **confirmed faster** |" in report
    assert "All verdicts follow from the values in the record." in report


def test_what_is_equal_slower_or_broken_is_not_confirmed(knick: Knick, repository: GitRepository) -> None:
    base, *others = project(repository, [10.0, "10.00", 11.0, "broken"])
    start(knick, base)
    verdicts = [knick("try", "attempt", commit) for commit in others]
    assert [ran.code for ran in verdicts] == [1, 1, 1]
    assert [ran.output.split(": ")[1] for ran in verdicts] == ["not faster", "something is worse", "failed"]


def test_an_attempt_that_changes_the_benchmark_is_named_with_its_files(knick: Knick, repository: GitRepository) -> None:
    base, _ = project(repository, [10.0, 9.0])
    (cheat,) = repository.commit_files([("Speed up", {"benchmarks/parse.py": "pass\n"})])
    start(knick, base)
    ran = knick("try", "attempt", cheat)
    assert (ran.code, "changed measurement: it changes benchmarks/parse.py" in ran.output) == (1, True)
    assert ran.errors == ""


def test_a_pattern_of_ones_own_is_protected_too(knick: Knick, repository: GitRepository) -> None:
    base, faster = project(repository, [10.0, 9.0])
    start(knick, base, "--protect", "VALUE.*")
    assert "it changes value.txt" in knick("try", "attempt", faster).output


def test_values_that_were_edited_in_the_record_are_noticed(knick: Knick, repository: GitRepository) -> None:
    base, equal = project(repository, [10.0, "10.00"])
    start(knick, base)
    knick("try", "attempt", equal)
    file = Path("knick-try.json")
    record = json.loads(file.read_text())
    record["attempts"][0]["end"]["stages"][0]["benchmarks"][0]["verdict"] = "improved"
    file.write_text(json.dumps(record))
    assert "The verdicts of 1 do not follow" in knick("try", "report").output


def test_an_attempt_that_was_interrupted_counts(knick: Knick, repository: GitRepository) -> None:
    base, faster = project(repository, [10.0, 9.0])
    start(knick, base)
    file = Path("knick-try.json")
    record = json.loads(file.read_text())
    record["attempts"] = [{"commit": faster, "began": "2026-03-01T00:00:00+00:00"}]
    file.write_text(json.dumps(record))
    assert "| interrupted | `its measurements are lost" in knick("try", "report").output
    knick("try", "attempt", faster)
    stages = json.loads(file.read_text())["attempts"][1]["end"]["stages"]
    assert stages[1]["rules"]["false_positives"] == pytest.approx(0.2 / 6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("attempt", "HEAD~1"), "HEAD~1 is the base"),
        (("attempt", "nowhere"), "no commit 'nowhere'"),
        (("attempt", "--record", "none.json"), "there is no session"),
        (("start", "--base", "HEAD", "--", "true"), "there is a session already"),
        (
            ("start", "--base", "HEAD", "--record", "b.json", "--most-rounds", "3", "--", "true"),
            "cannot confirm anything",
        ),
        (("report", "--record", "value.txt"), "not the record of a session"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    knick: Knick, repository: GitRepository, arguments: tuple[str, ...], message: str
) -> None:
    base, _ = project(repository, [10.0, 9.0])
    start(knick, base)
    ran = knick("try", *arguments)
    assert (ran.code, ran.errors.count("\n")) == (2, 1)
    assert message in ran.errors


def test_edits_that_are_not_committed_are_refused(knick: Knick, repository: GitRepository) -> None:
    base, _ = project(repository, [10.0, 9.0])
    start(knick, base)
    (repository.directory / "value.txt").write_text("1.0")
    ran = knick("try", "attempt")
    assert ran.code == 2
    assert "not committed" in ran.errors
