"""Lists, rooms, authors and owners hear of a change, each receiver once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from knickpoint.model.alert import Alert, AlertKind, AlertSeverity
from knickpoint.model.notification import Recipient
from knickpoint.notify.recipients import Audience, AuthorOfSuspect
from knickpoint.notify.settings import ChannelKind, ChannelSettings
from knickpoint.people import Directory, Person, PersonSettings

MAIL = ChannelSettings("mail", ChannelKind.MAIL, to=("perf@example.org", "ann@example.org"))
MORE = ChannelSettings("more", ChannelKind.MAIL, to=("Perf@example.org", "af@old.example"), provisional=True)
CHAT = ChannelSettings("chat", ChannelKind.CHAT)
ISSUES = ChannelSettings("issues", ChannelKind.GITHUB, provisional=True)
PEOPLE = Directory(
    {
        "ann": PersonSettings("ann", mail="ann@example.org", also=("af@old.example",)),
        "cat": PersonSettings("cat", mail="cat@example.org", mute=True),
        "eve": PersonSettings("eve", mail="eve@example.org"),
    }
)
AUDIENCE = Audience({each.name: each for each in (MAIL, MORE, CHAT, ISSUES)}, PEOPLE, 0.2)
ANN = Recipient("mail", "ann@example.org", "ann")
LIST = Recipient("mail", "perf@example.org")


def suspect(name: str, email: str, probability: float) -> AuthorOfSuspect:
    return AuthorOfSuspect(PEOPLE.person_of_author(name, email), probability)


def test_one_person_in_two_lists_of_two_alerts_hears_once() -> None:
    alerts = [Alert("a", notify=("mail",)), Alert("b", notify=("more", "mail"))]
    assert AUDIENCE.of_change(alerts, [suspect("A", "af@old.example", 0.9)]) == [LIST, ANN]


def test_authors_of_likely_suspects_hear_and_those_of_unlikely_ones_do_not() -> None:
    suspects = [suspect("Ben", "ben@example.org", 0.2), suspect("Dan", "dan@example.org", 0.19)]
    found = replace(AUDIENCE, channels={"mail": replace(MAIL, authors=True)}).of_change(
        [Alert("a", notify=("mail",))], suspects
    )
    assert found == [LIST, ANN, Recipient("mail", "ben@example.org")]


@pytest.mark.parametrize(
    ("domains", "heard"),
    [
        ((), ["eve@example.org"]),
        (("Example.org",), ["ben@example.org", "eve@example.org"]),
        (("other.example",), ["eve@example.org"]),
    ],
)
def test_a_channel_writes_to_authors_of_people_and_of_its_domains(domains: tuple[str, ...], heard: list[str]) -> None:
    channel = ChannelSettings("mail", ChannelKind.MAIL, domains=domains)
    suspects = [
        suspect("Ben", "ben@example.org", 0.9),
        suspect("Eve", "eve@example.org", 0.9),
        suspect("Kim", "kim@sub.example.org", 0.9),
    ]
    found = Audience({"mail": channel}, PEOPLE, 0).of_change([Alert("a", notify=("mail",))], suspects)
    assert [each.address for each in found] == heard


def test_an_owner_whom_the_configuration_names_is_no_stranger() -> None:
    owner = AuthorOfSuspect(PEOPLE.owner("lab@example.net"), 0.9, configured=True)
    assert Recipient("mail", "lab@example.net") in AUDIENCE.of_change([Alert("a", notify=("mail",))], [owner])


def test_programs_and_muted_people_get_nothing() -> None:
    suspects = [suspect("x[bot]", "x@example.org", 0.9), suspect("Cat", "cat@example.org", 0.9)]
    assert AUDIENCE.of_change([Alert("a", notify=("mail",))], suspects) == [LIST, ANN]


def test_rooms_and_trackers_are_one_receiver_each() -> None:
    found = AUDIENCE.of_change([Alert("a", notify=("chat", "issues", "chat"))], [suspect("B", "b@example.org", 0.9)])
    assert found == [Recipient("chat"), Recipient("issues")]


def test_owners_hear_of_changes_of_high_severity() -> None:
    urgent = Alert("a", notify=("mail",), owners=("eve",), severity=AlertSeverity.HIGH)
    assert Recipient("mail", "eve@example.org", "eve") in AUDIENCE.of_change([urgent], [])
    usual = Alert("a", notify=("mail",), owners=("eve",))
    assert AUDIENCE.of_change([usual], []) == [LIST, ANN]


def test_alerts_that_are_no_work_notify_no_receiver() -> None:
    others = [Alert("a", notify=("mail",), kind=kind) for kind in (AlertKind.INFORMATIONAL, AlertKind.CANARY)]
    assert AUDIENCE.of_change(others, []) == []


def test_provisional_findings_go_to_channels_that_ask_and_never_to_trackers() -> None:
    alert = Alert("a", notify=("mail", "more", "chat", "issues"))
    found = AUDIENCE.of_change([alert], [], provisional=True)
    assert found == [Recipient("more", "Perf@example.org"), Recipient("more", "ann@example.org", "ann")]


def test_an_escalation_goes_to_owners_by_mail_and_else_to_the_room() -> None:
    assert AUDIENCE.of_escalation([Alert("a", notify=("chat", "mail"), owners=("eve",))]) == [
        Recipient("mail", "eve@example.org", "eve")
    ]
    assert AUDIENCE.of_escalation([Alert("a", notify=("chat",), owners=("eve",))]) == [Recipient("chat")]
    assert AUDIENCE.of_escalation([Alert("a", notify=("chat", "mail"))]) == []


def test_a_channel_that_is_gone_and_a_person_who_is_muted_are_no_longer_there() -> None:
    assert AUDIENCE.still_there(ANN)
    assert not AUDIENCE.still_there(Recipient("gone", "ann@example.org", "ann"))
    assert not AUDIENCE.still_there(Recipient("mail", "cat@example.org", "cat"))


def test_a_person_without_a_section_is_the_same_in_a_list_and_as_an_author() -> None:
    ben = Person(title="Ben", mail="PERF@example.org")
    assert AUDIENCE.of_change([Alert("a", notify=("mail",))], [AuthorOfSuspect(ben, 1.0)]) == [LIST, ANN]
