"""What the guide to outages says about a store that can only be read, and an alert that finds too much."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cli.conftest import Knick


def found(knick: Knick) -> set[tuple[str, str]]:
    rows = json.loads(knick("regressions", "--format", "json").output)
    return {(row["commit"], row["trace"]) for row in rows if row["condition"] != "gone"}


_READER = """
import contextlib, os, sqlite3, sys
from knickpoint.cli.program import main

def knick(*arguments):
    sys.argv = ["knick", *arguments]
    with contextlib.suppress(SystemExit):
        main()

writer = sqlite3.connect("knickpoint.db", isolation_level=None)
if "in-use" in sys.argv:
    writer.execute("PRAGMA user_version = 1")
else:
    writer.close()
os.chdir("..")
commands = ["export"], ["doctor"], ["run"]
with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
    for each in commands:
        knick(*each, "--instance", "other")
for path in (*os.scandir("lab"), "lab"):
    os.chmod(path, 0o555)
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
for each in commands:
    knick(*each, "--instance", "lab")
"""
"""Root may write everything, so it becomes another user, once Python has loaded what the commands need."""


@pytest.mark.parametrize("state", ["quiet", pytest.param("in-use", marks=pytest.mark.long)])
def test_a_store_that_can_only_be_read_is_read_and_writing_it_names_the_file(
    judged: Path, tmp_path: Path, state: str
) -> None:
    lab, other = (tmp_path / name for name in ("lab", "other"))
    for each in (lab, other):
        shutil.copytree(judged, each)
    for place in (lab, *lab.parents):
        with suppress(PermissionError):
            place.chmod(place.stat().st_mode | 0o011)
    ran = subprocess.run([sys.executable, "-c", _READER, state], cwd=lab, capture_output=True, text=True, check=False)
    lab.chmod(0o755)
    assert ran.stdout.startswith("repository,line,id,")
    assert "good   store" in ran.stdout
    assert ran.stderr.startswith(f"knick: {lab / 'knickpoint.db'}: The store cannot be written")


@pytest.mark.usefixtures("judged")
def test_an_alert_that_finds_too_much_is_counted_before_and_taken_back_afterwards(knick: Knick) -> None:
    usual = found(knick)
    counted = knick("alerts", "set", "wild", "method=threshold", "minimum_effect=0.001", "--dry-run")
    assert (counted.code, "113" in counted.output, found(knick)) == (0, True, usual)
    knick("alerts", "set", "wild", "method=threshold", "minimum_effect=0.001")
    knick("run")
    assert len(found(knick)) > 5 * len(usual)
    knick("alerts", "remove", "wild")
    knick("run")
    assert found(knick) == usual
