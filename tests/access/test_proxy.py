"""Proxies: whose headers are believed, and what is read from them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from knickpoint.access.proxy import client_address, proxy_caller
from knickpoint.access.settings import RoleSettings, SignInKind, SignInSettings
from knickpoint.instance.config import Config
from knickpoint.model.access import Caller, CallerKind, Permission, Role
from knickpoint.model.errors import NotSignedInError

_GATE = SignInSettings(
    "gate",
    SignInKind.PROXY,
    networks=("10.1.0.0/16", "fd00::/8"),
    user_header="X-Forwarded-User",
    title_header="X-Forwarded-Name",
    groups_header="X-Forwarded-Groups",
)
_CONFIG = Config(
    sign_in={"gate": _GATE}, roles={"perf": RoleSettings("perf", Role.EDITOR, groups=("perf",), sign_in=("gate",))}
)


def _headers(*pairs: tuple[str, str]) -> Headers:
    return Headers(raw=[(name.lower().encode(), value.encode()) for name, value in pairs])


def _caller(*pairs: tuple[str, str], peer: str = "10.1.2.3", config: Config = _CONFIG) -> Caller | None:
    return proxy_caller(peer, _headers(*pairs), config)


def test_the_proxy_names_a_person() -> None:
    caller = _caller(
        ("X-Forwarded-User", "alice"), ("X-Forwarded-Name", "Alice Ampère"), ("X-Forwarded-Groups", "ops, perf")
    )
    assert caller is not None
    assert (caller.kind, caller.name, caller.title, caller.provider) == (
        CallerKind.PERSON,
        "alice (gate)",
        "Alice Ampère",
        "gate",
    )
    assert caller.grants.allow(Permission.DECIDE, "any")


@pytest.mark.parametrize("peer", ["10.2.0.1", "127.0.0.1", "203.0.113.7", "::1", "", "testclient", "10.1.2.3.evil"])
def test_the_same_headers_from_elsewhere_mean_nothing(peer: str) -> None:
    assert _caller(("X-Forwarded-User", "alice"), ("X-Forwarded-Groups", "perf"), peer=peer) is None


@pytest.mark.parametrize("peer", ["10.1.2.3", "::ffff:10.1.2.3", "fd00::7"])
def test_addresses_of_the_networks_are_known_in_each_spelling(peer: str) -> None:
    assert _caller(("X-Forwarded-User", "alice"), peer=peer) is not None


def test_without_the_header_no_one_signed_in_at_the_proxy() -> None:
    assert _caller(("X-Forwarded-Groups", "perf")) is None


def test_without_a_proxy_in_the_configuration_the_headers_mean_nothing() -> None:
    assert _caller(("X-Forwarded-User", "alice"), config=Config()) is None


def test_a_mail_address_of_the_proxy_counts_as_verified() -> None:
    config = Config(sign_in={"gate": _GATE}, roles={"all": RoleSettings("all", Role.VIEWER, domains=("example.org",))})
    caller = _caller(("X-Forwarded-User", "alice@example.org"), config=config)
    assert caller is not None
    assert caller.mail == "alice@example.org"
    assert caller.grants.allow_somewhere(Permission.READ)


@pytest.mark.parametrize(
    "pairs",
    [
        [("X-Forwarded-User", "alice"), ("X-Forwarded-User", "boss")],
        [("X-Forwarded-User", "alice"), ("x-forwarded-user", "alice")],
        [("X-Forwarded-User", "alice,boss")],
        [("X-Forwarded-User", "")],
        [("X-Forwarded-User", " ")],
        [("X-Forwarded-User", "ali\x07ce")],
        [("X-Forwarded-User", "alice\u202eecila")],
        [("X-Forwarded-User", "a" * 255)],
        [("X-Forwarded-User", "token:ci")],
        [("X-Forwarded-User", "GitHub:owner/name")],
        [("X-Forwarded-User", "alice"), ("X-Forwarded-Groups", "a"), ("X-Forwarded-Groups", "perf")],
        [("X-Forwarded-User", "alice"), ("X-Forwarded-Name", "Alice"), ("X-Forwarded-Name", "Boss")],
    ],
)
def test_headers_that_are_doubled_empty_or_hostile_are_refused(pairs: list[tuple[str, str]]) -> None:
    with pytest.raises(NotSignedInError) as caught:
        _caller(*pairs)
    assert caught.value.remedy


def test_a_name_that_is_not_utf8_is_refused() -> None:
    headers = Headers(raw=[(b"x-forwarded-user", b"ali\xffce")])
    with pytest.raises(NotSignedInError, match="is not UTF-8"):
        proxy_caller("10.1.2.3", headers, _CONFIG)


def test_names_outside_of_ascii_are_read_as_utf8() -> None:
    caller = _caller(("X-Forwarded-User", "Жуковский"))
    assert caller is not None
    assert caller.name == "Жуковский (gate)"


def test_hostile_titles_and_groups_are_left_out() -> None:
    config = Config(
        sign_in={"gate": _GATE}, roles={"evil": RoleSettings("evil", Role.ADMIN, groups=("per\u202ef", "", " "))}
    )
    caller = _caller(
        ("X-Forwarded-User", "alice"),
        ("X-Forwarded-Name", "A\u202eB"),
        ("X-Forwarded-Groups", "per\u202ef,, "),
        config=config,
    )
    assert caller is not None
    assert caller.title == ""
    assert not caller.grants.allow_somewhere(Permission.READ)


def _scope(peer: str | None, *forwarded: str) -> dict[str, Any]:
    return {
        "type": "http",
        "client": None if peer is None else (peer, 1234),
        "headers": [(b"x-forwarded-for", line.encode()) for line in forwarded],
    }


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.7", (), "203.0.113.7"),
        ("203.0.113.7", ("198.51.100.1",), "203.0.113.7"),  # no proxy of ours: its header is made up
        ("10.1.2.3", ("198.51.100.1",), "198.51.100.1"),
        ("10.1.2.3", ("1.1.1.1, 198.51.100.1",), "198.51.100.1"),  # the client made up the first one
        ("10.1.2.3", ("1.1.1.1, 198.51.100.1, 10.1.9.9",), "198.51.100.1"),  # two proxies of ours
        ("10.1.2.3", ("1.1.1.1", "198.51.100.1"), "198.51.100.1"),
        ("10.1.2.3", ("198.51.100.1:5555",), "198.51.100.1"),
        ("10.1.2.3", ("[2001:db8::1]:5555",), "2001:db8::1"),
        ("10.1.2.3", ("2001:db8::1",), "2001:db8::1"),
        ("10.1.2.3", ("unknown",), "10.1.2.3"),
        ("10.1.2.3", ("198.51.100.1, unknown",), "10.1.2.3"),
        ("10.1.2.3", ("",), "10.1.2.3"),
        ("10.1.2.3", (), "10.1.2.3"),
        ("::ffff:10.1.2.3", ("198.51.100.1",), "198.51.100.1"),
        ("10.1.2.3", ("10.1.0.1, 10.1.0.2",), "10.1.0.1"),
        (None, ("198.51.100.1",), ""),
    ],
)
def test_the_client_is_the_last_address_that_no_proxy_of_ours_has(
    peer: str | None, forwarded: tuple[str, ...], client: str
) -> None:
    assert client_address(_scope(peer, *forwarded), ("10.1.0.0/16",)) == client


@given(st.lists(st.text(st.characters(codec="latin-1"), max_size=40), max_size=4))
def test_what_a_stranger_sends_never_changes_its_address(lines: list[str]) -> None:
    scope = {"client": ("203.0.113.7", 1), "headers": [(b"x-forwarded-for", line.encode("latin-1")) for line in lines]}
    assert client_address(scope, ("10.1.0.0/16",)) == "203.0.113.7"
