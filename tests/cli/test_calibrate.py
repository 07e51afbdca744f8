"""``knick calibrate``: one commit of a real repository, measured in several ways within the time that is given."""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

import pytest
from tests.bisect.runner.projects import project
from tests.cli.conftest import Knick
from tests.repositories import GitRepository


def test_a_commit_is_calibrated_within_its_time(knick: Knick, repository: GitRepository) -> None:
    project(repository, [10.0])
    python = sys.executable
    ran = knick(
        "calibrate", "HEAD", "--minutes", "0.02", "--builds", "2", "--results", "out.json",
        "--build", f"{python} build.py", "--", python, "measure.py",
    )  # fmt: skip
    assert ran.code == 0
    assert ran.errors.startswith("build 1 of 2\nbuild 2 of 2\n1 round, ")
    assert [line.split()[0] for line in ran.output.splitlines()[:3]] == ["benchmark", "render", "load"]
    assert "Planted: 5 % and 50 %; the processes of the command were stopped" in ran.output


def test_a_command_that_repeats_its_work_is_told_how_much(knick: Knick, repository: GitRepository) -> None:
    measure = (
        "import json, os, random; planted = float(os.environ.get('KNICKPOINT_PLANT', 0))\n"
        "value = 10 * (1 + planted) * (1 + 0.002 * random.gauss(0, 1))\n"
        "rows = [{'benchmark': 'render', 'commit': os.environ['KNICKPOINT_COMMIT'], 'value': value, 'unit': 'ms'}]\n"
        "json.dump(rows, open('out.json', 'w'))\n"
    )
    repository.commit_files([("Measure", {"measure.py": measure})])
    ran = knick(
        "calibrate", "HEAD", "--minutes", "0.02", "--builds", "1", "--plant", "variable", "--results", "out.json",
        "--format", "json", "--", sys.executable, "measure.py",
    )  # fmt: skip
    (row,) = json.loads(ran.output)
    assert row["shown_large"] == pytest.approx(0.5, abs=0.05)
    assert row["trace"] == ",benchmark=render,"


def test_a_repeated_start_is_refused_where_the_command_writes_results(knick: Knick, repository: GitRepository) -> None:
    project(repository, [10.0])
    ran = knick("calibrate", "HEAD", "--plant", "repeat", "--results", "out.json", "--", "true")
    assert ran.code == 2
    assert "repeating the first part of a command does not change the results that it writes" in ran.errors


def calibrated(level: float) -> str:
    """Write what a calibration of twelve benchmarks prints, each a little slower than the one before."""
    rows = [
        {"trace": f",benchmark=b{at},", "state": "useful", "found_80": 0.02, "between": 0.01, "builds": None,
         "level": level * (1 + at) * (1 + 0.01 * math.sin(at * level)), "unit": "ms"}
        for at in range(12)
    ]  # fmt: skip
    Path(f"{level}.json").write_text(json.dumps(rows), encoding="utf-8")
    return f"{level}.json"


@pytest.mark.usefixtures("repository")
def test_calibrations_of_several_machines_say_what_checks_across_them_find(knick: Knick) -> None:
    files = [calibrated(level) for level in (10.0, 13.0, 17.0)]
    ran = knick("calibrate", "--join", *files)
    assert ran.code == 0
    assert "between machines" in ran.output.splitlines()[0]
    assert re.search(r"10\.0\.json 0\.7\d, 13\.0\.json 1\.00, 17\.0\.json 1\.3\d", ran.output)
    assert "[check]\nminimum_effect = 0.0" in ran.output
    (row, *_) = json.loads(knick("calibrate", "--join", *files, "--format", "json").output)
    assert (row["machines"], row["in_turns"]) == (3, 0.02)
    assert 0.001 < row["noise"] < 0.03
    assert row["found_80"] < row["found_95"] < 0.2


@pytest.mark.usefixtures("repository")
def test_a_file_that_is_no_calibration_is_refused_with_its_name(knick: Knick) -> None:
    Path("other.json").write_text("[1]", encoding="utf-8")
    ran = knick("calibrate", "--join", calibrated(10.0), "other.json")
    assert (ran.code, "other.json: not the answer of knick calibrate" in ran.errors) == (2, True)
    assert "no commit is named" in knick("calibrate").errors
