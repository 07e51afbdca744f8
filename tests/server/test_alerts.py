"""Alerts over HTTP: made, changed, counted beforehand and removed by admins, with the checks of the configuration."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.client import Client
from tests.server.story import REPOSITORY

from knickpoint.access.tokens import create_token
from knickpoint.instance import Instance
from knickpoint.model.access import Permission
from knickpoint.model.alert import Alert, AlertKind

URL = "/api/v1/alerts"


def make(client: Client, name: str = "b", **settings: object) -> Any:
    return client.post(URL, json={"name": name, **settings})


def listed(client: Client) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in client.get(URL).json()}


def test_an_alert_is_made_changed_and_removed(client: Client) -> None:
    assert make(client, minimum_effect=0.2, severity="high", owners=["a@example.org"]).status_code == 201
    made = listed(client)["b"]
    assert (made["minimum_effect"], made["severity"], made["owners"], made["source"]) == (
        0.2,
        "high",
        ["a@example.org"],
        "store",
    )
    assert client.ask("PUT", f"{URL}/b", json={"kind": "informational"}).status_code == 200
    changed = listed(client)["b"]
    assert (changed["kind"], changed["minimum_effect"], changed["severity"]) == ("informational", 0.0, "normal")
    assert client.ask("DELETE", f"{URL}/b").json() == {"name": "b", "change": "removed"}
    assert "b" not in listed(client)


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"owners": ["carl"]}, "names 'carl'"),
        ({"minimum_change": -1}, "inimum_change is -1"),
        ({"query": "${HOME}"}, "environment variable"),
        ({"name": "a/b"}, "has a '/'"),
    ],
    ids=["owner", "number", "variable", "slash"],
)
def test_what_cannot_be_used_is_refused_with_the_reason(
    client: Client, settings: dict[str, object], reason: str
) -> None:
    answer = client.post(URL, json={"name": "b", **settings})
    assert answer.status_code == 400
    assert reason in answer.json()["error"]


def test_a_name_that_is_taken_is_refused(client: Client) -> None:
    make(client)
    assert make(client).status_code == 400


def test_an_alert_that_is_not_in_the_store_is_not_found(client: Client) -> None:
    assert client.ask("PUT", f"{URL}/default", json={}).status_code == 404
    assert client.ask("DELETE", f"{URL}/default").status_code == 404


def test_a_preview_counts_and_changes_nothing(client: Client) -> None:
    before = listed(client)
    found = client.post(f"{URL}/preview", json={"name": "b", "method": "threshold"}).json()
    assert found["complete"]
    counted = {each["name"]: each for each in found["alerts"]}["b"]
    assert counted["judged"] == counted["traces"] > 0
    assert listed(client) == before


def test_a_preview_without_time_says_that_it_judged_too_little(client: Client) -> None:
    found = client.post(f"{URL}/preview", json={"name": "b", "method": "threshold", "seconds": 0}).json()
    assert (found["complete"], {each["judged"] for each in found["alerts"]}) == (False, {0})


def test_an_admin_of_one_repository_makes_alerts_for_that_one(client: Client, instance: Instance) -> None:
    token = create_token(instance.store, "one", [Permission.ADMIN], by="ada", repositories=(REPOSITORY,))
    headers = {"authorization": f"Bearer {token.secret}"}
    for_one = client.post(URL, json={"name": "b", "repository": REPOSITORY}, headers=headers)
    for_all = client.post(URL, json={"name": "c"}, headers=headers)
    assert (for_one.status_code, for_all.status_code) == (201, 403)
    make(client, "all")
    assert client.ask("DELETE", f"{URL}/all", headers=headers).status_code == 403


def test_findings_of_informational_alerts_are_listed_on_request(client: Client, instance: Instance) -> None:
    listed_before = client.get("/api/v1/changes").json()["total"]
    assert listed_before
    instance.store.findings.alerts_in_force.replace(
        [Alert(each.name, kind=AlertKind.INFORMATIONAL) for each in instance.alerts]
    )
    assert client.get("/api/v1/changes").json()["total"] == 0
    for chosen in ("alert_kind=informational", "alert_kind=any", f"alert={instance.alerts[0].name}"):
        found = client.get(f"/api/v1/changes?{chosen}").json()
        assert found["total"] == listed_before, chosen
        assert found["changes"][0]["members"][0]["alert_kind"] == "informational"


def test_the_first_alert_keeps_the_default_one_unless_it_ends_it(client: Client) -> None:
    asked = {"name": "b", "query": "benchmark=nothing", "keep_default": False}
    counted = client.post(f"{URL}/preview", json=asked).json()
    assert counted["ends_default"]
    assert counted["takes_changes"]
    assert counted["unwatched"] > 0
    assert not client.post(f"{URL}/preview", json={**asked, "keep_default": True}).json()["takes_changes"]
    make(client)
    assert {"b", "default"} <= set(listed(client))


def test_ending_the_default_alert_takes_an_admin_of_everything(client: Client, instance: Instance) -> None:
    token = create_token(instance.store, "one", [Permission.ADMIN], by="ada", repositories=(REPOSITORY,))
    headers = {"authorization": f"Bearer {token.secret}"}
    asked = {"name": "b", "repository": REPOSITORY, "keep_default": False}
    assert client.post(URL, json=asked, headers=headers).status_code == 403
    assert client.post(URL, json={**asked, "keep_default": True}, headers=headers).status_code == 201
