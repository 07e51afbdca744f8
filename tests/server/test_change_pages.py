"""The page of one change: found wherever it is listed, with decisions, announcements and earlier changes."""

from __future__ import annotations

from typing import Any

from tests.server.client import Client
from tests.server.story import SLOWER, commit_hash

from knickpoint.instance import Instance
from knickpoint.watch.alert_run.run import run_alerts


def page(client: Client, key: str) -> dict[str, Any]:
    answer = client.get(f"/api/v1/changes/{key}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def worst(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/api/v1/changes").json()["changes"][0]
    return found


def test_a_change_is_the_one_of_the_list_with_what_was_announced(reader: Client) -> None:
    listed = worst(reader)
    found = page(reader, listed["id"])
    assert found["change"] == listed
    assert not found["gone"]
    assert found["change"]["commit"]["hash"] == commit_hash(SLOWER)
    assert found["decisions"] == []
    assert [each["kind"] for each in found["announcements"]] in ([], ["regressed"])


def test_one_decision_about_several_traces_is_one_entry(client: Client) -> None:
    key = worst(client)["id"]
    client.post("/api/v1/triage", json={"changes": [key], "status": "hidden", "note": "noise"})
    found = page(client, key)
    assert found["change"]["statement"]["decision"] == "hidden"
    (entry,) = found["decisions"]
    assert (entry["status"], entry["note"], entry["traces"]) == ("hidden", "noise", 2)
    client.post("/api/v1/triage/undo", json={"ids": [each["id"] for each in found["change"]["members"]]})
    assert [each["action"] for each in page(client, key)["decisions"]] == ["undo", "decide"]


def test_a_change_that_is_gone_still_has_a_page(client: Client, instance: Instance) -> None:
    key = worst(client)["id"]
    run_alerts(instance.store, [])
    found = page(client, key)
    assert (found["gone"], found["change"]["statement"]["condition"]) == (True, "gone")
    assert [each["condition"] for each in found["change"]["members"]] == ["gone", "gone"]


def test_an_unknown_change_is_not_found(reader: Client) -> None:
    assert reader.get("/api/v1/changes/R999").status_code == 404
