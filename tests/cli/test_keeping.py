"""Export, backup, explanations and verdicts on the command line."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.cli.conftest import EXAMPLE, Knick
from tests.repositories import GitRepository

from knickpoint.instance import open_instance
from knickpoint.store import EventKind
from knickpoint.store.events import FindingsDecided, TracesChanged


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.usefixtures("judged")
def test_detect_on_an_export_finds_what_run_found(knick: Knick, tmp_path: Path) -> None:
    (tmp_path / "points.csv").write_text(knick("export").output)
    steps = _rows(knick("detect", tmp_path / "points.csv", "--format", "csv").output)
    commits = {(row["id"], row["pos"]): row["commit"] for row in _rows((tmp_path / "points.csv").read_text())}
    found = _rows(knick("changes", "--format", "csv").output)
    assert {(step["id"], commits[step["id"], step["pos"]]) for step in steps} == {
        (row["members.trace.key"], row["members.commit.hash"]) for row in found
    }


@pytest.mark.usefixtures("judged")
def test_an_export_does_not_depend_on_the_instance(knick: Knick, tmp_path: Path) -> None:
    knick("init", tmp_path / "other")
    knick("import", EXAMPLE, "--instance", tmp_path / "other")
    assert knick("export").output == knick("export", "--instance", tmp_path / "other").output


@pytest.mark.usefixtures("judged")
def test_json_and_csv_export_the_same_points(knick: Knick) -> None:
    as_json = json.loads(knick("export", "--format", "json").output)
    assert [{name: str(value) for name, value in row.items()} for row in as_json] == _rows(knick("export").output)


@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_an_export_that_is_imported_elsewhere_gives_the_same_export(knick: Knick, tmp_path: Path, kind: str) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    knick("export", "--format", kind, "--output", tmp_path / f"points.{kind}")
    knick("init", tmp_path / "other")
    for _ in range(2):
        knick("import", tmp_path / f"points.{kind}", "--instance", tmp_path / "other")
    assert knick("export", "--instance", tmp_path / "other").output == knick("export").output


def test_an_export_of_commits_of_which_nothing_tells_a_time_has_none(knick: Knick, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("commit,benchmark,value,unit,better\nname:first,a,1.5,points,higher\n")
    knick("init", tmp_path / "bare")
    knick("import", tmp_path / "a.csv", "--order", "given", "--instance", tmp_path / "bare")
    (row,) = _rows(knick("export", "--instance", tmp_path / "bare").output)
    assert (row["better"], row["commit_time"]) == ("higher", "")


@pytest.mark.parametrize("measured", ["", "2026-03-01T00:00:00Z"])
def test_an_export_has_the_time_of_a_commit_of_which_only_that_is_known(
    knick: Knick, tmp_path: Path, measured: str
) -> None:
    rows = [f"{name * 10},2026-01-0{day}T00:00:00Z,{measured},a,{day},ms\n" for name, day in (("a", 2), ("b", 1))]
    (tmp_path / "a.csv").write_text("commit,commit_time,time,benchmark,value,unit\n" + "".join(rows))
    knick("init", tmp_path / "dated")
    knick("import", tmp_path / "a.csv", "--instance", tmp_path / "dated")
    found = _rows(knick("export", "--instance", tmp_path / "dated").output)
    assert [(row["commit"], row["commit_time"]) for row in found] == [
        ("b" * 10, "2026-01-01T00:00:00Z"),
        ("a" * 10, "2026-01-02T00:00:00Z"),
    ]


@pytest.mark.usefixtures("judged")
def test_a_query_narrows_an_export(knick: Knick) -> None:
    assert {row["id"] for row in _rows(knick("export", "--query", "benchmark=parse_csv").output)} == {
        ",benchmark=parse_csv,"
    }


@pytest.mark.usefixtures("judged")
def test_a_restored_instance_has_the_same_findings_and_decisions(knick: Knick, tmp_path: Path) -> None:
    knick("triage", "--commit", "73106d259b", "--as", "hidden")
    knick("backup", tmp_path / "saved.tar")
    knick("restore", tmp_path / "saved.tar", tmp_path / "again")
    listed = ("changes", "--status", "all")
    assert knick(*listed).output == knick(*listed, "--instance", tmp_path / "again").output


@pytest.mark.usefixtures("judged")
def test_a_backup_never_overwrites_a_file(knick: Knick, tmp_path: Path) -> None:
    (tmp_path / "mine.tar").write_text("mine")
    assert knick("backup", tmp_path / "mine.tar").code == 2
    assert (tmp_path / "mine.tar").read_text() == "mine"


@pytest.mark.usefixtures("judged")
def test_restoring_over_an_instance_is_refused(knick: Knick, tmp_path: Path, judged: Path) -> None:
    knick("backup", tmp_path / "saved.tar")
    assert knick("restore", tmp_path / "saved.tar", judged).code == 2


def test_restoring_from_something_else_is_refused_and_leaves_nothing(knick: Knick, tmp_path: Path) -> None:
    assert knick("restore", EXAMPLE, tmp_path / "new").code == 2
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("judged")
def test_explain_names_the_step_and_its_finding(knick: Knick) -> None:
    output = knick("explain", "benchmark=parse_csv", "--verbose").output
    assert "step at 55af290088 Allow commas inside quoted fields" in output


@pytest.mark.usefixtures("judged")
def test_explain_gives_json_with_every_candidate(knick: Knick) -> None:
    explained = json.loads(knick("explain", "benchmark=parse_csv", "--format", "json").output)
    assert explained[0]["alerts"][0]["candidates"]


@pytest.mark.usefixtures("judged")
def test_explain_gives_the_numbers_of_a_step_beside_its_place(knick: Knick) -> None:
    (explained,) = json.loads(knick("explain", "benchmark=parse_csv", "--format", "json").output)
    (step,) = explained["alerts"][0]["steps"]
    for found in (step["sighting"], step["point"]):
        assert set(found["place"]) == {"line", "previous", "slot"}
        assert found["size"] == found["after_level"] - found["before_level"]
        assert "numbers" not in found


@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize(("trace", "named"), [("benchmark=none", "no trace matches"), ("unit!=x", "several traces")])
def test_explain_wants_exactly_one_trace(knick: Knick, trace: str, named: str) -> None:
    ran = knick("explain", trace)
    assert (ran.code, named in ran.errors) == (2, True)


def _results(place: Path, factor: float) -> Path:
    place.write_text(
        "benchmark,unit,value,commit\n"
        + "".join(
            f"{name},us,{value if place % 3 else factor * value},0123456789abcdef\n"
            for place, (name, value) in enumerate(_NEWEST.items())
        )
    )
    return place


_NEWEST = {row["benchmark"]: float(row["value"]) for row in _rows(EXAMPLE.read_text())}
"""Benchmark → its last value in the example."""


@pytest.mark.usefixtures("judged")
@pytest.mark.parametrize(("factor", "code"), [(1.0, 0), (2.0, 1), (0.5, 0)])
def test_check_exits_with_one_only_when_something_is_worse(
    knick: Knick, tmp_path: Path, factor: float, code: int
) -> None:
    assert knick("check", _results(tmp_path / "new.csv", factor)).code == code


@pytest.mark.usefixtures("judged")
def test_check_keeps_nothing_of_the_results(knick: Knick, tmp_path: Path) -> None:
    before = knick("export").output
    knick("check", _results(tmp_path / "new.csv", 2.0))
    assert knick("export").output == before


@pytest.mark.usefixtures("judged")
def test_check_exits_with_three_when_the_history_knows_none_of_it(knick: Knick, tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("benchmark,unit,value,commit\nunheard_of,us,1.0,0123456789abcdef\n")
    assert knick("check", tmp_path / "new.csv").code == 3


@pytest.mark.usefixtures("instance")
def test_check_without_any_history_exits_with_three(knick: Knick, tmp_path: Path) -> None:
    assert knick("check", _results(tmp_path / "new.csv", 1.0)).code == 3


@pytest.mark.usefixtures("judged")
def test_check_of_a_repository_that_the_instance_does_not_know_exits_with_two(knick: Knick, tmp_path: Path) -> None:
    ran = knick("check", _results(tmp_path / "new.csv", 1.0), "--repository", "typo")
    assert ran.code == 2
    assert "typo" in ran.errors


def test_init_writes_where_a_repository_lies_as_seen_from_the_instance(
    knick: Knick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    GitRepository.make(tmp_path / "mylib")
    monkeypatch.chdir(tmp_path / "mylib")
    knick("init", "deep/inside", "--repository", "mylib=.")
    assert 'location = "../.."' in (tmp_path / "mylib/deep/inside/knickpoint.toml").read_text()


@pytest.mark.usefixtures("judged")
def test_the_doctor_finds_a_healthy_instance_healthy(knick: Knick) -> None:
    assert knick("doctor").code == 0


@pytest.mark.usefixtures("judged")
def test_a_deep_look_counts_rows_by_their_checksums(knick: Knick) -> None:
    ran = knick("doctor", "--deep", "--format", "json")
    (row,) = [row for row in json.loads(ran.output) if row["about"] == "checksums"]
    assert (ran.code, row["state"], "without a checksum" in row["observed"]) == (0, "good", False)


def test_a_deep_look_names_what_is_damaged(knick: Knick, judged: Path) -> None:
    with closing(sqlite3.connect(judged / "knickpoint.db")) as connection:
        connection.execute("UPDATE sealed_tile SET data = zeroblob(length(data)) WHERE rowid = 1")
        connection.commit()
    ran = knick("doctor", "--deep", "--format", "json")
    (row,) = [row for row in json.loads(ran.output) if row["about"].startswith("damage")]
    assert (ran.code, row["state"]) == (1, "warning")
    assert "sealed_tile (chunk " in row["observed"]
    assert "benchmark=" in row["observed"]
    assert "knick restore" in row["remedy"]
    assert all(row["about"] != "checksums" for row in json.loads(knick("doctor", "--format", "json").output))


@pytest.mark.usefixtures("judged")
def test_the_doctor_reports_files_that_were_refused(knick: Knick, tmp_path: Path) -> None:
    (tmp_path / "empty.json").touch()
    knick("import", tmp_path / "empty.json")
    ran = knick("doctor")
    assert (ran.code, "refused" in ran.output) == (1, True)


@pytest.mark.usefixtures("instance")
def test_a_refused_file_is_listed_with_its_reason(knick: Knick, tmp_path: Path) -> None:
    (tmp_path / "empty.json").touch()
    knick("import", tmp_path / "empty.json")
    listed = json.loads(knick("ingest", "quarantine", "--format", "json").output)
    assert [(Path(row["source"]).name, "empty" in row["problems"][0]) for row in listed] == [("empty.json", True)]


@pytest.mark.usefixtures("instance")
def test_files_that_are_tried_again_are_listed_once(knick: Knick, tmp_path: Path) -> None:
    assert knick("ingest", "retry").output == "Nothing was refused, and nothing waits.\n"
    (tmp_path / "untimed.csv").write_text("commit,ms\nc0ffee1,1\n")
    knick("import", tmp_path / "untimed.csv")
    ran = knick("ingest", "retry")
    assert (ran.code, ran.output.count("\n"), "no results" in ran.output) == (2, 1, False)


@pytest.mark.usefixtures("instance")
def test_an_export_of_several_repositories_is_refused_with_the_way_to_bring_each_in(
    knick: Knick, tmp_path: Path
) -> None:
    table = tmp_path / "times.csv"
    table.write_text("commit,time,ms\nc0ffee1,2026-01-01,1\n")
    for name in ("first", "second"):
        knick("import", table, "--repository", name)
    whole, part, elsewhere = (tmp_path / name for name in ("whole.json", "part.json", "elsewhere"))
    knick("export", "--format", "json", "--output", whole)
    knick("init", elsewhere)
    refused = knick("import", whole, "--instance", elsewhere)
    assert (refused.code, "knick export --repository" in refused.output) == (2, True)
    knick("export", "--format", "json", "--output", part, "--repository", "second")
    assert knick("import", part, "--instance", elsewhere).code == 0
    exported = knick("export", "--instance", elsewhere).output
    assert exported == knick("export", "--repository", "second").output


@pytest.mark.usefixtures("judged")
def test_alerts_that_were_applied_are_listed_as_applied(knick: Knick) -> None:
    knick("alerts", "apply")
    assert [row["state"] for row in json.loads(knick("alerts", "list", "--format", "json").output)] == ["applied"]


@pytest.mark.usefixtures("instance")
def test_a_worker_judges_what_was_imported(knick: Knick) -> None:
    knick("import", EXAMPLE)
    knick("worker", "--once")
    assert json.loads(knick("changes", "--format", "json").output)


@pytest.mark.usefixtures("instance")
def test_the_doctor_counts_events_that_wait_and_that_failed(knick: Knick, instance: Path) -> None:
    knick("import", EXAMPLE)
    with open_instance(instance) as opened:
        outbox = opened.store.outbox
        outbox.publish(FindingsDecided("main", decided=0, changes=()))
        for _ in range(5):
            assert outbox.claim([EventKind.CHANGES_UPDATED], "one", 0.0, 1)
        assert outbox.claim([EventKind.CHANGES_UPDATED], "one", 0.0, 1) == []
    rows = [row for row in json.loads(knick("doctor", "--format", "json").output) if row["about"] == "events"]
    assert [row["state"] for row in rows] == ["good", "warning"]
    assert "1 traces-changed for main" in rows[0]["observed"]
    assert "1 failed for good" in rows[1]["observed"]


@pytest.mark.usefixtures("instance")
def test_the_doctor_says_of_an_alert_whose_first_run_has_not_ended_what_is_known(knick: Knick, instance: Path) -> None:
    def said() -> tuple[str, str]:
        rows = json.loads(knick("doctor", "--format", "json").output)
        return next((row["state"], row["observed"]) for row in rows if row["about"] == "alert default")

    knick("import", EXAMPLE)
    assert said() == ("warning", "it has not completed a run yet; no worker is running")
    with open_instance(instance) as opened:
        opened.store.workers.report("one", started=datetime.now(UTC).timestamp(), failures=0, reason="")
        state, text = said()
        assert (state, text.partition(" since ")[0]) == (
            "good",
            "it has not completed a run yet; a worker has been running",
        )
        (event,) = opened.store.outbox.claim([EventKind.TRACES_CHANGED], "one", 60.0, 1)
    assert said() == (
        "good",
        (
            "it has not completed a run yet; a run is in progress over results that arrived at"
            f" {event.created:%Y-%m-%d %H:%M} UTC"
        ),
    )


@pytest.mark.usefixtures("instance")
def test_a_worker_tries_failed_events_again_when_told(knick: Knick, instance: Path) -> None:
    with open_instance(instance) as opened:
        opened.store.outbox.publish(TracesChanged("main", slots=(), runs=(), traces={"count": 0}))
        for _ in range(5):
            assert opened.store.outbox.claim([EventKind.TRACES_CHANGED], "one", 0.0, 1)
        opened.store.outbox.claim([EventKind.TRACES_CHANGED], "one", 0.0, 1)
        assert len(opened.store.outbox.dead()) == 1
    assert knick("worker", "--once", "--retry-events").code == 0
    with open_instance(instance) as opened:
        assert (opened.store.outbox.dead(), opened.store.outbox.pending()) == ([], [])
