"""Authors, owners, recipients and those who sign in are found as one person."""

from __future__ import annotations

import pytest

from knickpoint.model.errors import ConfigError
from knickpoint.people import Directory, PersonSettings, is_mail_address, mail_of_person

ANN = PersonSettings(
    "ann", title="Ann Field", mail="ann@example.org", also=("af@old.example",), sign_in=("afield",), github="annf"
)
DIRECTORY = Directory({"ann": ANN})


@pytest.mark.parametrize("email", ["ann@example.org", "AF@old.example", " ann@example.org "])
def test_an_author_is_known_by_every_address(email: str) -> None:
    assert DIRECTORY.person_of_author("somebody else", email).name == "ann"


@pytest.mark.parametrize("text", ["ann", "afield", "Ann@example.org"])
def test_an_owner_is_known_by_section_by_sign_in_and_by_address(text: str) -> None:
    person = DIRECTORY.owner(text)
    assert (person.name, person.mail, person.title, person.sign_in) == (
        "ann",
        "ann@example.org",
        "Ann Field",
        "afield",
    )


def test_a_person_without_a_section_is_known_by_the_address() -> None:
    person = DIRECTORY.person_of_author("Ben", "ben@example.org")
    assert (person.name, person.title, person.mail, person.identity) == (
        "",
        "Ben",
        "ben@example.org",
        "ben@example.org",
    )


@pytest.mark.parametrize(
    ("name", "email"),
    [
        ("Ann", "1234+ann@users.noreply.github.com"),
        ("GitHub", "noreply@github.com"),
        ("Ann", "no-reply@example.org"),
        ("Ann", "do_not_reply@example.org"),
        ("dependabot[bot]", "support@example.org"),
        ("x", "49699333+dependabot[bot]@users.noreply.github.com"),
        ("Roller", "skia-autoroll@skia-public.iam.gserviceaccount.com"),
        ("Build", "build-bot@example.org"),
        ("Ann", "ann@build-host"),
        ("Ann", "ann@laptop.(none)"),
        ("Ann", "ann@laptop.local"),
        ("Ann", ""),
        ("Ann", "ann at example.org"),
        ("Ann", "ann@example.org\r\nBcc: all@example.org"),
        ("Ann", "ann@exam ple.org"),
        ("Ann", "a@b@example.org"),
    ],
)
def test_programs_and_what_is_no_address_get_no_mail(name: str, email: str) -> None:
    assert mail_of_person(name, email) == ""


@pytest.mark.parametrize(
    "email", ["abbott@example.org", "cicero@example.org", "robot.smith@example.org", "a+b@x.co.uk"]
)
def test_people_whose_address_resembles_a_program_get_mail(email: str) -> None:
    assert mail_of_person("Ann", email) == email


def test_an_address_of_the_configuration_is_used_as_it_is() -> None:
    assert DIRECTORY.person_of_address("perf-bot@example.org").mail == "perf-bot@example.org"


def test_one_address_in_two_sections_is_refused_with_both_names() -> None:
    ben = PersonSettings("ben", mail="AF@old.example")
    with pytest.raises(ConfigError, match=r"\[people.ben\].*\[people.ann\]"):
        Directory({"ann": ANN, "ben": ben})


@pytest.mark.parametrize("address", ["a" * 65 + "@example.org", "a@" + "b" * 250 + ".org", "ä@example.org", "a@-x.org"])
def test_addresses_that_no_server_takes_are_none(address: str) -> None:
    assert not is_mail_address(address)
