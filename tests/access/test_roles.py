from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.access.roles import grants_of_person, log_name
from knickpoint.access.settings import RoleSettings
from knickpoint.model.access import NO_GRANTS, Permission, Role, SignedIn

ADA = SignedIn("company", "ada", mail="Ada@Example.com", mail_verified=True, groups=("perf", "Admins"))

_WORDS = st.sampled_from(
    ["ada", "ada@example.com", "*", "perf", "admins", "example.com", "evil.example.com", "company"]
)
_LISTS = st.lists(_WORDS, max_size=3).map(tuple)
_RULES = st.builds(
    RoleSettings,
    name=_WORDS,
    role=st.sampled_from(Role),
    people=_LISTS,
    groups=_LISTS,
    domains=_LISTS,
    sign_in=_LISTS,
    repositories=_LISTS,
)
_PEOPLE = st.builds(SignedIn, provider=_WORDS, name=_WORDS, mail=_WORDS, mail_verified=st.booleans(), groups=_LISTS)


def may(person: SignedIn, **rule: tuple[str, ...]) -> bool:
    """Return whether a section with these lists is about the person."""
    return grants_of_person([RoleSettings("rule", Role.VIEWER, **rule)], person) != NO_GRANTS


@given(st.lists(_RULES, max_size=4), _RULES, _PEOPLE, _WORDS)
def test_a_further_section_takes_no_permission_away(
    rules: list[RoleSettings], further: RoleSettings, person: SignedIn, repository: str
) -> None:
    before, after = grants_of_person(rules, person), grants_of_person([*rules, further], person)
    assert all(after.allow(one, repository) for one in Permission if before.allow(one, repository))


@given(_RULES, _PEOPLE)
def test_a_section_grants_what_its_role_includes_and_no_more(rule: RoleSettings, person: SignedIn) -> None:
    grants = grants_of_person([rule], person)
    granted = grants.everywhere.union(*grants.repositories.values())
    assert granted in (frozenset(), rule.role.permissions)
    assert not (rule.repositories and grants.everywhere)


@given(_RULES, _PEOPLE)
def test_a_section_for_other_providers_grants_nothing(rule: RoleSettings, person: SignedIn) -> None:
    assert grants_of_person([replace(rule, sign_in=("elsewhere",))], person) == NO_GRANTS


@given(_RULES, _PEOPLE)
def test_a_mail_address_that_is_not_verified_grants_nothing(rule: RoleSettings, person: SignedIn) -> None:
    by_mail = replace(rule, people=tuple(entry for entry in rule.people if "@" in entry), groups=())
    assert grants_of_person([by_mail], replace(person, mail_verified=False)) == NO_GRANTS


def test_a_section_that_names_no_person_group_or_domain_is_about_none() -> None:
    assert not may(ADA)
    assert not may(ADA, sign_in=("company",))
    assert not may(SignedIn("company", ""), people=("",), groups=("",), domains=("",))


def test_a_star_means_all_who_signed_in_there() -> None:
    assert may(ADA, people=("*",), sign_in=("company",))
    assert not may(ADA, people=("*",), sign_in=("other",))


@pytest.mark.parametrize("entry", ["ada", "ada@example.com", "ADA@EXAMPLE.COM"])
def test_a_person_is_named_by_user_name_or_by_mail_address_in_any_case(entry: str) -> None:
    assert may(ADA, people=(entry,))


@pytest.mark.parametrize("entry", ["ADA", "ad", "ada ", "ada@example.com ", "ada@example.org"])
def test_a_person_is_not_named_by_what_is_only_similar(entry: str) -> None:
    assert not may(ADA, people=(entry,))


def test_a_user_name_that_looks_like_a_mail_address_is_none() -> None:
    assert not may(SignedIn("company", "boss@example.com"), people=("boss@example.com",))


def test_neither_a_mail_address_nor_its_domain_counts_before_the_provider_has_verified_it() -> None:
    unverified = replace(ADA, mail_verified=False)
    assert not may(unverified, people=("ada@example.com",))
    assert not may(unverified, domains=("example.com",))
    assert may(unverified, people=("ada",))


@pytest.mark.parametrize("domain", ["example.com", "EXAMPLE.com"])
def test_a_domain_matches_in_any_case(domain: str) -> None:
    assert may(ADA, domains=(domain,))


@pytest.mark.parametrize(
    "mail",
    [
        "ada@evil.example.com",
        "ada@example.com.evil",
        "ada@evilexample.com",
        "@example.com",
        "example.com",
        "ada@example.com.",
    ],
)
def test_a_domain_matches_whole(mail: str) -> None:
    assert not may(replace(ADA, mail=mail), domains=("example.com",))


def test_the_domain_of_a_mail_address_stands_after_its_last_at_sign() -> None:
    assert not may(replace(ADA, mail='"ada@example.com"@evil.example'), domains=("example.com",))


def test_a_letter_outside_of_ascii_does_not_fold_into_another_one() -> None:
    assert not may(replace(ADA, mail="ada@\u212aernel.org"), domains=("kernel.org",))
    assert not may(replace(ADA, mail="wei\xdf@example.com"), people=("weiss@example.com",))


def test_a_group_matches_exactly() -> None:
    assert may(ADA, groups=("perf",))
    assert not any(may(ADA, groups=(name,)) for name in ("Perf", "admins", "per", "perf "))


@pytest.mark.parametrize(
    ("person", "name"),
    [
        (SignedIn("company", "ada"), "ada (company)"),
        (SignedIn("gitlab", "ada"), "ada (gitlab)"),
        (SignedIn("company", "token:ci"), "token:ci (company)"),
        (SignedIn("company", "ada (gitlab)"), "ada (gitlab) (company)"),
        (SignedIn("company", "ada@example.com", mail="ada@example.com", mail_verified=True), "ada@example.com"),
        (SignedIn("company", "ada@example.com", mail="ada@example.com"), "ada@example.com (company)"),
    ],
)
def test_logs_tell_people_of_two_providers_apart(person: SignedIn, name: str) -> None:
    assert log_name(person) == name


def test_a_name_as_logs_write_it_means_the_person_of_this_provider() -> None:
    assert may(SignedIn("company", "ada"), people=("ada (company)",))
    assert not may(SignedIn("gitlab", "ada"), people=("ada (company)",))
    assert not may(SignedIn("gitlab", "ada (company)"), people=("ada (company)",))
