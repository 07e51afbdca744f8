"""Who am I, and what may I do."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.server.client import Client
from tests.server.story import TOKEN

from knickpoint.access.local_user import local_caller
from knickpoint.access.settings import AccessSettings, AnyoneRole, SignInKind, SignInSettings
from knickpoint.access.tokens import create_token
from knickpoint.answers.access import SharedView, describe_caller, list_views, share_view
from knickpoint.instance import Instance
from knickpoint.instance.config import Config
from knickpoint.model.access import Caller, CallerKind, Grants, Permission
from knickpoint.server import create_app

URL = "/api/v1/me"
EVERYTHING = [permission.value for permission in Permission]
WAYS = {
    "company": SignInSettings("company", SignInKind.OPENID, title="Company"),
    "proxy": SignInSettings("proxy", SignInKind.PROXY),
}


def me(client: Client, **options: Any) -> Mapping[str, Any]:
    answer = client.get(URL, **options)
    assert answer.status_code == 200, answer.text
    found: Mapping[str, Any] = answer.json()
    return found


def test_the_person_at_this_machine_may_do_everything_and_is_named(reader: Client) -> None:
    answer = me(reader)
    assert (answer["kind"], answer["name"]) == ("local", local_caller().name)
    assert answer["permissions"] == {"everywhere": EVERYTHING, "repositories": {}}
    assert local_caller().name in answer["notice"]
    assert (answer["open"], answer["sign_in"], answer["sign_out"]) == (False, [], "")


def test_a_token_knows_its_permissions(instance: Instance) -> None:
    made = create_token(instance.store, "ci", [Permission.DECIDE], by="ada", repositories=["engine"])
    answer = me(Client(create_app(instance)), headers={"authorization": f"Bearer {made.secret}"})
    assert (answer["kind"], answer["name"]) == ("token", "token:ci")
    assert answer["permissions"] == {"everywhere": [], "repositories": {"engine": ["read", "decide"]}}


def test_the_upload_token_of_the_configuration_is_a_token(reader: Client) -> None:
    answer = me(reader, headers={"authorization": f"Bearer {TOKEN}"})
    assert (answer["name"], answer["permissions"]["everywhere"]) == ("token:upload_token", ["upload"])


def test_a_wrong_token_is_refused_here_too(reader: Client) -> None:
    assert reader.get(URL, headers={"authorization": "Bearer knick_wrong"}).status_code == 401


def test_a_caller_who_is_not_known_learns_why_there_is_nothing_to_see(instance: Instance) -> None:
    answer = me(Client(create_app(instance), peer="203.0.113.7"))
    assert (answer["kind"], answer["name"]) == ("anyone", "anyone (203.0.113.7)")
    assert answer["permissions"] == {"everywhere": [], "repositories": {}}
    assert "[sign_in]" in answer["notice"]


def test_a_port_that_is_open_without_sign_in_says_so(instance: Instance) -> None:
    settings = replace(instance.config, access=AccessSettings(anyone=AnyoneRole.EDITOR))
    client = Client(create_app(replace(instance, config=settings), open_port=True), peer="203.0.113.7")
    answer = me(client)
    assert answer["open"]
    assert "editor" in answer["notice"]


def test_with_sign_in_a_port_is_not_open_and_the_ways_to_sign_in_are_listed(instance: Instance) -> None:
    settings = replace(instance.config, sign_in=WAYS)
    answer = me(Client(create_app(replace(instance, config=settings), open_port=True)))
    assert not answer["open"]
    assert answer["sign_in"] == [{"name": "company", "title": "Company", "address": "/sign-in/company"}]


@pytest.mark.parametrize(("provider", "address"), [("company", "/sign-out"), ("proxy", ""), ("", "")])
def test_only_who_signed_in_here_can_sign_out_here(provider: str, address: str) -> None:
    ada = Caller(CallerKind.PERSON, "ada", Grants.of([Permission.READ]), mail="ada@example.org", provider=provider)
    answer = describe_caller(Config(sign_in=WAYS), ada, open_port=True, ended=False)
    assert (answer.sign_out, answer.title, answer.mail, answer.notice) == (address, "ada", "ada@example.org", "")


def test_a_person_whose_sign_in_has_ended_is_asked_to_sign_in_again() -> None:
    answer = describe_caller(Config(sign_in=WAYS), Caller(CallerKind.ANYONE, "anyone"), open_port=True, ended=True)
    assert "Sign in again" in answer.notice


def test_pages_name_what_every_page_asks_for_so_that_browsers_ask_early(reader: Client) -> None:
    early = [name for name in re.findall(r"<(.*?)>", reader.get("/settings").headers["link"]) if "/api/" in name]
    assert early == [URL, f"{URL}/settings", "/api/v1/repositories"]
    assert [reader.get(path).status_code for path in early] == [200, 200, 200]


@pytest.mark.parametrize("secret", [TOKEN, "knick_wrong"])
def test_pages_name_nothing_that_the_caller_would_be_refused(reader: Client, secret: str) -> None:
    answer = reader.get("/triage", headers={"authorization": f"Bearer {secret}"})
    assert "<kp-app>" in answer.text
    assert "link" not in answer.headers


def test_a_shared_view_is_listed_replaced_and_removed(reader: Client) -> None:
    for url in ("/explore?query=os%3Dlinux", "/explore?query=os%3Dmac"):
        answer = reader.ask("PUT", "/api/v1/views", json={"name": "Desktop", "url": url})
        assert answer.status_code == 200, answer.text
    expected = {"name": "Desktop", "url": "/explore?query=os%3Dmac", "by": answer.json()["by"]}
    assert reader.get("/api/v1/views").json() == [expected]
    assert reader.get(f"{URL}/settings").json()["values"] == {}
    assert reader.ask("DELETE", "/api/v1/views", params={"name": "Desktop"}).json() == expected
    assert reader.get("/api/v1/views").json() == []
    assert reader.ask("DELETE", "/api/v1/views", params={"name": "Desktop"}).status_code == 404


@pytest.mark.parametrize("url", ["https://elsewhere.example.org", "//elsewhere.example.org", "explore", "/\\elsewhere"])
def test_a_shared_view_leads_to_no_other_site(reader: Client, url: str) -> None:
    answer = reader.ask("PUT", "/api/v1/views", json={"name": "x", "url": url})
    assert answer.status_code in {400, 422}
    assert reader.get("/api/v1/views").json() == []


def test_a_view_of_one_repository_is_for_its_readers_and_others_for_those_of_all(instance: Instance) -> None:
    store = instance.store
    editor = Caller(CallerKind.PERSON, "ada", Grants(frozenset(Permission)), provider="company")
    for name, url in (("engine", "/explore?repository=engine"), ("all", "/triage")):
        share_view(store, editor, SharedView(name=name, url=url))
    reads_engine = Caller(
        CallerKind.PERSON, "bob", Grants(repositories={"engine": frozenset({Permission.READ})}), provider="company"
    )
    assert [view.name for view in list_views(store, editor)] == ["all", "engine"]
    assert [view.name for view in list_views(store, reads_engine)] == ["engine"]
    assert list_views(store, Caller(CallerKind.ANYONE, "")) == []
