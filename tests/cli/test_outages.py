"""What the guide to outages says about a store that can only be read, and an alert that finds too much."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.conftest import Knick, change_points


def found(knick: Knick) -> set[tuple[str, str]]:
    rows = change_points(knick)
    return {(row["commit"]["hash"], row["trace"]["key"]) for row in rows if row["condition"] != "gone"}


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
def test_a_store_that_can_only_be_read_is_read_and_writing_it_names_the_file(judged: Path, state: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        room = Path(name)
        room.chmod(0o755)
        lab = room / "lab"
        for each in (lab, room / "other"):
            shutil.copytree(judged, each)
        command = [sys.executable, "-c", _READER, state]
        ran = subprocess.run(command, cwd=lab, capture_output=True, text=True, check=False)
        lab.chmod(0o755)
    assert ran.stdout.startswith("repository,line,id,")
    assert "good   store" in ran.stdout
    assert ran.stderr.startswith(f"knick: {lab / 'knickpoint.db'}: The store cannot be written")


@pytest.mark.long
@pytest.mark.usefixtures("judged")
def test_an_alert_that_finds_too_much_is_counted_before_and_taken_back_afterwards(knick: Knick) -> None:
    usual = found(knick)
    counted = knick("alerts", "set", "wild", "method=threshold", "minimum_effect=0.001", "--dry-run")
    assert (counted.code, "113" in counted.output, found(knick)) == (0, True, usual)
    knick("alerts", "set", "wild", "method=threshold", "minimum_effect=0.001")
    knick("run")
    assert len(found(knick)) > 5 * len(usual)
    assert knick("alerts", "remove", "wild").code == 2
    knick("alerts", "remove", "wild", "--yes")
    knick("run")
    assert found(knick) == usual


def test_damage_is_named_by_table_and_row_and_healthy_points_come_out(knick: Knick, judged: Path) -> None:
    healthy = knick("export").output.splitlines()
    with closing(sqlite3.connect(judged / "knickpoint.db")) as store, store:
        (lost,) = store.execute("SELECT hash FROM commit_ WHERE slot = 0").fetchone()
        store.execute("UPDATE commit_ SET hash = CAST(x'e9' || hash AS TEXT) WHERE slot = 0")
        store.execute("UPDATE alert_in_force SET definition = 'Z' || definition")
        store.execute("UPDATE suspects SET body = 'Z' || body")
    exported, deep = knick("export"), knick("doctor", "--deep")
    assert exported.output.splitlines() == [line for line in healthy if lost not in line]
    assert exported.code == 2
    assert "commit_ (repository_id 1, slot 0), column hash: not UTF-8" in exported.errors
    assert deep.code == 1
    for cell in ("commit_ (repository_id 1, slot 0), column hash", "alert_in_force (name default), column definition"):
        assert cell in deep.output


@pytest.mark.parametrize("column", ["keys", "facts", "codes"])
def test_a_damaged_catalogue_is_named_and_stops_neither_the_export_nor_the_other_checks(
    knick: Knick, judged: Path, column: str
) -> None:
    with closing(sqlite3.connect(judged / "knickpoint.db")) as store, store:
        store.execute(f"UPDATE chunk SET {column} = CAST(x'ff' || substr({column}, 2) AS BLOB)")
    exported, deep = knick("export"), knick("doctor", "--deep")
    assert exported.code == 2
    assert "chunk (id 0), column" in exported.errors
    assert deep.code == 1
    assert "chunk (id 0), column" in deep.output
    assert "no files waiting, none refused" in deep.output
