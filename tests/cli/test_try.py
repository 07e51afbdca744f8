"""``knick try``: sessions of attempts on a real repository, with their record and report."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.bisect.runner.projects import KEY, MEASURE, project
from tests.cli.conftest import Knick, Ran
from tests.instance.programs import KNICK
from tests.repositories import GitRepository

from knickpoint.bisect.attempt_record import attempting


@pytest.fixture
def repository(repository: GitRepository) -> GitRepository:
    (repository.directory / ".git" / "info" / "exclude").write_text("knick-try.json*\n")
    return repository


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


@pytest.mark.long
def test_what_is_equal_slower_or_broken_is_not_confirmed(knick: Knick, repository: GitRepository) -> None:
    base, *others = project(repository, [10.0, "10.00", 11.0, "broken"])
    start(knick, base)
    verdicts = [knick("try", "attempt", commit) for commit in others]
    assert [ran.code for ran in verdicts] == [1, 1, 1]
    assert [ran.output.split(": ")[1] for ran in verdicts] == ["not faster", "something is worse", "failed"]


def test_an_attempt_that_fails_in_some_rounds_is_no_speed_up(knick: Knick, repository: GitRepository) -> None:
    base, _ = project(repository, [10.0, 9.0])
    choosy = f"import os\nassert os.environ['KNICKPOINT_PROBE'] not in ('compare-5', 'compare-6')\n{MEASURE}"
    (attempt,) = repository.commit_files([("Leave a slow round out", {"measure.py": choosy})])
    start(knick, base)
    ran = knick("try", "attempt", attempt)
    assert ran.code == 1
    assert "failed: round 2: the head gave no values: measure ended with exit code 1" in ran.output
    assert "All verdicts follow" in knick("try", "report").output


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


@pytest.mark.parametrize("forged", [{"verdict": "confirmed faster"}, {"verdict": "confirmed faster", "stages": []}])
def test_a_verdict_that_was_edited_in_the_record_is_noticed(
    knick: Knick, repository: GitRepository, forged: dict[str, object]
) -> None:
    base, equal = project(repository, [10.0, "10.00"])
    start(knick, base)
    knick("try", "attempt", equal)
    file = Path("knick-try.json")
    record = json.loads(file.read_text())
    record["attempts"][0]["end"].update(forged)
    file.write_text(json.dumps(record))
    assert "The verdicts of 1 do not follow" in knick("try", "report").output


@pytest.mark.long
def test_an_attempt_that_was_interrupted_counts(knick: Knick, repository: GitRepository) -> None:
    base, faster = project(repository, [10.0, 9.0])
    start(knick, base)
    file = Path("knick-try.json")
    record = json.loads(file.read_text())
    record["attempts"] = [{"commit": faster, "began": "2026-03-01T00:00:00+00:00"}]
    file.write_text(json.dumps(record))
    assert "| interrupted | `it has no verdict, and counts as a confirmation" in knick("try", "report").output
    knick("try", "attempt", faster)
    stages = json.loads(file.read_text())["attempts"][1]["end"]["stages"]
    assert stages[1]["rules"]["false_positives"] == pytest.approx(0.2 / 6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("attempt", "HEAD~1"), "HEAD~1 is the base"),
        (("attempt", "nowhere"), "no commit 'nowhere'"),
        (("attempt", "--record", "none.json"), "there is no session"),
        (("start", "--base", "HEAD", "--", "true"), "the session already exists"),
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


# A recipe of the configuration, with what counts against an attempt.

_MEASURE = """
import hashlib, json, os, pathlib
text = pathlib.Path("built.txt").read_text()
size = 1 if "cached" in text else int(os.environ.get("SIZE", "1"))
seed = os.environ["KNICKPOINT_COMMIT"] + os.environ["KNICKPOINT_PROBE"]
noise = int(hashlib.sha256(seed.encode()).hexdigest()[:8], 16) / 2**32 - 0.5
value = float(text.split()[0]) * size + noise * 0.02
pathlib.Path("out.json").write_text(json.dumps([
    {"benchmark": "render", "value": value, "unit": "ms", "commit": os.environ["KNICKPOINT_COMMIT"]}]))
if "silent" not in text:
    pathlib.Path("answer.txt").write_text(text.partition(" ")[2].replace("cached", ""))
"""


def configure(repository: GitRepository, *lines: str, section: str = "", measure: str = _MEASURE) -> None:
    recipe = [
        f"build = {json.dumps([sys.executable, '-SE', 'build.py'])}",
        f"measure = {json.dumps([sys.executable, '-SE', '-c', measure])}",
        'results = ["out.json"]',
        *lines,
    ]
    file = repository.directory / "knickpoint.toml"
    file.write_text("\n".join([section, "[bisect.quick]", *recipe, ""]))


def begin(knick: Knick, base: str) -> Ran:
    return knick("try", "start", "--base", base, "--error", "0.2", "--most-rounds", "6")


@pytest.mark.long
def test_failing_tests_count_against_a_faster_attempt(knick: Knick, repository: GitRepository) -> None:
    base, good, wrong = project(repository, [10.0, 9.0, 8.0])
    check = [sys.executable, "-c", "import sys; sys.exit('8' in open('built.txt').read() and 'error: 8 is wrong')"]
    configure(repository, f"test = {json.dumps(check)}")
    assert begin(knick, base).code == 0
    ran = knick("try", "attempt", wrong)
    assert (ran.code, ran.output.split(": ", 1)[1]) == (
        1,
        "tests fail: test ended with exit code 1: error: 8 is wrong\n",
    )
    assert knick("try", "attempt", good).code == 0
    stages = [each["end"]["stages"] for each in json.loads(Path("knick-try.json").read_text())["attempts"]]
    assert [len(each) for each in stages] == [1, 3]
    assert stages[1][1]["rules"]["false_positives"] == pytest.approx(0.1)
    assert "All verdicts follow" in knick("try", "report").output


def test_tests_that_fail_at_the_base_are_not_blamed_on_an_attempt(knick: Knick, repository: GitRepository) -> None:
    base, faster = project(repository, [10.0, 9.0])
    configure(repository, 'test = ["false"]')
    begin(knick, base)
    ran = knick("try", "attempt", faster)
    assert (ran.code, "the tests fail at the base as well" in ran.errors) == (2, True)


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "verdict"),
    [("9.0 sum=3", "confirmed faster"), ("9.0 sum=4", "changed results"), ("9.0 sum=3 silent", "changed results")],
)
def test_an_output_that_differs_from_that_of_the_base_is_not_a_speed_up(
    knick: Knick, repository: GitRepository, text: str, verdict: str
) -> None:
    base, _ = project(repository, ["10.0 sum=3", text])
    (faster,) = repository.commit_files([("Write the answer beforehand", {"answer.txt": "sum=3"})])
    configure(repository, 'same_output = ["*answer.txt"]')
    begin(knick, base)
    assert knick("try", "attempt", faster).output.split(": ")[1] == verdict


@pytest.mark.long
def test_an_attempt_that_ignores_its_input_is_no_speed_up(knick: Knick, repository: GitRepository) -> None:
    base, faster, cached = project(repository, ["10.0", "9.0", "9.0 cached"])
    configure(repository, 'vary = { SIZE = "2" }')
    begin(knick, base)
    assert knick("try", "attempt", faster).code == 0
    ran = knick("try", "attempt", cached)
    assert "changed measurement: no longer depends on its input (SIZE=2): ,benchmark=render," in ran.output
    assert "All verdicts follow" in knick("try", "report").output


def test_the_configuration_names_what_is_protected(knick: Knick, repository: GitRepository) -> None:
    base, faster = project(repository, [10.0, 9.0])
    (other,) = repository.commit_files([("Change the benchmark", {"bench.py": "pass"})])
    configure(repository, section='[try]\nprotected = ["value.*"]')
    begin(knick, base)
    assert "it changes value.txt" in knick("try", "attempt", faster).output
    assert "it changes value.txt\n" in knick("try", "attempt", other).output


def test_the_time_of_an_attempt_is_bounded(knick: Knick, repository: GitRepository) -> None:
    base, faster = project(repository, [10.0, 9.0])
    start(knick, base)
    ran = knick("try", "attempt", faster, "--most-minutes", "0.0001")
    assert "not decided within the budget: its time " in ran.output
    assert "All verdicts follow" in knick("try", "report").output


def test_two_attempts_of_a_session_are_not_made_at_once(knick: Knick, repository: GitRepository) -> None:
    base, faster = project(repository, [10.0, 9.0])
    start(knick, base)
    with attempting(Path("knick-try.json")):
        ran = knick("try", "attempt", faster)
    assert (ran.code, "an attempt of this session is being measured" in ran.errors) == (2, True)
    assert "attempts" not in json.loads(Path("knick-try.json").read_text())


@pytest.mark.long
def test_the_work_tree_is_tried_and_kept(knick: Knick, repository: GitRepository) -> None:
    base, _ = project(repository, [10.0, "10.00"])
    start(knick, base)
    assert "has no edits" in knick("try", "attempt", "--work-tree").errors
    (repository.directory / "value.txt").write_text("9.0")
    before = repository.git("status", "--porcelain")
    assert knick("try", "attempt", "--work-tree").code == 0
    assert repository.git("status", "--porcelain") == before
    assert repository.git("stash", "list") == ""
    (tried,) = json.loads(Path("knick-try.json").read_text())["attempts"]
    assert repository.git("show", f"{tried['commit']}:value.txt") == "9.0"
    repository.git("gc", "--quiet", "--prune=now")
    assert repository.git("rev-parse", f"refs/knickpoint/attempts/{tried['commit']}") == tried["commit"]
    assert f"`{tried['commit'][:12]}`, work tree |" in knick("try", "report").output
    (repository.directory / "bench.py").write_text("pass")
    repository.git("add", "bench.py")
    assert "it changes bench.py" in knick("try", "attempt", "--work-tree").output


def test_edits_that_are_not_committed_are_refused(knick: Knick, repository: GitRepository) -> None:
    base, _ = project(repository, [10.0, 9.0])
    start(knick, base)
    (repository.directory / "value.txt").write_text("1.0")
    ran = knick("try", "attempt")
    assert ran.code == 2
    assert "not committed" in ran.errors


# The process that measures is killed.

_DEADLY = """
import os, pathlib, signal
place = pathlib.Path(os.environ["PLACE"])
with open(place / "runs", "a") as file:
    file.write(".")
if (place / "runs").stat().st_size == int((place / "kill").read_text()):
    os.kill(int((place / os.environ["LOCK"]).read_text()), signal.SIGKILL)
exec(open("measure.py").read())
"""
"""Measures, and kills the process that has written its id into LOCK at the run whose number is in the file kill."""


@pytest.mark.long
@pytest.mark.parametrize(
    ("run", "stage"),
    [
        (9, "screen"),
        (19, "confirm"),
        (33, "size"),
    ],
)
def test_an_attempt_that_is_killed_goes_on_without_spending_less(
    knick: Knick, repository: GitRepository, tmp_path: Path, run: int, stage: str
) -> None:
    base, faster = project(repository, [10.0, 9.0])
    place = tmp_path / "place"
    place.mkdir()
    (place / "kill").write_text(str(run))
    where = json.dumps({"PLACE": str(place), "LOCK": str(Path.cwd() / "knick-try.json.lock")})
    configure(repository, f"environment = {where.replace(': ', '= ')}", measure=_DEADLY)
    begin(knick, base)
    assert subprocess.run([*KNICK, "try", "attempt"], check=False).returncode == -signal.SIGKILL
    lines = [json.loads(line) for line in Path("knick-try.json.rounds").read_text().splitlines()[1:]]
    rounds = [each["round"] for each in lines if each["stage"] == stage and "round" in each][1:]
    with Path("knick-try.json.rounds").open("a") as file:
        file.write('{"stage": "scr')  # torn
    ran = knick("try", "attempt")
    assert ran.code == 0, ran.errors
    (attempt,) = json.loads(Path("knick-try.json").read_text())["attempts"]
    stages = attempt["end"]["stages"]
    assert ([each["stage"] for each in stages], attempt["interruptions"]) == (["screen", "confirm", "size"], [stage])
    (made,) = (each for each in stages if each["stage"] == stage)
    values = [each["values"][0][KEY]["value"] for each in rounds]
    assert values
    assert made["benchmarks"][0]["past"][: len(values)] == values
    counted = sum(2 + 2 * len(each["benchmarks"][0]["past"]) for each in stages)
    lost = 2 + 1 + (2 * len(values) if stage == "confirm" else 0)  # a warm-up, the run of the kill, a confirmation
    assert (place / "runs").stat().st_size == counted + lost
    assert stages[1]["rules"]["false_positives"] == pytest.approx(0.2 / (6 if stage == "confirm" else 2))
    report = knick("try", "report").output
    assert f"`{faster[:12]}`, resumed | **confirmed faster**" in report
    assert "All verdicts follow" in report
    assert not Path("knick-try.json.rounds").exists()
