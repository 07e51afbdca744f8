"""The overview: what happened since a time, sums of traces, and settings of people."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, event
from tests.server.client import Client
from tests.server.story import COMMITS, FASTER, REPOSITORY, SLOWER, commit_hash

from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import Instance, create_instance, open_instance
from knickpoint.model.alert import Alert
from knickpoint.server import create_app
from knickpoint.watch.alert_run.run import run_alerts

LONG_AGO = "1970-01-01T00:00:00Z"


def test_the_overview_counts_what_waits_and_shows_the_largest_changes(reader: Client) -> None:
    found = reader.get("/api/v1/overview", params={"since": LONG_AGO}).json()
    assert found["waiting"] == 2
    assert [group["commit"]["subject"] for group in found["largest"]] == ["Check every bracket"]
    assert (found["mine"], found["canaries"], found["quarantined"], found["failing"], found["devices"]) == (
        0,
        0,
        0,
        [],
        [],
    )


def test_changes_that_no_alert_watches_any_more_are_counted(client: Client, instance: Instance) -> None:
    asked = {"since": LONG_AGO}
    assert client.get("/api/v1/overview", params=asked).json()["unwatched"] == 0
    instance.store.findings.alerts_in_force.replace([Alert("other", query="benchmark=none")])
    assert client.get("/api/v1/overview", params=asked).json()["unwatched"] == 2


def test_what_was_announced_since_a_time_is_news(reader: Client) -> None:
    found = reader.get("/api/v1/overview", params={"since": LONG_AGO}).json()
    assert found["announced"] == {"regressed": 1, "improved": 1}
    assert {item["commit"]["subject"] for item in found["news"]} == {"Check every bracket", "Read files ahead"}
    later = reader.get("/api/v1/overview", params={"since": "2100-01-01T00:00:00Z"}).json()
    assert (later["announced"], later["news"]) == ({}, [])


def statements_of_overview(instance: Instance, alerts: int) -> int:
    """Count the statements of one overview of an instance with so many alerts."""
    named = {f"alert-{number}": Alert(f"alert-{number}") for number in range(alerts)}
    reader = Client(create_app(replace(instance, config=replace(instance.config, alerts=named))))
    sent: list[str] = []

    def listen(*call: object) -> None:
        sent.append(str(call[2]))

    event.listen(Engine, "before_cursor_execute", listen)
    try:
        assert reader.get("/api/v1/overview", params={"since": LONG_AGO}).status_code == 200
    finally:
        event.remove(Engine, "before_cursor_execute", listen)
    return len(sent)


def test_the_overview_of_many_alerts_takes_as_many_statements_as_that_of_one(instance: Instance) -> None:
    statements_of_overview(instance, 1)  # the first answer fills caches
    assert statements_of_overview(instance, 50) == statements_of_overview(instance, 1)


def test_what_is_assigned_to_the_caller_is_counted(client: Client) -> None:
    (first, *_) = client.get("/api/v1/changes").json()["changes"]
    name = client.get("/api/v1/me").json()["name"]
    client.post("/api/v1/triage", json={"ids": [member["id"] for member in first["members"]], "assignee": name})
    assert client.get("/api/v1/overview", params={"since": LONG_AGO}).json()["mine"] == 1


def test_sums_show_the_direction_of_all_traces_and_of_parts(reader: Client) -> None:
    found = reader.get("/api/v1/trends", params={"commits": COMMITS, "by": "benchmark"}).json()
    changes = {part["value"]: part["change"] for part in found["parts"]}
    assert changes == pytest.approx({"idle": 0, "load": -0.2, "parse": 0.25, "print": 0.22}, abs=0.01)
    expected = (1.25 * 1.22 * 0.8) ** 0.25 - 1
    assert found["total"]["low"] < expected < found["total"]["high"]
    (parse,) = (part for part in found["parts"] if part["value"] == "parse")
    assert [(found["positions"][mark["index"]], mark["direction"]) for mark in parse["marks"]] == [
        (SLOWER, "regression")
    ]
    assert [part["value"] for part in found["parts"]] == ["parse", "print", "idle", "load"], "the worst first"
    assert parse["marks"][0]["size"] == pytest.approx(math.log(1.25), abs=0.01)
    assert [mark["undone"] for mark in parse["marks"]] == [False]
    assert {mark["change"] for mark in found["total"]["marks"]} >= {mark["change"] for mark in parse["marks"]}
    assert len(found["times"]) == len(found["positions"])
    (load,) = (part for part in found["parts"] if part["value"] == "load")
    assert load["measured"][FASTER - 1] == 0
    assert load["measured"][FASTER] == 1


def test_a_small_loss_does_not_mark_a_large_gain_of_the_same_commit_as_worse(tmp_path: Path) -> None:
    lines = ["commit,commit_time,benchmark,unit,value"]
    for position in range(COMMITS):
        time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=position)
        new = position >= SLOWER
        for name, value in (("a", 108 if new else 100), ("b", 30 if new else 100)):
            lines.append(f"{commit_hash(position)},{time.isoformat()},{name},ms,{value + position % 3 / 10}")
    create_instance(tmp_path / "mixed", repositories={REPOSITORY: ""}).close()
    with open_instance(tmp_path / "mixed") as opened:
        import_data(opened, "\n".join(lines).encode(), source="mixed.csv", stated=Sidecar(repository=REPOSITORY))
        run_alerts(opened.store, opened.alerts)
        found = Client(create_app(opened)).get("/api/v1/trends", params={"by": "benchmark"}).json()
    (mark,) = found["total"]["marks"]
    assert (mark["direction"], mark["findings"]) == ("improvement", 2)
    assert mark["size"] == pytest.approx(math.log(100 / 30), abs=0.02)


def test_a_sum_of_traces_for_which_higher_is_better_rises_with_them(tmp_path: Path) -> None:
    lines = ["commit,commit_time,benchmark,unit,value"]
    for position in range(COMMITS):
        time = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=position)
        new = position >= SLOWER
        values = (("rate", "ops/s", 250 if new else 100), ("time", "ms", 40 if new else 100))
        lines += [
            f"{commit_hash(position)},{time.isoformat()},{name},{unit},{value + position % 3 / 10}"
            for name, unit, value in values
        ]
    create_instance(tmp_path / "rates", repositories={REPOSITORY: ""}).close()
    with open_instance(tmp_path / "rates") as opened:
        import_data(opened, "\n".join(lines).encode(), source="rates.csv", stated=Sidecar(repository=REPOSITORY))
        found = Client(create_app(opened)).get("/api/v1/trends", params={"by": "benchmark"}).json()
    parts = {part["value"]: part for part in found["parts"]}
    assert {name: part["better"] for name, part in parts.items()} == {"rate": "higher", "time": "lower"}
    assert parts["rate"]["change"] == pytest.approx(1.5, abs=0.01)
    assert parts["rate"]["low"] <= parts["rate"]["change"] <= parts["rate"]["high"]
    assert parts["rate"]["points"][-1] == pytest.approx(2.5, abs=0.02)
    assert (found["total"]["better"], found["total"]["change"]) == ("lower", pytest.approx(-0.6, abs=0.01))


def test_a_param_that_does_not_part_the_traces_is_refused_with_those_that_do(reader: Client) -> None:
    answer = reader.get("/api/v1/trends", params={"by": "suite"})
    assert answer.status_code == 404
    assert "benchmark" in answer.json()["remedy"]


def test_without_sign_in_the_browser_keeps_settings(client: Client) -> None:
    assert client.get("/api/v1/me/settings").json() == {"kept": False, "values": {}}
    assert client.ask("PUT", "/api/v1/me/settings/views", json={"value": "x"}).status_code == 400
