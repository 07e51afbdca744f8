"""``knick compare``: two commits of a real repository, built and measured in turns, and one clear line where that fails."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from tests.bisect.runner.projects import project
from tests.cli.conftest import Knick, Ran
from tests.repositories import GitRepository

from knickpoint.instance import create_instance, open_instance


def _compare(knick: Knick, *options: str, most: int = 4) -> Ran:
    """Compare the last two commits with a false-positive rate that few rounds can reach."""
    build = ("--results", "out.json", "--build", f"{sys.executable} build.py")
    rules = ("--false-positives", "0.3", "--most-rounds", str(most), "--find", "0.5")
    return knick("compare", "HEAD~1", "HEAD", *build, *rules, *options, "--", sys.executable, "measure.py")


def test_a_slower_commit_is_regressed(knick: Knick, repository: GitRepository) -> None:
    base, head = project(repository, [10.0, 11.0])
    ran = _compare(knick, "--format", "json", "--fail-on", "unstable")
    rows = json.loads(ran.output)
    assert ran.code == 1
    assert [row["fails"] for row in rows] == [True, True]
    assert [(row["verdict"], row["trace"]) for row in rows] == [
        ("regressed", ",benchmark=render,"),
        ("regressed", ",benchmark=load,"),
    ]
    assert rows[0]["relative_size"] == pytest.approx(0.1, abs=0.005)
    assert (rows[0]["base"], rows[0]["head"]) == (base, head)
    assert ran.errors.count(": build") == 2  # each side is built once
    assert repository.git("status", "--short") == ""


def test_equal_commits_may_be_merged(knick: Knick, repository: GitRepository) -> None:
    project(repository, [10.0, "10.00"])
    ran = _compare(knick, "--minimum-effect", "0.02", "--report", "markdown=comment.md")
    assert ran.code == 0
    assert ran.output.startswith("May be merged: nothing regressed, of 2 benchmarks.\nBase ")
    assert "0 regressed, 0 improved, 2 unchanged." in ran.output
    assert "May be merged" in Path("comment.md").read_text()


def test_both_sides_are_profiled_after_the_verdict_and_the_profiles_are_kept(
    knick: Knick, repository: GitRepository, tmp_path: Path
) -> None:
    project(repository, [10.0, 11.0])
    kept = tmp_path / "kept"
    ran = _compare(knick, "--profiler", "cprofile", "--profiles", str(kept))
    assert ran.code == 1
    assert "2 regressed" in ran.output
    assert f"knick profile diff {kept}/before {kept}/after --html FILE draws them." in ran.output
    assert [len(list((kept / side).iterdir())) for side in ("before", "after")] == [5, 5]
    assert "total changed by" in ran.output or " in " in ran.output.splitlines()[-2]


def test_a_profiler_that_is_missing_changes_no_verdict(knick: Knick, repository: GitRepository) -> None:
    project(repository, [10.0, 11.0])
    ran = _compare(knick, "--profiler", "no-such-profiler {out}")
    assert ran.code == 1
    assert "Not profiled: the profiler 'no-such-profiler' is not installed." in ran.errors


_PARTS = ("load", "render", "machine")
_TESTS = """
import os, pathlib
render = float(pathlib.Path("render.txt").read_text())
noise = 0.001 * (int(os.environ["KNICKPOINT_PROBE"].split("-")[1]) % 5)
load = pathlib.Path("load.xml").read_text()
cases = "".join(f'<testcase name="{name}" time="{value}"/>' for name, value in
                (("render", render + noise), ("machine", render / 2 + noise)))
pathlib.Path("out.json").write_text(f'<testsuite name="speed"><testcase name="load" time="3.5">{load}</testcase>{cases}</testsuite>')
"""


def test_what_failed_was_accepted_or_is_a_canary_is_shown_as_that(knick: Knick, repository: GitRepository) -> None:
    config = '[canaries.machine]\nquery = "benchmark=machine"\n'
    accepted = "Render with shadows\n\nKnickpoint-Accept: render, shadows cost a tenth\nKnickpoint-Accept: parse, gone"
    files = {"measure.py": _TESTS, "build.py": "", "knickpoint.toml": config}
    broken = "<error message='out of memory'/>"
    repository.commit_files(
        [
            ("Render plainly", {**files, "load.xml": "", "render.txt": "10"}),
            (accepted, {"load.xml": broken, "render.txt": "11"}),
        ]
    )
    ran = _compare(knick, "--format", "json", "--report", "markdown=comment.md")
    rows = {part: row for row in json.loads(ran.output) for part in _PARTS if part in row["trace"]}
    assert ran.code == 1
    assert rows["load"]["reason"] == "failed: out of memory"
    assert (rows["render"]["verdict"], rows["render"]["accepted"]) == ("regressed", "shadows cost a tenth")
    assert rows["machine"]["decides"] is False
    assert re.search("the canary .*machine.* regressed", ran.errors)
    assert "'parse, gone', which names no benchmark" in ran.errors
    assert "Do not merge: 1 failed, of 2 benchmarks." in Path("comment.md").read_text(encoding="utf-8")


def test_a_small_change_is_planned_and_what_it_would_need_is_said(knick: Knick, repository: GitRepository) -> None:
    project(repository, [10.0, "10.00"])
    ran = _compare(knick, "--find", "0.0001", "--false-positives", "0.01", most=8)
    assert re.search(
        r"plan: \d[\d,]* rounds, .*, to find or exclude a change of 0\.01 % with a power of 95 %,", ran.errors
    )
    assert "; at most 8 are made" in ran.errors
    assert re.search(r"render is not decided: .* it needs about \d[\d,]* more rounds, \d", ran.errors)


_FILTERED = """
import json, os, random, re, sys
pattern, commit = re.compile(sys.argv[1]), os.environ["KNICKPOINT_COMMIT"]
noise = {"steady (a)": 0.0001, "wild": 0.05}
log = open(os.path.expanduser("~/measured.txt"), "a+")
log.seek(0)
random.seed(len(log.readlines()))  # the same noise in each run of the test
chosen = [name for name in noise if pattern.search(name)]
rows = [{"benchmark": name, "commit": commit, "value": 10 * (1 + random.gauss(0, noise[name])), "unit": "ms"}
        for name in chosen]
print(len(chosen), file=log)
json.dump(rows, open("out.json", "w"))
"""


@pytest.mark.long
def test_only_benchmarks_that_are_not_decided_are_measured_where_the_command_can_choose(
    knick: Knick, repository: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    repository.commit_files([("One", {"measure.py": _FILTERED}), ("Two", {"other.txt": ""})])
    rules = ("--most-rounds", "14", "--find", "0.01", "--false-positives", "0.1", "--minutes", "5")
    command = (sys.executable, "measure.py", "{benchmarks}")
    ran = knick("compare", "HEAD~1", "HEAD", "--results", "out.json", *rules, "--", *command)
    measured = [int(line) for line in (tmp_path / "measured.txt").read_text().splitlines()]
    assert measured[:4] == [2] * 4
    assert measured[-2:] == [1] * 2
    assert "wild is not decided: to find or exclude a change of 1 %, it needs about" in ran.errors
    assert "steady (a) is not decided" not in ran.errors


def test_the_history_of_an_instance_plans_before_the_first_round(
    knick: Knick, repository: GitRepository, tmp_path: Path
) -> None:
    project(repository, [10.0, "10.00"])
    place = tmp_path / "instance"
    create_instance(place)
    lines = [
        f"{number:040x},2026-01-{number:02}T00:00:00Z,{name},ms,{10 + 0.2 * (-1) ** number}"
        for number in range(1, 21)
        for name in ("render", "load")
    ]
    (tmp_path / "history.csv").write_text("\n".join(["commit,time,benchmark,unit,value", *lines]) + "\n")
    assert knick("import", "--instance", place, tmp_path / "history.csv").code == 0
    ran = _compare(knick, "--instance", str(place), "--find", "0.01", "--false-positives", "0.01")
    before, _, _ = ran.errors.partition("round 1:")
    assert re.search(r"plan: \d{3} rounds, to find or exclude a change of 1 %", before)


def test_a_side_that_cannot_be_built_is_named(knick: Knick, repository: GitRepository) -> None:
    project(repository, [10.0, "broken"])
    ran = _compare(knick)
    assert ran.code == 2
    assert "the head cannot be measured: build ended with exit code 1" in ran.errors


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("HEAD", "main", "--", "true"), 2, "HEAD and main are the same commit"),
        (("nowhere", "HEAD", "--", "true"), 2, "the repository has no commit 'nowhere'"),
        (("HEAD~1", "HEAD"), 2, "there is no command to measure with"),
        (
            ("HEAD~1", "HEAD", "--", "sh", "-c", "exit 125"),
            3,
            "the base cannot be measured: test ended with exit code 125",
        ),
        (("HEAD~1", "HEAD", "--", "sh", "-c", "exit 4"), 2, "the base cannot be measured: test ended with exit code 4"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    knick: Knick, repository: GitRepository, arguments: tuple[str, ...], code: int, message: str
) -> None:
    project(repository, [1.0, 2.0])
    ran = knick("compare", *arguments)
    assert (ran.code, ran.output) == (code, "")
    assert message in ran.errors
    assert ran.errors.count("\n") == 1


def test_too_few_rounds_are_no_verdict(knick: Knick, repository: GitRepository) -> None:
    project(repository, [10.0, 11.0])
    ran = _compare(knick, most=1)
    assert ran.code == 3
    assert ran.output.startswith("No verdict: there are too few data to judge 2 benchmarks.\n")


def test_the_base_may_be_where_a_branch_left_another(knick: Knick, repository: GitRepository) -> None:
    base, _ = project(repository, [10.0, 12.0])
    repository.git("switch", "--quiet", "--create", "patch", base)
    repository.git("reset", "--quiet", "--hard")
    head = repository.commit("Change nothing")
    build = ("--results", "out.json", "--build", f"{sys.executable} build.py", "--most-rounds", "1")
    ran = knick(
        "compare", "--merge-base", "main", "HEAD", *build, "--format", "json", "--", sys.executable, "measure.py"
    )
    row = json.loads(ran.output)[0]
    assert (row["base"], row["head"]) == (base, head), ran.errors


def test_kept_rounds_are_judged_again_as_they_were(knick: Knick, repository: GitRepository) -> None:
    base, head = project(repository, [10.0, 11.0])
    ran = _compare(knick, "--keep", "kept", "--format", "json")
    rules = ("--false-positives", "0.3", "--most-rounds", "4", "--find", "0.5", "--format", "json")
    again = knick("compare", base, head, "--rounds", "kept/rounds.json", *rules)
    assert (again.code, json.loads(again.output)) == (ran.code, json.loads(ran.output))
    other = knick("compare", head, base, "--rounds", "kept/rounds.json", *rules)
    assert (other.code, other.output) == (2, "")
    assert f"the rounds have another base than {head[:12]}: {base[:12]}" in other.errors
    assert "the directory is not empty" in _compare(knick, "--keep", "kept").errors


def test_what_was_kept_of_the_base_is_imported_as_measured_beside_the_head(
    knick: Knick, repository: GitRepository, tmp_path: Path
) -> None:
    base, head = project(repository, [10.0, 11.0])
    _compare(knick, "--keep", "kept", "--param", "machine=a")
    knick("init", tmp_path / "instance", "--repository", f"project={repository.directory}")
    assert knick("import", "kept/base", "--instance", tmp_path / "instance").code == 0
    with open_instance(tmp_path / "instance") as instance:
        (repository_of_store,) = instance.store.commits.repositories()
        (slotted,) = instance.store.commits.get(
            repository_of_store, instance.store.commits.line(repository_of_store, "").slots[:1]
        )
        runs = instance.store.runs.at(repository_of_store, [slotted.slot])
    assert slotted.commit.hash == base
    assert len(runs) == 3  # the rounds that were needed
    assert {run.environment["measured beside"] for run in runs} == {head}


_ROUNDS_WITHOUT_A_NUMBER = """{"base": "BASE", "head": "HEAD", "failures": 0, "benchmarks": [
{"trace": ",benchmark=a,", "unit": "ms", "better": "lower", "warm": [1, 1], "base": [1e999], "head": [1]}]}"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "not the rounds of a comparison: not an object"),
        ('{"base": "BASE", "head": "HEAD", "failures": 0}', "not the rounds of a comparison: 'benchmarks'"),
        (
            _ROUNDS_WITHOUT_A_NUMBER,
            "expected a number, got 'inf'",
        ),
    ],
)
def test_rounds_that_were_not_kept_by_a_comparison_are_one_line(
    knick: Knick, repository: GitRepository, text: str, message: str
) -> None:
    base, head = project(repository, [10.0, 11.0])
    Path("rounds.json").write_text(text.replace("BASE", base).replace("HEAD", head))
    ran = knick("compare", base, head, "--rounds", "rounds.json")
    assert (ran.code, ran.output, ran.errors.count("\n")) == (2, "", 1)
    assert message in ran.errors
