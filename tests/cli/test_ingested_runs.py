"""Runs that were imported are listed, and taken out again when they were wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Knick

HEADER = "commit,time,benchmark,unit,value"


def _row(commit: int, benchmark: str, value: float) -> str:
    return f"{commit + 1:040x},2026-01-{1 + commit // 24:02d}T{commit % 24:02d}:00:00Z,{benchmark},ms,{value}"


@pytest.fixture
def imported(knick: Knick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An instance with a file of 40 commits, and one of another job that measured the last 20 on a wrong machine."""
    monkeypatch.chdir(tmp_path)
    good = [_row(commit, "sort", 100 + commit % 3) for commit in range(40)]
    wrong = [_row(commit, name, 900) for commit in range(20, 40) for name in ("sort", "parse")]
    (tmp_path / "good.csv").write_text("\n".join([HEADER, *good]) + "\n", encoding="utf-8")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "wrong.csv").write_text("\n".join([HEADER, *wrong]) + "\n", encoding="utf-8")
    assert knick("init").code == 0
    assert knick("import", "good.csv").code == 0
    assert knick("import", "results").code == 0
    assert knick("run").code == 0
    return tmp_path


def _listed(knick: Knick, *arguments: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(knick("ingest", *arguments, "--format", "json").output)
    return rows


def _values(knick: Knick) -> dict[str, tuple[int, float]]:
    """Return benchmark → the number of its values, and the newest one."""
    rows = json.loads(knick("traces", "--format", "json").output)
    return {row["params"]["benchmark"]: (row["values"], row["newest"]) for row in rows}


def _changes(knick: Knick) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(knick("changes", "--format", "json").output)
    return rows


@pytest.mark.usefixtures("imported")
def test_runs_of_a_commit_are_listed_newest_first(knick: Knick) -> None:
    rows = _listed(knick, "runs", "--commit", f"{31:040x}")
    assert [Path(row["source"]).name for row in rows] == ["wrong.csv", "good.csv"]
    assert rows[0]["id"] > rows[1]["id"]
    assert (rows[0]["points"], rows[0]["commit"]) == (2, f"{31:040x}")


@pytest.mark.usefixtures("imported")
def test_removing_a_wrong_file_takes_its_findings_away(knick: Knick) -> None:
    assert len(_changes(knick)) == 1
    assert knick("ingest", "remove", "--source", "results/wrong.csv").code == 0
    assert knick("run").code == 0
    assert _changes(knick) == []
    assert _values(knick)["sort"] == (40, 100.0)
    assert _values(knick)["parse"][0] == 0


@pytest.mark.usefixtures("imported")
def test_a_dry_run_removes_nothing(knick: Knick) -> None:
    before = _listed(knick, "runs")
    ran = knick("ingest", "remove", "--source", "results/wrong.csv", "--dry-run")
    assert "Would remove 20 runs with 40 points." in ran.output
    assert _listed(knick, "runs") == before


@pytest.mark.usefixtures("imported")
def test_runs_are_removed_by_their_ids_all_or_none(knick: Knick) -> None:
    first, second, *_ = [row["id"] for row in _listed(knick, "runs")]
    refused = knick("ingest", "remove", first, 10**6)
    assert (refused.code, "there is no run 1000000" in refused.errors) == (2, True)
    removed = knick("ingest", "remove", str(first), str(second))
    assert "Removed 2 runs with 4 points; the next knick run judges their traces again." in removed.output
    assert _listed(knick, "runs")[0]["id"] < second


@pytest.mark.usefixtures("imported")
def test_a_folder_does_not_bring_a_removed_file_back_but_its_name_does(knick: Knick) -> None:
    knick("ingest", "remove", "--source", "results/wrong.csv")
    assert "left out, because runs of it were removed" in knick("import", "results").output
    assert len(_listed(knick, "runs", "--source", "results/wrong.csv")) == 0
    assert "20 re-runs joined" in knick("import", "results/wrong.csv").output
    assert len(_listed(knick, "runs", "--source", "results/wrong.csv")) == 20


def test_values_that_removed_runs_replaced_come_back_with_their_file(knick: Knick, imported: Path) -> None:
    rows = [_row(commit, "sort", 900) for commit in range(40)]
    (imported / "replacing.csv").write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    assert "40 runs corrected" in knick("import", "replacing.csv").output
    knick("ingest", "remove", "--source", "replacing.csv")
    assert _values(knick)["sort"][0] == 20
    assert "20 re-runs joined" in knick("import", "good.csv").output
    assert _values(knick)["sort"][0] == 40
    assert "all 40 runs are already imported" in knick("import", "good.csv").output


@pytest.mark.usefixtures("imported")
def test_the_status_and_the_audit_log_say_who_removed_what(knick: Knick) -> None:
    knick("ingest", "remove", "--source", "results/wrong.csv")
    states = {Path(row["source"]).name: row for row in _listed(knick, "status")}
    assert states["wrong.csv"]["state"] == "removed"
    assert states["wrong.csv"]["detail"].startswith("20 runs removed by ")
    (entry,) = json.loads(knick("audit", "--kind", "runs-removed", "--format", "json").output)
    assert entry["about"].startswith("20 runs of main, from ")
    assert "wrong.csv" in entry["about"]


@pytest.mark.usefixtures("imported")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no runs are selected"),
        (["--commit", "ffffffff"], "there is no commit 'ffffffff'"),
        (["--source", "other.csv"], "--source other.csv: there is no such run"),
        (["--repository", "other", "--commit", "1"], "there is no repository 'other'"),
    ],
)
def test_what_names_no_run_is_refused(knick: Knick, arguments: list[str], message: str) -> None:
    ran = knick("ingest", "remove", *arguments)
    assert (ran.code, message in ran.errors) == (2, True)
