"""Tokens over HTTP: who makes which, and the secret that is shown once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.server.client import Client
from tests.server.story import REPOSITORY

from knickpoint.access.tokens import create_token
from knickpoint.instance import Instance
from knickpoint.model.access import Permission

URL = "/api/v1/tokens"


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def token_for(instance: Instance, scope: Permission, *repositories: str) -> dict[str, str]:
    """Return the header of a new token."""
    name = f"{scope.value}-{len(repositories)}"
    return bearer(create_token(instance.store, name, [scope], by="ada", repositories=repositories).secret)


def create(client: Client, headers: dict[str, str] | None = None, **fields: object) -> dict[str, Any]:
    answer = client.post(URL, json={"name": "nightly", "scopes": ["upload"], **fields}, headers=headers)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def names(client: Client, headers: dict[str, str] | None = None) -> list[str]:
    return [token["name"] for token in client.get(URL, headers=headers).json()]


def test_a_new_token_may_do_what_its_scopes_say(client: Client) -> None:
    secret = create(client, scopes=["read"])["secret"]
    assert client.get("/api/v1/repositories", headers=bearer(secret)).status_code == 200
    refused = client.post("/api/v1/triage", json={"ids": [1], "status": "hidden"}, headers=bearer(secret))
    assert refused.status_code == 403


def test_a_list_has_no_secret(client: Client) -> None:
    secret = create(client)["secret"]
    answer = client.get(URL)
    assert [token["name"] for token in answer.json()] == ["nightly"]
    assert secret not in answer.text


def test_the_answer_with_the_secret_is_kept_by_no_cache(client: Client) -> None:
    answer = client.post(URL, json={"name": "nightly", "scopes": ["upload"]})
    assert answer.headers["cache-control"] == "no-store"


def test_a_list_has_scopes_repositories_expiry_and_creator_of_each_token(client: Client) -> None:
    expires = (datetime.now(UTC) + timedelta(days=30)).replace(microsecond=0)
    created = create(client, scopes=["upload", "read"], repositories=[REPOSITORY], expires=expires.isoformat())
    (token,) = client.get(URL).json()
    assert token == created["token"]
    assert token["scopes"] == ["read", "upload"]
    assert (token["repositories"], token["last_used"], token["revoked"]) == ([REPOSITORY], None, None)
    assert datetime.fromisoformat(token["expires"]) == expires
    assert token["created_by"] == client.get("/api/v1/audit").json()[0]["who"]


def test_a_revoked_token_is_refused_and_stays_in_the_list(client: Client) -> None:
    secret = create(client, scopes=["read"])["secret"]
    assert client.ask("DELETE", f"{URL}/nightly").json()["revoked"]
    assert client.get("/api/v1/repositories", headers=bearer(secret)).status_code == 401
    assert names(client) == ["nightly"]


def test_a_token_that_does_not_exist_cannot_be_revoked(client: Client) -> None:
    answer = client.ask("DELETE", f"{URL}/nightly")
    assert answer.status_code == 404
    assert "nightly" in answer.json()["error"]


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "<b>x</b>"},
        {"name": ""},
        {"scopes": []},
        {"expires": "2020-01-01T00:00:00Z"},
        {"repositories": ["two\nlines"]},
    ],
)
def test_a_token_that_cannot_be_is_refused_with_a_remedy(client: Client, fields: dict[str, object]) -> None:
    answer = client.post(URL, json={"name": "nightly", "scopes": ["upload"], **fields})
    assert answer.status_code == 400
    assert answer.json()["remedy"]
    assert names(client) == []


@pytest.mark.parametrize(
    "fields",
    [{"scopes": ["everything"]}, {"expires": "2099-01-01T00:00:00"}, {"name": "x" * 201}, {"secret": "of my own"}],
)
def test_a_request_of_another_shape_is_refused(client: Client, fields: dict[str, object]) -> None:
    answer = client.post(URL, json={"name": "nightly", "scopes": ["upload"], **fields})
    assert answer.status_code == 422
    assert names(client) == []


def test_a_page_of_another_site_makes_no_token(client: Client) -> None:
    body = {"name": "nightly", "scopes": ["admin"]}
    answer = client.post(URL, json=body, headers={"origin": "http://evil.example"})
    assert answer.status_code == 403
    assert names(client) == []


def test_an_admin_of_some_repositories_makes_tokens_for_these_only(client: Client, instance: Instance) -> None:
    admin = token_for(instance, Permission.ADMIN, REPOSITORY)
    create(client, admin, repositories=[REPOSITORY], scopes=["admin"])
    repositories: list[list[str]] = [[], ["grace/compiler"], [REPOSITORY, "grace/compiler"]]
    for wanted in repositories:
        body = {"name": "other", "scopes": ["read"], "repositories": wanted}
        answer = client.post(URL, json=body, headers=admin)
        assert answer.status_code == 403, wanted
        assert answer.json()["remedy"]


def test_an_admin_of_some_repositories_sees_and_revokes_the_tokens_for_these_only(
    client: Client, instance: Instance
) -> None:
    admin = token_for(instance, Permission.ADMIN, REPOSITORY)
    create(client, name="for-all")
    create(client, name="for-both", repositories=[REPOSITORY, "grace/compiler"])
    create(client, name="for-one", repositories=[REPOSITORY])
    assert names(client, admin) == ["admin-1", "for-one"]
    for hidden in ("for-all", "for-both"):
        assert client.ask("DELETE", f"{URL}/{hidden}", headers=admin).status_code == 404
    assert client.ask("DELETE", f"{URL}/for-one", headers=admin).status_code == 200


@pytest.mark.parametrize("scope", [Permission.READ, Permission.UPLOAD, Permission.DECIDE])
def test_tokens_are_for_admins(client: Client, instance: Instance, scope: Permission) -> None:
    headers = token_for(instance, scope)
    assert client.get(URL, headers=headers).status_code == 403
    body = {"name": "nightly", "scopes": [scope.value]}
    assert client.post(URL, json=body, headers=headers).status_code == 403
    assert client.ask("DELETE", f"{URL}/{scope.value}-0", headers=headers).status_code == 403


def test_a_token_cannot_make_one_that_outlives_it(client: Client, instance: Instance) -> None:
    end = (datetime.now(UTC) + timedelta(days=3)).replace(microsecond=0)
    made = create_token(instance.store, "setup", [Permission.ADMIN], by="ada", expires=end)
    for expires in (None, (end + timedelta(seconds=1)).isoformat()):
        fields = {"name": "later", "scopes": ["read"], "expires": expires}
        refused = client.post(URL, json=fields, headers=bearer(made.secret))
        assert (refused.status_code, refused.json()["where"]) == (403, "expires")
    create(client, bearer(made.secret), expires=end.isoformat())
