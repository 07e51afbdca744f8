"""Sessions at the API: when they expire, what a wrong one gets, and what the server needs to have them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.server.client import Client
from tests.server.openid import with_sign_in

from knickpoint.access.sessions import KEY_FILE, new_session, session_key, sign_session
from knickpoint.access.settings import AccessSettings, AnyoneRole, RoleSettings, SignInSettings
from knickpoint.instance import Instance
from knickpoint.model.access import Role, SignedIn
from knickpoint.server import create_app

_NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
_ALICE = SignedIn("keycloak", "alice", "Alice")
_WAYS = {"keycloak": SignInSettings("keycloak", issuer="https://id.example.org", client_id="knick")}
_ROLES = {"all": RoleSettings("all", Role.VIEWER, people=("*",))}


class _Clock:
    def __init__(self) -> None:
        self.now = _NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


@pytest.fixture
def signed(instance: Instance) -> Instance:
    return with_sign_in(instance, _WAYS, _ROLES)


def _cookies(instance: Instance, *, hours: float = 12, key: bytes = b"") -> dict[str, str]:
    session = new_session(_ALICE, issuer=_WAYS["keycloak"].issuer, hours=hours, now=_NOW)
    return {"knick_session": sign_session(session, key or session_key(instance.directory, instance.config.access))}


def _status(client: Client, cookies: dict[str, str]) -> int:
    cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return client.get("/api/v1/changes", headers={"cookie": cookie}).status_code


def test_a_session_lets_its_person_in_until_it_expires(signed: Instance, clock: _Clock) -> None:
    client, cookies = Client(create_app(signed, clock=clock)), _cookies(signed)
    assert _status(client, cookies) == 200
    clock.now = _NOW + timedelta(hours=12, seconds=-1)
    assert _status(client, cookies) == 200
    clock.now = _NOW + timedelta(hours=12)
    assert _status(client, cookies) == 401


def test_a_session_that_another_key_signed_is_refused(signed: Instance, clock: _Clock) -> None:
    client = Client(create_app(signed, clock=clock))
    assert _status(client, _cookies(signed, key=b"o" * 32)) == 401


def test_a_wrong_session_does_not_count_as_no_one(signed: Instance, clock: _Clock) -> None:
    public = replace(signed, config=replace(signed.config, access=AccessSettings(anyone=AnyoneRole.VIEWER)))
    client = Client(create_app(public, clock=clock))
    assert _status(client, {}) == 200
    assert _status(client, {"knick_session": "x"}) == 401


def test_who_signs_in_may_do_at_least_what_anyone_may(signed: Instance, clock: _Clock) -> None:
    access = AccessSettings(anyone=AnyoneRole.VIEWER)
    public = replace(signed, config=replace(signed.config, access=access, roles={}))
    client = Client(create_app(public, clock=clock))
    assert _status(client, {}) == _status(client, _cookies(public)) == 200


def test_servers_with_the_same_secret_know_the_sessions_of_each_other(signed: Instance, clock: _Clock) -> None:
    access = AccessSettings(session_secret="5ecret" * 6)
    one, two = (replace(signed, config=replace(signed.config, access=access)) for _ in range(2))
    cookies = _cookies(one)
    assert _status(Client(create_app(two, clock=clock)), cookies) == 200
    assert not (signed.directory / KEY_FILE).exists()


def test_over_https_only_the_cookie_counts_that_is_bound_to_the_host(signed: Instance, clock: _Clock) -> None:
    server = replace(signed.config.server, address="https://perf.example.org", names=("perf.example.org",))
    client = Client(create_app(replace(signed, config=replace(signed.config, server=server)), clock=clock))
    value = _cookies(signed)["knick_session"]
    assert _status(client, {"knick_session": value}) == 401
    assert _status(client, {"__Host-knick_session": value}) == 200


def test_without_sign_in_no_key_is_made(instance: Instance) -> None:
    create_app(instance)
    assert not (instance.directory / KEY_FILE).exists()


@pytest.mark.long
def test_without_the_libraries_the_server_names_what_to_install() -> None:
    program = """
import sys
sys.modules["authlib"] = None
from pathlib import Path
from types import SimpleNamespace
from knickpoint.access.settings import SignInSettings
from knickpoint.instance import Instance
from knickpoint.instance.config import Config
from knickpoint.model.errors import ConfigError
from knickpoint.server import create_app
config = Config(sign_in={"keycloak": SignInSettings("keycloak", issuer="https://id.example.org", client_id="k")})
try:
    create_app(Instance(Path("."), config, SimpleNamespace()))
except ConfigError as error:
    print(error)
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "[sign_in.keycloak]" in answer.stdout
    assert "pip install 'knickpoint[server]'" in answer.stdout
