"""What the command line says of alerts that cannot run, canaries, silence, workers and tickets."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Knick, change_points

CONFIG = Path("knickpoint.toml")


def configure(text: str) -> None:
    CONFIG.write_text(CONFIG.read_text(encoding="utf-8") + text, encoding="utf-8")


def series(path: Path, *, canary: float = 1.0, factor: float = 1.0, stopped: int = 30) -> Path:
    """Write 30 commits of three benchmarks; the last third of ``sort`` and ``canary`` is larger by these factors."""
    lines = ["commit,benchmark,unit,value"]
    for number in range(30):
        late, wobble = number >= 20, 1 + 0.002 * (number % 3)
        lines.append(f"{number + 1},sort,ms,{20 * (factor if late else 1) * wobble}")
        lines.append(f"{number + 1},canary,ms,{10 * (canary if late else 1) * wobble}")
        if number < stopped:
            lines.append(f"{number + 1},find,ms,{5 * wobble}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def doctor(knick: Knick) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(knick("doctor", "--format", "json").output)
    return rows


@pytest.mark.usefixtures("judged")
def test_an_alert_that_cannot_run_is_told_and_ends_with_a_code(knick: Knick) -> None:
    configure('[alerts.a]\nmethod = "magic"\n[alerts.b]\n')
    ran = knick("run")
    assert (ran.code, "alert 'a' could not run: there is no method 'magic'" in ran.errors) == (2, True)
    assert "Checked 7 traces" in ran.output


@pytest.mark.usefixtures("judged")
def test_a_param_of_group_by_that_no_trace_has_is_told_by_the_run_the_list_and_the_doctor(knick: Knick) -> None:
    configure('[alerts.a]\ngroup_by = ["Branch"]\n[alerts.b]\n')
    problem = "group_by names Branch, which no trace has"
    ran = knick("run")
    assert (ran.code, f"alert 'a': {problem}" in ran.errors, "alert 'b'" in ran.errors) == (0, True, False)
    rows = {row["name"]: row for row in json.loads(knick("alerts", "list", "--format", "json").output)}
    assert rows["a"]["warning"].startswith(problem)
    assert rows["b"]["warning"] == ""
    assert [row["observed"].startswith(problem) for row in doctor(knick) if row["about"] == "alert a"] == [True]


@pytest.mark.usefixtures("judged")
def test_alerts_are_listed_with_why_one_cannot_run(knick: Knick) -> None:
    configure('[alerts.a]\nquery = "x~("\n[alerts.b]\n')
    rows = {row["name"]: row for row in json.loads(knick("alerts", "list", "--format", "json").output)}
    assert rows["a"]["failure"].startswith("the query cannot be read")
    assert rows["b"]["failure"] == ""
    assert any("cannot run" in row["observed"] for row in doctor(knick))


@pytest.mark.usefixtures("judged")
def test_applying_alerts_says_first_how_many_findings_go(knick: Knick) -> None:
    before = len(json.loads(knick("changes", "--format", "json").output))
    configure('[alerts.other]\nquery = "benchmark=nothing"\n')
    for options in (["--dry-run"], ["--yes"]):
        rows = {row["name"]: row for row in json.loads(knick("alerts", "apply", *options, "--format", "json").output)}
        assert rows["default"]["change"] == "removed"
        assert rows["default"]["gone"] > 0
        assert (rows["default"]["decided"], rows["default"]["staying"]) == (0, 0)
        assert rows["other"]["gone"] == 0
        left = len(json.loads(knick("changes", "--format", "json").output))
        assert left == (before if "--dry-run" in options else 0)


@pytest.mark.usefixtures("judged")
def test_a_decision_about_nothing_says_where_changes_are_listed(knick: Knick) -> None:
    ran = knick("triage")
    assert ran.code == 2
    assert ran.errors.strip().endswith("knick triage R12 --as acknowledged; knick changes lists them.")


@pytest.mark.usefixtures("judged")
def test_an_undo_without_a_decision_says_so(knick: Knick) -> None:
    knick("triage", "P1", "--as", "hidden")
    assert "undo" in knick("triage", "P1", "--undo").output
    ran = knick("triage", "P1", "--undo")
    assert (ran.code, ran.output.strip()) == (0, "Nothing changed: there is no decision to undo.")
    assert json.loads(knick("triage", "P1", "--undo", "--format", "json").output) == []


def test_judging_afresh_finds_nothing_else(knick: Knick, judged: Path) -> None:
    assert "nothing new" in knick("run", "--afresh", "--instance", judged).output


def test_a_canary_that_moved_and_a_benchmark_that_stopped_are_found_by_the_doctor(knick: Knick, instance: Path) -> None:
    configure('[canaries.machine]\nquery = "benchmark=canary"\n')
    knick("import", "--as-work", series(instance / "series.csv", canary=1.5, factor=1.5, stopped=20))
    knick("run")
    found = {row["about"]: row["observed"] for row in doctor(knick)}
    assert "canary machine" in found["canary in main"]
    assert "in doubt" in found["canary in main"]
    assert "has no results at the last 10 measured commits" in found["silence in main"]


def test_the_step_of_a_canary_is_no_work_of_an_alert_without_a_query(knick: Knick, instance: Path) -> None:
    configure('[canaries.machine]\nquery = "benchmark=canary"\n')
    knick("import", "--as-work", series(instance / "series.csv", canary=1.5, factor=1.5))
    assert "1 new change to triage" in knick("run").output
    assert "benchmark=sort" in knick("changes").output
    assert "benchmark=canary" not in knick("changes").output
    assert "benchmark=canary" in knick("changes", "--alert-kind", "canary").output
    explained = knick("explain", "canary").output
    assert "alert canaries.machine:\n  canary is 50 % slower" in explained
    assert "the trace is a canary, and the alert has no query that names it" in explained
    configure('[alerts.named]\nquery = "benchmark=canary"\n')
    knick("run")
    assert "benchmark=canary" in knick("changes").output


def test_a_canary_of_the_configuration_that_was_work_is_none_after_the_next_run(knick: Knick, instance: Path) -> None:
    knick("import", "--as-work", series(instance / "series.csv", canary=1.5))
    knick("run")
    assert "benchmark=canary" in knick("changes").output
    configure('[canaries.machine]\nquery = "benchmark=canary"\n')
    knick("run")
    assert "benchmark=canary" not in knick("changes").output
    (change,) = json.loads(knick("changes", "--alert-kind", "canary", "--format", "json").output)
    assert [point["alerts"] for point in change["members"]] == [["canaries.machine"]]


def git(place: Path, *arguments: str) -> str:
    named = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ["git", "-C", place, *named, *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def commit(place: Path, count: int) -> list[str]:
    """Make ``count`` commits, a day apart, years ago; return their hashes."""
    hashes = []
    for _ in range(count):
        number = int(git(place, "rev-list", "--count", "--all"))
        day = datetime(2019, 1, 1, tzinfo=UTC) + timedelta(days=number)
        os.environ["GIT_AUTHOR_DATE"] = os.environ["GIT_COMMITTER_DATE"] = day.isoformat()
        git(place, "commit", "--quiet", "--allow-empty", "--message", f"Change {number}")
        hashes.append(git(place, "rev-parse", "HEAD"))
    return hashes


@pytest.fixture
def followed(knick: Knick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An instance beside a git repository of 30 commits, each with results of 12 traces; they are judged."""
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.setenv(name, "")
    repository = tmp_path / "library"
    git(tmp_path, "init", "--quiet", "--initial-branch", "main", str(repository))
    hashes = commit(repository, 30)
    rows = [
        f"{revision},b{number},{machine},ms,{20 * (1 + 0.002 * (place % 3))}"
        for place, revision in enumerate(hashes)
        for number in range(6)
        for machine in ("linux", "mac")
        if machine == "linux" or place < 20
    ]
    (tmp_path / "results.csv").write_text("\n".join(["commit,benchmark,os,unit,value", *rows]) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert knick("init", "--repository", "library=library").code == 0
    assert knick("import", tmp_path / "results.csv").code == 0
    assert knick("run").code == 0
    return repository


@pytest.mark.usefixtures("followed")
def test_traces_that_stopped_together_are_noticed_as_one_job(knick: Knick) -> None:
    (row,) = [row for row in doctor(knick) if row["state"] != "good"]
    assert row["about"] == "silence in library"
    assert row["observed"].startswith("6 traces (os=mac) have no results at the last 10 measured commits")


def test_the_doctor_notices_that_a_git_repository_is_gone(knick: Knick, followed: Path) -> None:
    followed.rename(followed.with_name("moved"))
    (row,) = [row for row in doctor(knick) if row["about"] == "git repository of library"]
    assert row["state"] == "warning"
    assert "there is no such directory" in row["observed"]
    assert str(followed) in row["observed"]
    assert "Correct the location" in row["remedy"]


def test_the_doctor_notices_that_a_whole_job_stopped(knick: Knick, followed: Path) -> None:
    configure('[missing]\nquery = "os=linux"\n')
    ran = knick("doctor")
    assert (ran.code, "nothing was measured" in ran.output) == (0, False)
    commit(followed, 5)
    ran = knick("doctor", "--format", "json")
    (row,) = [row for row in json.loads(ran.output) if row["state"] != "good"]
    assert ran.code == 1
    assert row["observed"].startswith("nothing was measured at the last 5 commits, since ")
    assert row["observed"].endswith("it was at every commit")


def test_a_quiet_new_instance_is_healthy(knick: Knick, instance: Path) -> None:
    knick("import", series(instance / "series.csv"))
    knick("run")
    ran = knick("doctor", "--format", "json")
    assert (ran.code, {row["state"] for row in json.loads(ran.output)}) == (0, {"good"})
    observed = {row["about"]: row["observed"] for row in json.loads(ran.output)}
    assert observed["events"] == "no events waiting, none failed"
    assert observed["alert default"].endswith("no findings yet")


@pytest.mark.parametrize(("factor", "code"), [(1.0, 0), (1.5, 1)])
def test_a_canary_that_moved_is_told_by_check_and_fails_nothing(
    knick: Knick, instance: Path, factor: float, code: int
) -> None:
    configure('[canaries.machine]\nquery = "benchmark=canary"\n')
    knick("import", series(instance / "series.csv"))
    new = instance / "new.csv"
    new.write_text(f"benchmark,unit,value\nsort,ms,{20 * factor}\nfind,ms,5\ncanary,ms,15\n", encoding="utf-8")
    ran = knick("check", new)
    assert (ran.code, "the canary" in ran.errors, "in doubt" in ran.errors) == (code, True, True)


def test_a_canary_that_vanished_is_named_by_check_and_fails_nothing(knick: Knick, instance: Path) -> None:
    configure('[canaries.machine]\nquery = "benchmark=canary"\n')
    knick("import", series(instance / "series.csv"))
    new = instance / "new.csv"
    new.write_text("benchmark,unit,value\nsort,ms,20\nfind,ms,5\n", encoding="utf-8")
    ran = knick("check", new)
    assert (ran.code, "the canary ,benchmark=canary, has no value (vanished" in ran.errors) == (0, True)


@pytest.mark.usefixtures("instance")
def test_canaries_alone_are_no_data_to_judge_by(knick: Knick) -> None:
    configure('[canaries.machine]\nquery = "benchmark=canary"\n')
    knick("import", series(Path("series.csv")))
    Path("new.csv").write_text("benchmark,unit,value\ncanary,ms,10\n", encoding="utf-8")
    assert knick("check", "new.csv").code == 3


def test_a_worker_that_fails_is_found_by_the_doctor(knick: Knick, judged: Path) -> None:
    from knickpoint.instance import open_instance

    with open_instance(judged) as opened:
        opened.store.workers.report("lab/1/2", started=1e9, failures=4, reason="sources: the disk is gone")
    (row,) = [row for row in doctor(knick) if row["about"] == "worker lab/1/2"]
    assert (row["state"], "4 times in a row: sources: the disk is gone" in row["observed"]) == ("warning", True)


@pytest.mark.usefixtures("judged")
def test_a_round_of_work_leaves_no_worker_behind(knick: Knick) -> None:
    knick("worker", "--once")
    assert not [row for row in doctor(knick) if row["about"].startswith("worker")]


@pytest.mark.usefixtures("judged")
def test_tickets_are_put_listed_and_removed(knick: Knick) -> None:
    Path("tickets.csv").write_text("name,commit,url\nPERF-1,73106d259b,https://t.example/1\n", encoding="utf-8")
    before = knick("changes").output
    ran = knick("tickets", "put", "tickets.csv")
    assert (ran.code, ran.output.startswith("Imported 1 ticket; ")) == (0, True)
    assert not any("73106d259b" in line and "undone at" not in line for line in knick("changes").output.splitlines())
    (row,) = json.loads(knick("tickets", "list", "--format", "json").output)
    assert (row["name"], row["commit"][:10], row["url"]) == ("PERF-1", "73106d259b", "https://t.example/1")
    assert knick("tickets", "remove", "PERF-1").code == 0
    assert knick("changes").output == before
    ran = knick("tickets", "remove", "PERF-1")
    assert (ran.code, "there is no ticket 'PERF-1'" in ran.errors) == (2, True)


@pytest.mark.usefixtures("judged")
def test_tickets_come_from_standard_input(knick: Knick, monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.TextIOWrapper(io.BytesIO(b'[{"name": "T-1", "commit": "73106d259b"}]'))
    monkeypatch.setattr(sys, "stdin", given)
    assert knick("tickets", "put", "-").code == 0
    assert "T-1" in knick("tickets", "list").output


@pytest.mark.usefixtures("judged")
def test_a_ticket_about_an_unknown_commit_is_refused_in_one_line(knick: Knick) -> None:
    Path("tickets.csv").write_text("name,commit\nPERF-1,feedfacefeed\n", encoding="utf-8")
    ran = knick("tickets", "put", "tickets.csv")
    assert (ran.code, ran.errors.count("\n"), "tickets.csv, row 1" in ran.errors) == (2, 1, True)


@pytest.mark.long
def test_a_server_that_is_terminated_ends_its_worker_in_order(judged: Path) -> None:
    from knickpoint.instance import open_instance

    configure('[ingest.sources.here]\nlocation = "results"\n')
    (judged / "results").mkdir()
    path = series(judged / "results" / "series.csv")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    command = [sys.executable, "-m", "knickpoint.cli", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=judged, stdout=subprocess.PIPE, text=True) as served:
        limit = threading.Timer(60, served.kill)
        limit.start()
        assert served.stdout is not None
        for line in served.stdout:
            if "series.csv" in line:
                served.terminate()
                break
        served.stdout.read()
        code = served.wait()
        limit.cancel()
    assert code == 0
    with open_instance(judged) as opened:
        assert opened.store.workers.all() == []


def stepping(path: Path, unit: str) -> Path:
    """Write 30 commits of one benchmark that steps up by a third."""
    rows = [
        f"{number + 1:040x},2026-01-{number + 1:02},sort,{unit},{(40 if number >= 20 else 30) + number % 3 / 50}"
        for number in range(30)
    ]
    path.write_text("\n".join(["commit,time,benchmark,unit,value", *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.usefixtures("instance")
def test_an_import_as_json_says_which_rows_became_samples(knick: Knick) -> None:
    Path("a.csv").write_text("commit,time,benchmark,rep,value\n" + "7,2026-01-01,sort,1,3\n" * 2, encoding="utf-8")
    row = json.loads(knick("import", "a.csv", "--format", "json").output)[0]
    assert (row["sample_rows"], row["sampled_points"], row["repeated"]) == (2, 1, ["2 of sort"])


@pytest.mark.usefixtures("instance")
def test_a_configured_direction_turns_findings_that_are_there_once_it_is_accepted(knick: Knick) -> None:
    imported = knick("import", stepping(Path("a.csv"), "widgets/s"), "--format", "json")
    assert json.loads(imported.output)[0]["without_direction"] == ["1 in widgets/s"]

    def findings(*options: str) -> list[tuple[str, str, str]]:
        assert knick("run", *options).code == 0
        rows = change_points(knick, "--status", "all")
        return [(row["id"], row["direction"], row["status"]) for row in rows]

    assert findings() == [("P1", "unknown", "new")]
    assert knick("triage", "P1", "--as", "acknowledged").code == 0
    configure('[directions.widgets]\nquery = "benchmark=sort"\nbetter = "lower"\n')
    assert findings() == [("P1", "unknown", "acknowledged")]
    assert "1 finding would turn, because another direction" in knick("run").output
    (row,) = [row for row in doctor(knick) if row["about"].startswith("direction in ")]
    assert row["observed"].startswith(
        "1 finding in 1 trace would turn, because another direction is better now, as in ,"
    )
    assert findings("--turn-findings") == [("P1", "regression", "acknowledged")]
    assert not [row for row in doctor(knick) if row["about"].startswith("direction in ")]
    assert "leave out --alert" in knick("run", "--turn-findings", "--alert", "default").errors


@pytest.mark.usefixtures("instance")
def test_traces_without_a_direction_are_information_for_the_doctor(knick: Knick) -> None:
    knick("import", stepping(Path("a.csv"), "widgets/s"))
    (row,) = [row for row in doctor(knick) if row["about"] == "directions in main"]
    assert (row["state"], row["observed"].split(":")[0]) == ("good", "1 trace has no direction (1 in widgets/s)")
