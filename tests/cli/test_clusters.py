"""Clusters through the whole product: import, alerts, triage, more results, and what a user sees of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.server.client import Client

from knickpoint.instance import open_instance
from knickpoint.server import create_app

from .conftest import Knick, api, change_points

ALERT = """
[alerts.together]
method = "cluster"
direction = "both"
parameters = { k = 4, interesting = 1.0 }
"""
NAMES = tuple(f"b{number}" for number in range(8))
STEPS = dict.fromkeys(NAMES[:4], 30)


def table(place: Path, steps: Mapping[str, int], commits: range) -> Path:
    """Write results of some commits; the benchmarks in ``steps`` get slower by a quarter at that commit."""
    rows = ["commit,time,benchmark,suite,ms"]
    for commit in commits:
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=commit)
        for number, name in enumerate(NAMES):
            wobble = 1 + 0.002 * ((commit * 7 + number * 3) % 11 - 5)
            slower = 1.25 if commit >= steps.get(name, 1_000) else 1.0
            suite = "json" if number < 6 else "xml"
            rows.append(f"{commit:040x},{moment.isoformat()},{name},{suite},{(20 + number) * wobble * slower}")
    place.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return place


@pytest.fixture
def clustered(knick: Knick, instance: Path) -> str:
    """Make an instance whose alert found a cluster of four benchmarks, and return the id of its change."""
    settings = instance / "knickpoint.toml"
    settings.write_text(settings.read_text() + ALERT)
    assert knick("import", table(instance / "first.csv", STEPS, range(1, 61))).code == 0
    assert knick("run").code == 0
    (found,) = {row["id"] for row in json.loads(knick("changes", "--format", "json").output)}
    return str(found)


def rows(knick: Knick, change: str) -> dict[str, dict[str, object]]:
    (cluster,) = json.loads(knick("clusters", change, "--format", "json").output)
    return {row["key"].split("benchmark=")[1][:2]: row for row in cluster["members"]}


def test_decisions_stay_while_a_cluster_grows_and_new_members_are_told_from_old_ones(
    knick: Knick, instance: Path, clustered: str
) -> None:
    assert knick("triage", clustered, "--as", "hidden", "--note", "noise").code == 0

    # Corrected results show that b0 did not move and that b4 and b5 did; more commits come after them.
    later = {**dict.fromkeys(NAMES[1:6], 30)}
    assert knick("import", table(instance / "first.csv", later, range(1, 61))).code == 0
    assert knick("import", table(instance / "second.csv", later, range(61, 81))).code == 0
    assert knick("run").code == 0
    found = rows(knick, clustered)
    assert {name: (row["state"], row["joined"]) for name, row in found.items()} == {
        "b0": ("former", False),
        **dict.fromkeys(NAMES[1:4], ("member", False)),
        **dict.fromkeys(NAMES[4:6], ("member", True)),
    }
    listed = change_points(knick, "--status", "all")
    assert {row["change"] for row in listed} == {clustered}
    statuses = {row["trace"]["key"].split("benchmark=")[1][:2]: row["status"] for row in listed}
    assert {name for name, status in statuses.items() if status == "hidden"} == set(NAMES[1:4])
    assert {name for name, status in statuses.items() if status == "new"} == set(NAMES[4:6])


@pytest.mark.usefixtures("clustered")
def test_explain_says_why_a_trace_belongs(knick: Knick) -> None:
    printed = knick("explain", "benchmark=b1").output
    assert "of cluster C1, among its first members, in run 1" in printed
    assert "p of its own step" in printed
    assert "change point P" in printed


def test_clusters_say_what_their_members_have_in_common(knick: Knick, clustered: str) -> None:
    assert "members share suite=json (2 of 4 others)" in knick("clusters", clustered).output


def test_the_api_lists_members_with_their_checks(instance: Path, clustered: str) -> None:
    with open_instance(instance) as opened:
        client = Client(create_app(opened))
        answer = client.get(f"/api/v1/changes/{clustered[1:]}/clusters").json()
        (cluster,) = answer["clusters"]
        assert cluster["counts"]["member"] == 4
        assert len(cluster["centroid"]) == len(cluster["positions"])
        first = cluster["members"][0]
        assert (first["rank"], first["reason"], first["joined"]) == (1, "", False)
        assert all(check["passed"] for check in first["checks"])
        explained = client.get(f"/api/v1/traces/{first['trace']}/explanation").json()
        assert explained["candidates"][0]["note"].startswith("member 1 of cluster C1")
        assert client.get("/api/v1/changes/99/clusters").status_code == 404


def test_json_has_the_clusters_of_the_api(instance: Path, knick: Knick, clustered: str) -> None:
    found = json.loads(knick("clusters", clustered, "--format", "json").output)
    assert found == api(instance, f"changes/{clustered}/clusters")["clusters"]
    assert [(cluster["id"], len(cluster["members"])) for cluster in found] == [("C1", 4)]
    few = json.loads(knick("clusters", clustered, "--limit", "2", "--format", "json").output)
    assert few == api(instance, f"changes/{clustered}/clusters?members=2")["clusters"]
    assert [len(cluster["members"]) for cluster in few] == [2]


@pytest.mark.usefixtures("judged")
def test_a_change_of_other_methods_has_no_clusters(knick: Knick) -> None:
    key = json.loads(knick("changes", "--format", "json", "--limit", "1").output)[0]["id"]
    assert "No cluster" in knick("clusters", key).output
