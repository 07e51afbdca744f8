"""``knick bisect``: a real search in a real repository, and one clear line where there can be none."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.bisect.runner.projects import project
from tests.cli.conftest import Knick
from tests.repositories import GitRepository

from knickpoint.cli.commands.bisect.search import trace_key_of


@pytest.fixture(scope="module")
def three_commits(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    """Return a repository with three commits, and a branch that begins elsewhere; no test changes it."""
    made = GitRepository.make(tmp_path_factory.mktemp("three") / "project")
    project(made, ["1", "1", "1"])
    made.git("switch", "--quiet", "--orphan", "aside")
    made.commit("Begin elsewhere")
    made.switch("main")
    return made


def _measuring(*options: str) -> list[str]:
    return [
        "--results",
        "out.json",
        "--build",
        f"{sys.executable} build.py",
        *options,
        "--",
        sys.executable,
        "measure.py",
    ]


def test_a_test_that_fails_is_traced_to_its_commit(knick: Knick, repository: GitRepository) -> None:
    hashes = project(repository, ["1", "1", "0"])
    check = "raise SystemExit(open('value.txt').read() != '1')"
    ran = knick("bisect", f"{hashes[0]}..HEAD", "--format", "json", "--", sys.executable, "-c", check)
    found = json.loads(ran.output)
    assert ran.code == 0
    assert (found["state"], found["culprit"], found["range"]) == ("culprit", hashes[2], [hashes[2]])
    assert {probe["outcome"] for probe in found["probes"]} == {"passed", "failed"}
    assert set(found["probes"][0]) >= {"commit", "device", "value", "reason", "seconds"}
    again = knick("bisect", f"{hashes[0]}..HEAD", "--resume", "--", sys.executable, "-c", check)
    assert again.code == 0
    assert again.output.startswith(f"Culprit: {hashes[2]}, with a probability of ")
    assert "Ada, 2023-11-14: Set the value to 0" in again.output
    assert again.errors.count("\n") == len(found["probes"])  # all of them are of the journal


@pytest.mark.long
def test_the_culprit_and_its_parent_are_profiled(knick: Knick, repository: GitRepository, tmp_path: Path) -> None:
    hashes = project(repository, ["1", "1", "0"])
    kept = str(tmp_path / "kept")
    (tmp_path / "check.py").write_text("raise SystemExit(open('value.txt').read() != '1')")
    profiled = ("--profiler", "cprofile", "--profiles", kept)
    check = (*profiled, "--", sys.executable, str(tmp_path / "check.py"))
    ran = knick("bisect", f"{hashes[0]}..HEAD", *check)
    assert ran.code == 0
    assert ran.output.startswith(f"Culprit: {hashes[2]}")
    assert f"knick profile diff {kept}/before {kept}/after" in ran.output
    refused = knick("bisect", "R1", *check)
    assert (refused.code, "the instance keeps the profiles of a change" in refused.errors) == (2, True)


@pytest.mark.long
def test_a_search_of_pass_and_fail_counts_the_commits_that_it_did_not_try(
    knick: Knick, repository: GitRepository
) -> None:
    hashes = project(repository, ["1", "1", "0", "1", "1", "1", "1", "0", "0"])
    check = "raise SystemExit(open('value.txt').read() != '1')"
    command = ("bisect", f"{hashes[0]}..HEAD", "--resume", "--", sys.executable, "-c", check)
    text = knick(*command).output
    found = json.loads(knick(*command[:3], "--format", "json", *command[3:]).output)
    assert found["culprit"] == hashes[7]
    assert found["untried"] == 7 - sum(probe["place"] in range(1, 8) for probe in found["probes"]) > 0
    assert f"Not tried: {found['untried']} of the 7 commits between the ends." in text


def test_the_params_of_a_trace_have_any_order() -> None:
    assert trace_key_of("b=2,a=1") == trace_key_of(",a=1,b=2,") == ",a=1,b=2,"


@pytest.mark.long
def test_a_culprit_that_is_a_merge_comes_with_the_command_that_looks_inside(
    knick: Knick, repository: GitRepository
) -> None:
    (first,) = project(repository, ["1"])
    repository.git("switch", "--quiet", "--create", "feature")
    inside = project(repository, ["1", "0", "0"])
    repository.switch("main")
    repository.commit("Go on beside it")
    repository.git("merge", "--quiet", "--no-ff", "--message", "Merge the feature", "feature")
    check = "raise SystemExit(open('value.txt').read() != '1')"
    ran = knick("bisect", f"{first}..HEAD", "--", sys.executable, "-c", check)
    assert "Merge the feature" in ran.output.splitlines()[1]
    words = shlex.split(ran.output.partition("It is a merge.")[2].splitlines()[1])
    assert words[:3] == ["knick", "bisect", f"{first}..{inside[-1]}"]
    assert knick(*words[1:]).output.startswith(f"Culprit: {inside[1]}")


@pytest.mark.long
def test_noisy_values_and_unbuildable_commits_lead_to_the_culprit(knick: Knick, repository: GitRepository) -> None:
    hashes = project(repository, [10.0, 10.0, "broken", 10.0, 10.4, 10.4, 10.4])
    ran = knick("bisect", f"{hashes[0]}..HEAD", "--trace", "benchmark=render", *_measuring())
    assert ran.code == 0
    lines = ran.output.splitlines()
    assert lines[0].startswith(f"Culprit: {hashes[4]}")
    assert re.match(r"  benchmark=render: (9\.9|10)\S* ms .* → 10\.[34]", lines[2])
    assert f"knick bisect {hashes[3]}..{hashes[4]} --trace benchmark=render" in ran.output
    assert repository.git("status", "--short") == ""


@pytest.mark.parametrize(
    ("search", "options", "message"),
    [
        ("HEAD..HEAD~2", (), "the ends are swapped: HEAD~2 is older than HEAD"),
        ("HEAD~1..HEAD~1", (), "the good and the bad end are the same commit"),
        ("HEAD~1..nowhere", (), "the repository has no commit 'nowhere'"),
        ("HEAD~1..--upload-pack=x", (), "'--upload-pack=x' cannot be the name of a commit"),
        ("HEAD~1..a\nb", (), "'a\\nb' cannot be the name of a commit"),
        ("main", (), "'main' is not a range"),
        ("aside..HEAD", (), "aside is not an ancestor of HEAD"),
        ("HEAD~1..HEAD", ("--trace", "a=b"), "a trace needs results"),
        ("HEAD~1..HEAD", ("--probability", "1"), "probability is 1"),
        ("HEAD~1..HEAD", ("--results", "../out.json"), "results is '../out.json'"),
        ("HEAD~1..HEAD", ("--results", "out.json", "--flaky", "0.1"), "--flaky is for commands that pass or fail"),
        ("HEAD~1..HEAD", ("--recipe", "quick"), "there is no recipe 'quick'"),
    ],
)
def test_what_cannot_be_searched_is_refused_in_one_line(
    knick: Knick,
    three_commits: GitRepository,
    monkeypatch: pytest.MonkeyPatch,
    *,
    search: str,
    options: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(three_commits.directory)
    ran = knick("bisect", search, *options, "--", "true")
    assert ran.code == 2
    assert message in ran.errors
    assert ran.errors.count("\n") == 1


def test_without_a_command_the_message_shows_one(knick: Knick, repository: GitRepository) -> None:
    project(repository, ["1", "1"])
    ran = knick("bisect", "HEAD~1..HEAD")
    assert ran.code == 2
    assert "there is no command to measure with. Give it after --" in ran.errors


def test_a_shallow_clone_is_named_as_the_reason(
    knick: Knick, repository: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (first, *_) = project(repository, ["1", "1", "1"])
    repository.git("clone", "--quiet", "--depth=1", f"file://{repository.directory}", str(tmp_path / "shallow"))
    monkeypatch.chdir(tmp_path / "shallow")
    ran = knick("bisect", f"{first}..HEAD", "--", "true")
    assert ran.code == 2
    assert "git fetch --unshallow" in ran.errors


def test_a_dry_run_names_the_commits_and_runs_nothing(knick: Knick, repository: GitRepository, tmp_path: Path) -> None:
    hashes = project(repository, ["1", "1", "1"])
    ran = knick("bisect", f"{hashes[0]}..HEAD", "--dry-run", "--format", "json", "--", "touch", str(tmp_path / "ran"))
    assert ran.code == 0
    cost = json.loads(ran.output)
    assert cost["commits"] == hashes[1:]
    assert 3 <= cost["expected_probes"] <= cost["most_probes"]
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "cache").exists()


def test_a_dry_run_is_one_row_of_csv(
    knick: Knick, three_commits: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(three_commits.directory)
    (row,) = csv.DictReader(
        knick("bisect", "HEAD~2..HEAD", "--dry-run", "--format=csv", "--", "true").output.splitlines()
    )
    assert (row["bad"], row["commits"]) == (three_commits.git("rev-parse", "HEAD").strip(), "2")


def test_a_missing_command_is_an_error_and_no_answer(
    knick: Knick, three_commits: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(three_commits.directory)
    ran = knick("bisect", "HEAD~2..HEAD", "--", "./missing")
    assert (ran.code, ran.output) == (2, "")
    last = ran.errors.splitlines()[-1]
    assert "the good end cannot be measured: the test command './missing' cannot be started: No such file" in last


def test_a_long_subject_is_shortened(knick: Knick, repository: GitRepository) -> None:
    project(repository, ["1"])
    repository.commit("x" * 500)
    line = knick("bisect", "HEAD~1..HEAD", "--dry-run", "--", "true").output.splitlines()[1]
    assert line.endswith(f"Ada: {'x' * 71}…")


def test_a_recipe_fills_what_the_command_line_leaves_open(knick: Knick, repository: GitRepository) -> None:
    hashes = project(repository, ["1", "1"])
    (repository.directory / "knickpoint.toml").write_text('[bisect.quick]\nmeasure = ["true"]\nbuild = ["make"]\n')
    cost = json.loads(knick("bisect", f"{hashes[0]}..HEAD", "--dry-run", "--format", "json").output)
    assert (cost["build"], cost["measure"]) == (["make"], ["true"])
    other = json.loads(
        knick("bisect", f"{hashes[0]}..HEAD", "--dry-run", "--format", "json", "--recipe=quick", "--", "false").output
    )
    assert (other["build"], other["measure"]) == (["make"], ["false"])


def _killed_until_it_ends(
    directory: Path, hashes: list[str], rounds: int, environment: dict[str, str]
) -> tuple[str, int]:
    """Run a search that is killed after a while, each time a little later, and resumed; return its answer at last."""
    command = [sys.executable, "-m", "knickpoint.cli", "bisect", f"{hashes[0]}..{hashes[-1]}", "--trace"]
    command += ["benchmark=render", "--resume", "--format", "json", *_measuring()]
    killed = 0
    for number in range(rounds):
        process = subprocess.Popen(
            command, cwd=directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        try:
            output, _ = process.communicate(timeout=0.4 + 0.13 * (number % 17))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            killed += 1
        else:
            return output, killed
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    return done.stdout, killed


@pytest.mark.long
def test_a_search_that_is_killed_fifty_times_ends_as_one_that_is_not(repository: GitRepository, tmp_path: Path) -> None:
    hashes = project(repository, [10.0] * 5 + [10.3] * 4)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "killed")}
    output, killed = _killed_until_it_ends(repository.directory, hashes, 50, environment)
    found = json.loads(output)
    assert (found["state"], found["culprit"]) == ("culprit", hashes[5])
    assert killed >= 3
    numbers = [probe["probe"] for probe in found["probes"]]
    assert len(numbers) == len(set(numbers))
    (journal,) = (tmp_path / "killed").rglob("*.jsonl")
    results = [json.loads(line)["result"]["probe"] for line in journal.read_text().splitlines() if '{"result"' in line]
    assert len(results) == len(set(results))


def _instance_with_a_change(knick: Knick, repository: GitRepository, directory: Path) -> list[str]:
    """Make an instance that knows every second commit of a project, and the recipe that measures it."""
    hashes = project(repository, [10.0] * 13 + ["broken"] + [11.0] * 14)
    assert knick("init", directory, "--repository", f"lib={repository.directory}").code == 0
    rows = [
        f"{name},render,{10.0 + (0.01 * (place * 7 % 5)) + (place > 13)},ms\n"
        for place, name in enumerate(hashes)
        if place % 6 in {0, 5} or place < 8 or place > 18
    ]
    (directory / "results.csv").write_text("commit,benchmark,value,unit\n" + "".join(rows))
    build, measure = (json.dumps([sys.executable, name]) for name in ("build.py", "measure.py"))
    with (directory / "knickpoint.toml").open("a") as file:
        file.write(f'\n[bisect.quick]\nbuild = {build}\nmeasure = {measure}\nresults = ["out.json"]\n')
    assert knick("import", directory / "results.csv", "--instance", directory).code == 0
    assert knick("run", "--instance", directory).code == 0
    return hashes


@pytest.mark.long
def test_the_commit_of_a_change_is_found_with_the_recipe_of_the_instance(
    knick: Knick, repository: GitRepository, tmp_path: Path
) -> None:
    hashes = _instance_with_a_change(knick, repository, tmp_path / "instance")
    ran = knick("bisect", "R1", "--instance", tmp_path / "instance", "--format", "json")
    assert ran.output, ran.errors
    found = json.loads(ran.output)
    assert (found["state"], ran.code) == ("range", 1)
    assert found["range"] == hashes[13:15]  # the first of the two cannot be built
    assert "not a number" in next(probe["reason"] for probe in found["probes"] if probe["outcome"] == "skipped")
    writer = (
        "import sys; value = float(open('value.txt').read())\n"
        "open(sys.argv[1], 'w').write(f'main;row {1000 * value:.0f}\\n')"
    )
    profiler = shlex.join([sys.executable, "-c", writer, "{out}"])
    profiled = knick("bisect", "R1", "--instance", tmp_path / "instance", "--profiler", profiler)
    assert "kept 10 profiles of render" in profiled.errors
    assert profiled.output.rstrip().endswith("+1,000 samples of +1,000 samples in row.")
    again = knick("bisect", "R1", "--instance", tmp_path / "instance", "--repeats", "3")
    assert again.code == 2
    assert "a change is searched with a recipe of the configuration" in again.errors


@pytest.mark.long
def test_a_size_that_is_looked_for_is_excluded_or_found(knick: Knick, repository: GitRepository) -> None:
    hashes = project(repository, ["100", "100", "101", "101"])
    search = ("bisect", f"{hashes[0]}..HEAD", "--format", "json")
    small, large = (json.loads(knick(*search, "--find", find, *_measuring()).output) for find in (0.005, 0.2))
    assert small["culprit"] == hashes[2]
    assert (large["state"], large["culprit"]) == ("not reproducible", None)
    assert large["reason"].startswith("the ends do not differ by 20 % when they are measured again; a change above ")
    refused = knick("bisect", f"{hashes[0]}..HEAD", "--find", 0.05, "--", "true")
    assert (refused.code, refused.errors.count("\n")) == (2, 1)
    assert "find needs values" in refused.errors
