"""The page of a trace plots what its changes were found in: medians, or another number of the samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.server.client import Client

from knickpoint.ingest import import_files
from knickpoint.instance import create_instance, open_instance
from knickpoint.server import create_app
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.lines import Lines
from knickpoint.watch.trend import read_trend

COMMITS, SLOWER = 40, 25


def make_tails(directory: Path, alerts: str = "") -> Path:
    """Make an instance of a trace whose slowest twentieth gets slower at a commit, with an alert on its p95."""
    rng = np.random.default_rng(4)
    rows = ["commit,commit_time,benchmark,unit,value"]
    for commit in range(COMMITS):
        tail = 20 if commit < SLOWER else 30
        samples = [*rng.normal(10, 0.1, 36), *rng.normal(tail, 0.1, 4)]
        time = f"2026-01-{1 + commit // 24:02}T{commit % 24:02}:00:00Z"
        rows += [f"{commit + 1:040x},{time},latency,ms,{value:.4f}" for value in samples]
    results = directory.parent / "tails.csv"
    results.write_text("\n".join(rows) + "\n", encoding="utf-8")
    with create_instance(directory) as made:
        import_files(made, [results])
    with (directory / "knickpoint.toml").open("a", encoding="utf-8") as file:
        file.write(f'\n[alerts.tail]\nsummary = "p95"\n{alerts}')
    with open_instance(directory) as instance:
        run_alerts(instance.store, instance.alerts)
    return directory


@pytest.fixture
def tails(tmp_path: Path) -> Any:
    with open_instance(make_tails(tmp_path / "instance")) as instance:
        yield Client(create_app(instance))


def values(client: Client, **params: str) -> dict[str, Any]:
    answer = client.get("/api/v1/values", params={"traces": "0", **params}, headers={"accept": "application/json"})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()[0]
    return found


def test_values_of_a_summary_are_those_that_an_alert_judges(tails: Client) -> None:
    assert max(values(tails)["values"]) < 11
    found = values(tails, summary="p95")
    assert found["measured"] == COMMITS
    assert max(found["values"][:SLOWER]) < 22
    assert min(found["values"][SLOWER:]) > 28
    assert values(tails, summary="p99") == {"trace": 0, "measured": 0, "positions": [], "values": []}


def test_changes_say_what_they_were_found_in_with_the_regions_of_that(tails: Client) -> None:
    found = tails.get("/api/v1/traces/0/change-points").json()
    [change] = found["change_points"]
    [summary] = found["summaries"]
    assert (summary["summary"], summary["change_points"]) == ("p95", [change["id"]])
    assert [round(region["median"], -1) for region in summary["regions"]] == [20, 30]
    assert summary["regions"][1]["first"] == SLOWER
    assert len(found["regions"]) == 1


def test_pictures_draw_what_their_change_was_found_in_and_say_so(tails: Client) -> None:
    drawn = tails.get("/api/v1/traces/0/plot.svg").text
    assert "p95 of the samples" in drawn
    assert ">30 ms<" in drawn


def test_the_picture_of_a_message_has_the_values_that_its_alert_judged(tmp_path: Path) -> None:
    with open_instance(make_tails(tmp_path / "instance")) as instance:
        [repository] = instance.store.commits.repositories()
        [trace] = instance.store.traces.get([0])
        [point] = instance.store.findings.change_points(trace.id)
        lines = Lines(instance.store, repository)
        trend = read_trend(instance.store, lines, trace, lines.default, focus=point, near=10)
    assert trend.params == "p95 of the samples"
    assert [min(trend.values[:10]) > 18, min(trend.values[10:]) > 28] == [True, True]
    assert len(trend.positions) == 20


@pytest.mark.parametrize(
    ("params", "error"),
    [({"summary": "p0"}, "no summary 'p0'"), ({"traces": ",".join(map(str, range(17)))}, "no trace")],
)
def test_a_summary_that_cannot_be_read_is_refused(tails: Client, params: dict[str, str], error: str) -> None:
    answer = tails.get("/api/v1/values", params={"traces": "0", "summary": "p95", **params})
    assert answer.status_code in {400, 404}
    assert error in answer.json()["error"]
