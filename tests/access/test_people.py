"""Who a provider says that somebody is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.access.roles import person_of_claims
from knickpoint.access.settings import SignInSettings
from knickpoint.model.access import SignedIn
from knickpoint.model.errors import NotSignedInError

_SETTINGS = SignInSettings("keycloak")


def _person(settings: SignInSettings = _SETTINGS, **claims: Any) -> SignedIn:
    return person_of_claims({"sub": "248289761001", **claims}, settings)


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({}, "248289761001"),
        ({"email": "a@example.org", "email_verified": True}, "a@example.org"),
        ({"email": "a@example.org", "email_verified": True, "preferred_username": "alice"}, "a@example.org"),
        ({"email": "a@example.org", "email_verified": False, "preferred_username": "alice"}, "alice"),
        ({"email": "a@example.org", "email_verified": "true"}, "248289761001"),
        ({"email": "a@example.org", "email_verified": 1}, "248289761001"),
        ({"email": "a@example.org"}, "248289761001"),
        ({"email": "a@b@example.org", "email_verified": True}, "248289761001"),
        ({"preferred_username": "boss@example.org"}, "248289761001"),
        ({"nickname": "alice"}, "alice"),
        ({"preferred_username": 7}, "248289761001"),
    ],
)
def test_the_name_is_what_a_person_cannot_choose_freely(claims: dict[str, Any], name: str) -> None:
    assert _person(**claims).name == name


def test_the_claim_of_the_configuration_is_the_name() -> None:
    settings = SignInSettings("entra", name_claim="upn")
    person = _person(settings, upn="alice@corp.example", email="other@example.org", email_verified=False)
    assert (person.name, person.mail, person.mail_verified) == ("alice@corp.example", "alice@corp.example", True)


def test_a_claim_of_the_configuration_that_is_not_sent_is_named() -> None:
    with pytest.raises(NotSignedInError, match="'upn'") as caught:
        _person(SignInSettings("entra", name_claim="upn"), email="a@example.org", email_verified=True)
    assert "name_claim" in caught.value.remedy


@pytest.mark.parametrize(
    "name", ["token:ci", "GITHUB:o/r", "gitlab:g/p", "anyone (203.0.113.7)", "a\x00b", "a\u202eb", " a", "a" * 255]
)
def test_a_name_that_would_mislead_in_a_log_is_refused(name: str) -> None:
    with pytest.raises(NotSignedInError, match="cannot be used") as caught:
        _person(preferred_username=name)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("value", "groups"),
    [
        (["a", "b"], ("a", "b")),
        ("a", ("a",)),
        (["a", 7, None, "", "b\n", ["c"]], ("a",)),
        ({"a": 1}, ()),
        (None, ()),
        (["g"] * 6_000, ("g",) * 5_000),
    ],
)
def test_groups_are_the_texts_of_the_claim(value: object, groups: tuple[str, ...]) -> None:
    assert _person(groups=value).groups == groups


def test_groups_may_stand_in_another_claim() -> None:
    settings = SignInSettings("auth0", groups_claim="https://example.org/roles")
    assert _person(settings, **{"https://example.org/roles": ["perf"], "groups": ["admins"]}).groups == ("perf",)


_ANY = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=9), st.lists, max_leaves=4)


@given(st.dictionaries(st.sampled_from(["sub", "email", "email_verified", "name", "groups", "nickname"]), _ANY))
def test_any_claims_make_a_person_or_are_refused(claims: dict[str, Any]) -> None:
    try:
        person = person_of_claims(claims, _SETTINGS)
    except NotSignedInError:
        return
    assert person.name.isprintable()
    assert "@" not in person.name or person.mail_verified
