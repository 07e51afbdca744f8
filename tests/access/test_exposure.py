"""Which servers other machines reach, and what is to be said about it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from knickpoint.access.exposure import Advice, advise, check_open_port, reaches_other_machines
from knickpoint.access.settings import AccessSettings, AnyoneRole, RoleSettings, SignInSettings
from knickpoint.model.access import Permission, Role, Token
from knickpoint.model.errors import ConfigError

NOW = datetime(2026, 11, 22, tzinfo=UTC)
COMPANY = {"company": SignInSettings("company")}
OPEN = ["0.0.0.0", "::", "[::]", "192.168.1.2", "fe80::1", "no-such-name.invalid"]


@pytest.mark.parametrize("host", OPEN)
def test_other_machines_reach_what_is_not_loopback(host: str) -> None:
    assert reaches_other_machines(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "localhost"])
def test_other_machines_do_not_reach_loopback(host: str) -> None:
    assert not reaches_other_machines(host)


@pytest.mark.parametrize("host", OPEN)
def test_an_open_port_without_sign_in_is_refused_with_what_to_set(host: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_open_port(host, AccessSettings(), {})
    assert (caught.value.where, host in caught.value.message) == ("[access] anyone", True)
    assert "[sign_in.NAME]" in caught.value.remedy


@pytest.mark.parametrize(
    ("host", "anyone", "sign_in"),
    [
        ("127.0.0.1", AnyoneRole.UNSET, {}),
        ("0.0.0.0", AnyoneRole.UNSET, COMPANY),
        *(("0.0.0.0", anyone, {}) for anyone in AnyoneRole if anyone is not AnyoneRole.UNSET),
    ],
)
def test_a_port_with_sign_in_or_with_a_setting_is_accepted(
    host: str, anyone: AnyoneRole, sign_in: Mapping[str, SignInSettings]
) -> None:
    check_open_port(host, AccessSettings(anyone=anyone), sign_in)


def advice(
    host: str = "127.0.0.1",
    anyone: AnyoneRole = AnyoneRole.UNSET,
    sign_in: Mapping[str, SignInSettings] | None = None,
    *,
    roles: tuple[RoleSettings, ...] = (),
    tokens: tuple[Token, ...] = (),
) -> list[Advice]:
    return advise(host, AccessSettings(anyone=anyone), sign_in or {}, roles=roles, tokens=tokens, now=NOW)


def test_a_server_for_this_machine_needs_no_advice() -> None:
    assert advice() == []


@pytest.mark.parametrize("anyone", list(AnyoneRole))
def test_an_open_port_is_always_named(anyone: AnyoneRole) -> None:
    (found,) = advice("0.0.0.0", anyone)
    assert (found.about, found.remedy != "") == ("open port", True)
    assert anyone.value in found.observed


@pytest.mark.parametrize(
    ("anyone", "warned"), [(AnyoneRole.VIEWER, False), (AnyoneRole.EDITOR, True), (AnyoneRole.ADMIN, True)]
)
def test_a_role_of_anyone_is_named_and_warned_of_where_it_decides(anyone: AnyoneRole, *, warned: bool) -> None:
    roles = (RoleSettings("all", Role.VIEWER, people=("*",)),)
    (found,) = advice("0.0.0.0", anyone, COMPANY, roles=roles)
    assert (found.about, bool(found.remedy)) == ("anyone", warned)


@pytest.mark.parametrize(("sections", "named"), [((), True), (("other",), False), (("company", "other"), True)])
def test_a_way_to_sign_in_without_a_role_is_named(sections: tuple[str, ...], *, named: bool) -> None:
    roles = (RoleSettings("some", Role.VIEWER, people=("ada",), sign_in=sections),)
    assert ([each.about for each in advice(sign_in=COMPANY, roles=roles)] == []) is named
    assert [each.about for each in advice(sign_in=COMPANY)] == ["sign-in company"]


def token(name: str, days: float | None, *, revoked: bool = False) -> Token:
    expires = None if days is None else NOW + timedelta(days=days)
    scopes = frozenset({Permission.READ})
    return Token(name, scopes, (), NOW, "ada", expires, None, NOW if revoked else None)


def test_tokens_that_expire_soon_are_named_and_others_are_not() -> None:
    tokens = (
        token("soon", 13),
        token("later", 15),
        token("never", None),
        token("over", -1),
        token("gone", 5, revoked=True),
    )
    assert [each.about for each in advice(tokens=tokens)] == ["token soon"]
