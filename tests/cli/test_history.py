"""``knick history``, and what other commands say of history."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from knickpoint.access.local_user import local_caller
from knickpoint.instance import open_instance
from knickpoint.store import EventKind

from .conftest import EXAMPLE, Knick, change_points


@pytest.fixture
def years(example_history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the instance whose findings are all history, and go there."""
    place = shutil.copytree(example_history, tmp_path / "years")
    monkeypatch.chdir(place)
    return place


def listed(knick: Knick, *arguments: str) -> list[dict[str, Any]]:
    ran = knick(*arguments, "--format", "json")
    assert ran.code == 0, ran.errors
    found: list[dict[str, Any]] = json.loads(ran.output)
    return found


def test_a_run_says_what_is_history_and_how_to_take_it(knick: Knick, instance: Path) -> None:
    knick("import", EXAMPLE, "--instance", instance)
    ran = knick("run")
    assert "new changes are history" in ran.output
    assert "knick history take" in ran.output
    assert "new change to triage" not in ran.output


@pytest.mark.usefixtures("years")
def test_history_is_marked_in_every_row(knick: Knick) -> None:
    rows = change_points(knick)
    assert len(rows) > 5
    assert {row["history"] for row in rows} == {True}
    assert knick("changes").output.splitlines()[1].endswith("history")
    (_, *lines) = csv.reader(knick("changes", "--format", "csv").output.splitlines())
    assert len(lines) == len(rows)


@pytest.mark.usefixtures("years")
def test_filters_that_nothing_meets_say_how_many_findings_there_are_without_them(knick: Knick) -> None:
    known = len(change_points(knick))
    for filters in (("--query", "benchmark=nosuch"), ("--match", "nosuch"), ("--since", "2099-01-01")):
        ran = knick("changes", *filters)
        assert ran.output == f"No change point matches. Without these filters, there are {known}.\n"
        assert change_points(knick, *filters) == []


@pytest.mark.usefixtures("years")
def test_a_day_that_cannot_be_read_is_answered_with_one_that_can(knick: Knick) -> None:
    ran = knick("changes", "--since", "yesterday")
    assert ran.code == 2
    assert "invalid value for '--since': 'yesterday' is not a day; write it as 2026-03-14." in ran.errors


@pytest.mark.usefixtures("years")
def test_a_list_of_work_that_is_empty_names_the_history(knick: Knick) -> None:
    ran = knick("changes", "--work")
    assert ran.output.startswith("Nothing to triage. ")
    assert "change points are history" in ran.output
    assert change_points(knick, "--work") == []


@pytest.mark.usefixtures("years")
def test_work_is_listed_before_history(knick: Knick) -> None:
    knick("history", "take", "--since", "73106d259b")
    marks = [row["history"] for row in change_points(knick)]
    assert set(marks) == {True, False}
    assert marks == sorted(marks)
    assert {row["history"] for row in change_points(knick, "--work")} == {False}
    assert {row["history"] for row in change_points(knick, "--history")} == {True}


@pytest.mark.usefixtures("years")
def test_the_list_says_how_far_history_reaches(knick: Knick) -> None:
    (row,) = listed(knick, "history", "list")
    assert (row["repository"], row["line"], row["work"], row["by"]) == ("main", "main", 0, "")
    assert row["history"] == len(change_points(knick))
    assert row["commit"]


@pytest.mark.usefixtures("years")
def test_taking_history_signs_it_and_leaves_none(knick: Knick) -> None:
    ran = knick("history", "take")
    assert "became work" in ran.output
    (row,) = listed(knick, "history", "list")
    assert (row["history"], row["commit"], row["by"]) == (0, "", local_caller().name)


@pytest.mark.usefixtures("years")
def test_what_was_taken_can_be_declared_history_again(knick: Knick) -> None:
    (before,) = listed(knick, "history", "list")
    knick("history", "take")
    knick("history", "set", "--until", before["commit"])
    (after,) = listed(knick, "history", "list")
    assert (after["commit"], after["history"]) == (before["commit"], before["history"])


@pytest.mark.usefixtures("years")
@pytest.mark.parametrize("at", ["deadbeefdeadbeef", "2026-13-01"])
def test_a_boundary_at_nothing_is_refused_and_moves_nothing(knick: Knick, at: str) -> None:
    before = listed(knick, "history", "list")
    ran = knick("history", "set", "--until", at)
    assert ran.code == 2
    assert at in ran.errors
    assert listed(knick, "history", "list") == before


@pytest.mark.usefixtures("instance")
def test_an_import_as_work_leaves_no_history(knick: Knick) -> None:
    knick("import", "--as-work", EXAMPLE)
    assert "to triage" in knick("run").output
    assert {row["history"] for row in change_points(knick)} == {False}


@pytest.mark.usefixtures("years")
def test_an_import_as_work_that_brings_nothing_says_what_does(knick: Knick) -> None:
    ran = knick("import", "--as-work", EXAMPLE)
    assert ran.code == 0
    assert "knick history take" in ran.errors
    (row,) = listed(knick, "history", "list")
    assert row["work"] == 0


def test_an_import_as_work_announces_the_history_that_it_makes_work(knick: Knick, years: Path, tmp_path: Path) -> None:
    with open_instance(years) as opened:
        for event in opened.store.outbox.claim([EventKind.CHANGES_UPDATED], "test", 60, 10):
            opened.store.outbox.done(event)
    more = tmp_path / "more.csv"
    more.write_text("commit,time,benchmark,value\nffffffffff,2030-01-01T00:00:00Z,late,1.0\n", encoding="utf-8")
    ran = knick("import", "--as-work", more)
    assert ran.code == 0, ran.errors
    with open_instance(years) as opened:
        (event,) = opened.store.outbox.claim([EventKind.CHANGES_UPDATED], "test", 60, 10)
    (row,) = listed(knick, "history", "list")
    assert (row["history"], len(event.payload["updated_changes"])) == (0, row["work_changes"])


def test_an_instance_made_as_work_leaves_no_history(knick: Knick, tmp_path: Path) -> None:
    place = tmp_path / "working"
    assert knick("init", place, "--as-work", "--no-repository").code == 0
    knick("import", EXAMPLE, "--instance", place)
    assert "to triage" in knick("run", "--instance", place).output


@pytest.mark.usefixtures("instance")
def test_a_dry_run_as_work_changes_nothing(knick: Knick) -> None:
    knick("import", "--dry-run", "--as-work", EXAMPLE)
    knick("import", EXAMPLE)
    knick("run")
    assert {row["history"] for row in change_points(knick)} == {True}


@pytest.mark.usefixtures("instance")
def test_an_instance_without_results_has_nothing_to_list(knick: Knick) -> None:
    assert "knick import" in knick("history", "list").output
    assert listed(knick, "history", "list") == []
