"""The audit log over HTTP: order, pages, filters, and who may read it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.client import Client
from tests.server.story import REPOSITORY
from tests.server.test_tokens import token_for

from knickpoint.access.tokens import create_token
from knickpoint.instance import Instance
from knickpoint.model.access import AuditKind, Permission
from knickpoint.store import acting_from

URL = "/api/v1/audit"


@pytest.fixture
def entries(instance: Instance) -> int:
    """Write five entries of two people, and return the id of the first."""
    audit = instance.store.audit
    with acting_from("10.1.2.3"):
        first = audit.append(AuditKind.SIGNED_IN, "ada", "through company")
    audit.append(AuditKind.SIGNED_IN, "grace", "through company")
    audit.append(AuditKind.DECIDED, "ada", "acknowledged R1")
    audit.append(AuditKind.DECIDED, "grace", "hid R2")
    audit.append(AuditKind.SIGNED_OUT, "ada", "")
    return first.id


def listed(client: Client, **parameters: str | int) -> list[dict[str, Any]]:
    answer = client.get(URL, params=parameters)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()
    return found


@pytest.mark.usefixtures("entries")
def test_the_newest_entry_comes_first(client: Client) -> None:
    found = listed(client)[:5]
    assert [entry["kind"] for entry in found] == ["signed-out", "decided", "decided", "signed-in", "signed-in"]
    assert (found[4]["who"], found[4]["about"], found[4]["address"]) == ("ada", "through company", "10.1.2.3")
    assert found[4]["time"].endswith(("Z", "+00:00"))


def test_pages_follow_each_other_without_a_gap(client: Client, entries: int) -> None:
    first = listed(client, limit=2)
    second = listed(client, limit=2, before=first[-1]["id"])
    assert [entry["id"] for entry in (*first, *second)] == [entries + 4, entries + 3, entries + 2, entries + 1]


@pytest.mark.usefixtures("entries")
def test_entries_are_filtered_by_kind_and_by_name(client: Client) -> None:
    assert {entry["who"] for entry in listed(client, kind="decided")} >= {"ada", "grace"}
    assert [entry["about"] for entry in listed(client, kind="decided", who="ada")] == ["acknowledged R1"]
    assert listed(client, who="ad") == []


def test_a_token_that_is_made_is_in_the_log(client: Client) -> None:
    client.post("/api/v1/tokens", json={"name": "nightly", "scopes": ["upload"]})
    entry = listed(client)[0]
    assert (entry["kind"], "nightly" in entry["about"]) == ("token-created", True)


def test_an_entry_of_a_request_has_its_address_and_one_of_a_command_has_none(
    client: Client, instance: Instance
) -> None:
    client.post("/api/v1/tokens", json={"name": "nightly", "scopes": ["upload"]})
    create_token(instance.store, "other", [Permission.READ], by="ada")
    assert [(entry["who"] == "ada", entry["address"]) for entry in listed(client)[:2]] == [
        (True, ""),
        (False, "127.0.0.1"),
    ]


@pytest.mark.parametrize(
    "parameters", [{"kind": "x"}, {"limit": 0}, {"limit": 1001}, {"before": -1}, {"who": "x" * 501}]
)
def test_other_parameters_are_refused(client: Client, parameters: dict[str, str | int]) -> None:
    assert client.get(URL, params=parameters).status_code == 422


def test_an_admin_of_some_repositories_does_not_read_what_is_about_all(client: Client, instance: Instance) -> None:
    answer = client.get(URL, headers=token_for(instance, Permission.ADMIN, REPOSITORY))
    assert answer.status_code == 403
    assert answer.json()["remedy"]


@pytest.mark.parametrize("scope", [Permission.READ, Permission.UPLOAD, Permission.DECIDE])
def test_the_log_is_for_admins(client: Client, instance: Instance, scope: Permission) -> None:
    assert client.get(URL, headers=token_for(instance, scope)).status_code == 403
