"""Who sends a request: the person at this machine, a token, or anyone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi import APIRouter, FastAPI
from starlette.types import Scope
from tests.server.client import Client
from tests.server.story import TOKEN

from knickpoint.access.settings import AccessSettings, AnyoneRole, SignInKind, SignInSettings
from knickpoint.answers.visible_repositories import require
from knickpoint.instance import Instance, open_instance
from knickpoint.instance.config import ServerSettings
from knickpoint.model.access import Caller, CallerKind, Grants, Permission
from knickpoint.model.errors import ForbiddenError, NotSignedInError
from knickpoint.server import create_app
from knickpoint.server.app import routes_without_caller
from knickpoint.server.callers import Reader
from knickpoint.server.request_origin import is_local_request, is_loopback_name, name_of_host, serves_this_machine_only

READ = "/api/v1/repositories"


def scope(*, peer: str = "127.0.0.1", version: str = "1.1", **headers: str) -> Scope:
    named = {"host": "127.0.0.1:8765", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return {
        "type": "http",
        "client": (peer, 50_000),
        "http_version": version,
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
    }


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "knick.localhost", "[::1]:8765", "127.8.9.1"])
def test_a_request_on_this_machine_to_a_loopback_name_is_local(host: str) -> None:
    assert is_local_request(scope(host=host))
    assert is_local_request(scope(peer="::1", host=host))


@pytest.mark.parametrize(
    "host", ["", "perf.example", "10.1.2.3:8765", "localhost.example", "127.0.0.1.example", "[::1"]
)
def test_a_request_to_another_name_is_not_local(host: str) -> None:
    assert not is_local_request(scope(host=host))


@pytest.mark.parametrize("peer", ["10.1.2.3", "192.168.0.1", "::2", "testclient", ""])
def test_a_request_of_another_machine_is_not_local(peer: str) -> None:
    assert not is_local_request(scope(peer=peer))


def test_a_request_without_a_peer_is_not_local() -> None:
    assert not is_local_request({**scope(), "client": None})


@pytest.mark.parametrize(
    "header",
    ["forwarded", "via", "x_real_ip", "x_forwarded_for", "x_forwarded_proto", "x_forwarded_prefix", "cf_connecting_ip"],
)
def test_a_request_through_a_proxy_is_not_local(header: str) -> None:
    assert not is_local_request(scope(**{header: "127.0.0.1"}))


def test_a_request_in_the_protocol_of_proxies_is_not_local() -> None:
    assert not is_local_request(scope(version="1.0"))


@pytest.mark.parametrize(
    ("settings", "alone"),
    [
        (ServerSettings(), True),
        (ServerSettings(names=("knick.localhost",), address="http://127.0.0.1:8765"), True),
        (ServerSettings(names=("perf.example",)), False),
        (ServerSettings(address="https://perf.example"), False),
        (ServerSettings(address="perf.example"), False),
        (ServerSettings(proxies=("127.0.0.0/8",)), False),
    ],
)
def test_a_configuration_with_a_public_name_has_no_local_person(settings: ServerSettings, *, alone: bool) -> None:
    assert serves_this_machine_only(settings) is alone


@pytest.mark.parametrize(("host", "name"), [("A.B:1", "a.b"), ("[::1]:2", "::1"), ("", "")])
def test_the_name_of_a_host_has_no_port(host: str, name: str) -> None:
    assert name_of_host(host) == name


@pytest.mark.parametrize("host", ["::1", "[::1", "a:b", "a:1@b", "[::1]b", "a/b", "a b", "a,b", "a%00"])
def test_what_is_no_host_has_no_name(host: str) -> None:
    assert not name_of_host(host)


def test_only_loopback_names_are_loopback() -> None:
    assert is_loopback_name("LOCALHOST")
    assert not is_loopback_name("0.0.0.0")
    assert not is_loopback_name("::")


@pytest.fixture(scope="module")
def shared(finished_instance: Path) -> Iterator[Instance]:
    with open_instance(finished_instance) as opened:
        yield opened


def with_settings(
    instance: Instance, *, anyone: AnyoneRole = AnyoneRole.UNSET, sign_in: SignInKind | None = None
) -> Instance:
    ways = {"way": SignInSettings("way", sign_in)} if sign_in else {}
    access = AccessSettings(anyone=anyone, session_secret="0123456789abcdef" * 4)  # so that no file of a key is made
    return replace(instance, config=replace(instance.config, access=access, sign_in=ways))


def test_the_person_at_this_machine_reads_without_a_credential(shared: Instance) -> None:
    assert Client(create_app(shared)).get(READ).status_code == 200


def test_a_request_from_elsewhere_learns_how_to_be_known(shared: Instance) -> None:
    answer = Client(create_app(shared), peer="203.0.113.7").get(READ)
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="Knickpoint"'
    assert "/api/v1/me" in answer.json()["remedy"]


def test_an_open_port_has_no_local_person(shared: Instance) -> None:
    assert Client(create_app(shared, open_port=True)).get(READ).status_code == 401


@pytest.mark.parametrize("kind", list(SignInKind))
def test_where_people_sign_in_there_is_no_local_person(shared: Instance, kind: SignInKind) -> None:
    assert Client(create_app(with_settings(shared, sign_in=kind))).get(READ).status_code == 401


@pytest.mark.parametrize(
    ("anyone", "read", "decide"),
    [
        (AnyoneRole.NONE, 401, 401),
        (AnyoneRole.VIEWER, 200, 401),
        (AnyoneRole.EDITOR, 200, 200),
        (AnyoneRole.ADMIN, 200, 200),
    ],
)
def test_anyone_has_the_role_of_the_configuration(
    instance: Instance, anyone: AnyoneRole, read: int, decide: int
) -> None:
    client = Client(create_app(with_settings(instance, anyone=anyone), open_port=True), peer="203.0.113.7")
    assert client.get(READ).status_code == read
    assert client.post("/api/v1/triage", json={"ids": [1], "status": "hidden"}).status_code == decide


@pytest.mark.parametrize(
    "header",
    ["Bearer wrong", "Bearer knick_wrong", "Bearer", "Basic eDp5", "", f"Token {TOKEN}", "Bearer \N{EURO SIGN}"],
)
def test_a_wrong_credential_is_refused_also_where_none_is_needed(shared: Instance, header: str) -> None:
    answer = Client(create_app(shared)).get(READ, headers={"authorization": header.encode()})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="Knickpoint", error="invalid_token"'


def test_two_credentials_are_refused(shared: Instance) -> None:
    headers = [("authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer wrong")]
    assert Client(create_app(shared)).get(READ, headers=headers).status_code == 401


def test_the_credential_of_a_proxy_is_left_to_the_proxy(shared: Instance) -> None:
    behind = with_settings(shared, sign_in=SignInKind.PROXY, anyone=AnyoneRole.VIEWER)
    assert Client(create_app(behind)).get(READ, headers={"authorization": "Basic eDp5"}).status_code == 200


def test_two_credentials_are_refused_behind_a_proxy_too(shared: Instance) -> None:
    behind = with_settings(shared, sign_in=SignInKind.PROXY, anyone=AnyoneRole.VIEWER)
    headers = [("authorization", "Basic eDp5"), ("authorization", "Bearer wrong")]
    assert Client(create_app(behind)).get(READ, headers=headers).status_code == 401


def test_the_upload_token_uploads_and_reads_nothing(shared: Instance) -> None:
    answer = Client(create_app(shared)).get(READ, headers={"authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 403
    assert "oken:upload_token may not read" in answer.json()["error"]


def test_a_caller_who_is_not_known_is_asked_to_sign_in_and_a_known_one_is_not() -> None:
    with pytest.raises(NotSignedInError, match="only known callers may decide"):
        require(Caller(CallerKind.ANYONE, "anyone"), Permission.DECIDE)
    with pytest.raises(ForbiddenError, match="ada may not decide"):
        require(Caller(CallerKind.PERSON, "ada", Grants.of([Permission.READ])), Permission.DECIDE)


def test_a_permission_for_a_repository_does_not_reach_another_one() -> None:
    ada = Caller(CallerKind.PERSON, "ada", Grants.of([Permission.DECIDE], ["engine"]))
    require(ada, Permission.DECIDE)
    require(ada, Permission.DECIDE, repository="engine")
    with pytest.raises(ForbiddenError, match="ada may not decide in wheels"):
        require(ada, Permission.DECIDE, repository="wheels")


def test_a_route_that_does_not_ask_who_sends_the_request_is_found() -> None:
    def read(_caller: Reader) -> None:
        """Return nothing."""

    router = APIRouter()
    router.add_api_route("/forgotten", lambda: None)
    router.add_api_route("/read", read)
    router.mount("/files", FastAPI())
    assert routes_without_caller(router) == ["/forgotten", "/files"]
