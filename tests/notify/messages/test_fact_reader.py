"""The facts of a message: read from the store when it is sent, bounded, and harmless whatever names there are."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from PIL import Image
from tests.hostile_names import HOSTILE
from tests.watch.conftest import QUICK, World, levels, make_world

from knickpoint.model.alert import AlertDirection, AlertKind
from knickpoint.model.change_point import Status
from knickpoint.model.notification import Announcement, AnnouncementKind, Delivery, NotificationKind, Recipient
from knickpoint.model.suspects import Suspect, SuspectFacts, Suspects
from knickpoint.notify.messages import NotificationFacts, load_templates, message_for
from knickpoint.notify.messages.fact_reader import FactReader, FactSettings, held_text
from knickpoint.notify.messages.facts import first_sentence
from knickpoint.notify.settings import ChannelKind, ChannelSettings
from knickpoint.notify.trackers.tracker_channel import changes_of
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.triage.decisions import Targets, decide

_ADDRESS = "https://perf.example.org"
_ALERT = replace(QUICK, settle_share=0, settle_least=3, settle_most=3)


class Links:
    """Signs nothing."""

    def noise(self, change: int, recipient: Recipient) -> str:
        return f"{_ADDRESS}/noise/{change}/{recipient.address}"

    def take(self, change: int, recipient: Recipient) -> str:
        return f"{_ADDRESS}/take/{change}/{recipient.address}"

    def mute(self, recipient: Recipient) -> str:
        return f"{_ADDRESS}/mute/{recipient.address}"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = make_world(tmp_path / "store.db")
    yield made
    made.store.close()


@pytest.fixture(scope="module")
def regressed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Return an instance with one change of two traces, for tests that only read."""
    made = make_world(tmp_path_factory.mktemp("regressed") / "store.db")
    _feed(made, parse=((20, 10.0), (6, 12.0)), render=((20, 5.0), (6, 7.5)))
    yield made
    made.store.close()


def _announced(world: World) -> list[Announcement]:
    return world.store.findings.announcements.after(0)


def _feed(world: World, **parts: tuple[tuple[int, float], ...]) -> list[Announcement]:
    """Measure all, with the first 20 values before any run, and return what is announced."""
    values = {name: levels(*each) for name, each in parts.items()}
    world.measure({name: series[:20] for name, series in values.items()})
    run_alerts(world.store, [_ALERT], as_work=True)
    world.measure({name: series[20:] for name, series in values.items()}, first=20)
    run_alerts(world.store, [_ALERT], as_work=True)
    return world.store.findings.announcements.after(0)


def _delivery(announced: list[Announcement], kind: NotificationKind = NotificationKind.CHANGE) -> Delivery:
    recipient = Recipient("mail", "ada@example.org", "ada")
    ids = tuple(each.id for each in announced)
    time = announced[0].time
    return Delivery(1, "key", kind, recipient, announced[0].repository_id, ids, "change-1", time, time)


def _read(
    world: World,
    announced: list[Announcement],
    kind: NotificationKind = NotificationKind.CHANGE,
    *,
    hours: float = 0.0,
) -> NotificationFacts:
    reader = FactReader(world.store, FactSettings("Performance", _ADDRESS, (_ALERT,), Links()))
    return reader.read(_delivery(announced, kind), announced[0].time + timedelta(hours=hours))


def _mail(facts: NotificationFacts) -> str:
    """Return the plain text of a mail about ``facts``."""
    return load_templates(ChannelSettings("mail", ChannelKind.MAIL), Path()).render(facts).text


def test_the_facts_say_what_changed_by_how_much_and_where(regressed: World) -> None:
    facts = _read(regressed, _announced(regressed))
    (change,) = facts.changes
    assert (change.kind, change.lead.verdict, change.traces, change.worse) == ("regressed", "worse", 2, 2)
    assert (change.lead.name, change.lead.change) == ("render", "50 % slower")
    assert [each.name for each in change.others] == ["parse"]
    assert change.suspect_range.commits == 1
    assert change.sentence == (
        f"2 slower by up to 50 % since {change.suspect_range.last.short}: render (kind=r) and 1 further trace"
    )
    assert change.suspect_range.last.subject == "Change 20"
    assert change.size_to_noise is not None
    assert change.alerts == ("quick",)
    assert change.reproduce.startswith("knick explain ',benchmark=render,kind=r,' --at ")


def test_findings_that_are_held_back_are_counted_with_the_reason(regressed: World) -> None:
    point = regressed.store.findings.announcements.members([1])[0]
    held = [replace(point, held="canary loop moved"), replace(point, held="canary loop moved"), point]
    assert held_text(held) == "2 of 3 findings are held back: canary loop moved"
    assert held_text(held[:1]) == "all findings are held back: canary loop moved"
    assert held_text([point]) == ""


def test_links_are_those_of_the_recipient(regressed: World) -> None:
    facts = _read(regressed, _announced(regressed))
    (change,) = facts.changes
    assert change.links.noise == f"{_ADDRESS}/noise/{change.change}/ada@example.org"
    assert change.links.take
    assert change.links.change == f"{_ADDRESS}/change/R{change.change}"
    assert facts.mute == f"{_ADDRESS}/mute/ada@example.org"
    assert facts.recipient == "ada"


def test_a_recovery_names_the_commit_that_brought_the_level_back(world: World) -> None:
    announced = _feed(world, parse=((20, 10.0), (10, 12.0)))
    world.measure({"parse": levels((30, 10.0), (10, 10.0))[30:]}, first=30)
    run_alerts(world.store, [_ALERT], as_work=True)
    recovered = world.store.findings.announcements.after(announced[-1].id)
    assert [each.kind for each in recovered] == [AnnouncementKind.RECOVERED]
    (change,) = _read(world, recovered).changes
    assert change.kind == "recovered"
    assert change.cause_commit is not None
    assert change.cause_commit.subject == "Change 30"
    assert change.announcements == ("regressed", "recovered")
    assert (change.links.noise, change.links.take) == ("", "")


def test_a_change_that_was_reverted_before_it_was_announced_is_said_to_be_over(world: World) -> None:
    reverted = ((20, 10.0), (10, 12.0), (10, 10.0))
    announced = _feed(world, parse=reverted, render=reverted)
    assert [each.kind for each in announced] == [AnnouncementKind.REGRESSED]
    facts = _read(world, announced)
    (change,) = facts.changes
    assert (change.kind, change.recovered, change.traces) == ("regressed", True, 2)
    assert change.cause_commit is not None
    assert change.sentence == (
        f"Recovered already: parse (kind=p) and 1 further trace are back at the earlier level "
        f"with {change.cause_commit.short}, after 2 slower by up to 20 % since {change.suspect_range.last.short}"
    )
    text = _mail(facts)
    assert f"The level came back with {change.cause_commit.short} (Change 30" in text
    assert "It was:    10 " in text


@pytest.mark.parametrize("at_once", [False, True])
def test_an_improvement_that_no_change_says_is_over_is_called_lost(world: World, *, at_once: bool) -> None:
    alerts = [
        replace(_ALERT, direction=AlertDirection.BETTER),
        replace(_ALERT, name="others", direction=AlertDirection.WORSE, kind=AlertKind.INFORMATIONAL),
    ]
    values = levels((20, 12.0), (10, 10.0), (10, 12.0))
    for first, last in ((0, 20), (20, 40)) if at_once else ((0, 20), (20, 30), (30, 40)):
        world.measure({"parse": values[first:last]}, first=first)
        run_alerts(world.store, alerts, as_work=True)
    facts = _read(world, _announced(world)[-1:])
    (change,) = facts.changes
    place = f" since {change.suspect_range.last.short}" if at_once else ""
    assert change.sentence == (
        f"Improvement lost{' already' if at_once else ''}: parse (kind=p) is back at the earlier level "
        f"with {world.store.commits.get(world.repository, [30])[0].commit.hash[:10]}, after 17 % faster{place}"
    )
    message = message_for(
        _delivery(_announced(world)), facts, load_templates(ChannelSettings("t", ChannelKind.GITHUB), Path())
    )
    (sent,) = changes_of(message.data)
    assert sent.fixed == ""  # the commit that took an improvement back fixes nothing


def test_what_brings_a_level_back_is_not_counted_among_what_changed_together(world: World) -> None:
    reverted = ((20, 10.0), (10, 12.0), (10, 10.0))
    (change,) = _read(world, _feed(world, parse=reverted, render=reverted)).changes
    assert (change.traces, change.worse, change.better) == (2, 2, 0)


def test_the_first_line_has_the_change_of_the_trace_that_it_names(world: World) -> None:
    announced = _feed(world, parse=((20, 10.0), (6, 12.0)))
    (change,) = _read(world, announced).changes
    wilder = replace(change, traces=3, worse=3, headline="16 % slower", lead=replace(change.lead, change="16 % slower"))
    assert first_sentence(wilder) == (
        f"parse (kind=p) is 16 % slower since {change.suspect_range.last.short}, and 2 further traces changed with it"
    )


def test_the_newest_announcement_of_a_chain_counts(world: World) -> None:
    announced = _feed(world, parse=((20, 10.0), (10, 12.0)))
    world.measure({"parse": levels((40, 10.0))[30:]}, first=30)
    run_alerts(world.store, [_ALERT], as_work=True)
    facts = _read(world, world.store.findings.announcements.after(0))
    assert len(announced) == 1
    assert [each.kind for each in facts.changes] == ["recovered"]


def test_a_decision_shows_who_handles_the_change(world: World) -> None:
    announced = _feed(world, parse=((20, 10.0), (6, 12.0)))
    points = tuple(each.id for each in world.points("parse"))
    decide(world.store, Targets(points=points), who="ada", status=Status.TICKET, ticket="PARSE-7", assignee="ada")
    (change,) = _read(world, announced).changes
    assert (change.status, change.assignee, change.ticket) == ("ticket", "ada", "PARSE-7")
    assert change.links.take == ""


def test_suspects_are_named_with_their_probability_and_reasons(world: World) -> None:
    announced = _feed(world, parse=((20, 10.0), (6, 12.0)))
    place = announced[0].suspect_range
    reasons = tuple(f"reason {number}" for number in range(50))
    suspects = (Suspect(20, 0.8, reasons), *(Suspect(slot, 0.001, ()) for slot in range(19)))
    found = Suspects(place, 0.1, SuspectFacts.GIT, suspects, "a note")
    (stale,) = world.store.findings.suspects.stale(world.repository)
    world.store.findings.suspects.put({stale: found})
    (change,) = _read(world, announced).changes
    assert [(each.percent, each.commit.subject) for each in change.suspects] == [("80 %", "Change 20")]
    assert len(change.suspects[0].reasons) == 4
    assert change.suspects_omitted == 19
    assert (change.no_suspect_percent, change.suspects_note) == ("10 %", "a note")


def test_what_is_gone_from_the_store_has_no_facts(regressed: World) -> None:
    announced = _announced(regressed)
    gone = _delivery([replace(announced[0], id=999)])
    assert FactReader(regressed.store, FactSettings("Performance")).read(gone, announced[0].time).changes == ()


def test_an_escalation_says_for_how_long_no_person_took_the_change(regressed: World) -> None:
    announced = _announced(regressed)
    assert _read(regressed, announced, NotificationKind.ESCALATION, hours=50).hours == 50
    assert _read(regressed, announced, hours=50).hours == 0


def test_the_picture_is_drawn_once_for_all_recipients(regressed: World) -> None:
    announced = _announced(regressed)
    reader = FactReader(regressed.store, FactSettings("Performance", _ADDRESS))
    pictures = [reader.read(_delivery(announced), announced[0].time).pictures for _ in range(2)]
    (first,), (second,) = ([draw() for draw in each.values()] for each in pictures)
    assert first is second
    assert Image.open(io.BytesIO(first)).size == (1200, 520)


def test_a_digest_without_links_is_put_into_words_once_for_all_recipients(regressed: World) -> None:
    announced = _announced(regressed)
    delivery = _delivery(announced, NotificationKind.DIGEST)
    reader = FactReader(regressed.store, FactSettings("Performance"))
    templates = load_templates(ChannelSettings("mail", ChannelKind.MAIL), Path())
    first, second = (
        templates.render(reader.read(replace(delivery, recipient=Recipient("mail", address)), announced[0].time))
        for address in ("ada@example.org", "bob@example.org")
    )
    assert first is second
    named = reader.read(replace(delivery, recipient=Recipient("mail", "eve@example.org", "eve")), announced[0].time)
    assert templates.render(named) is not first


def test_many_traces_are_counted_and_the_first_ones_named_where_they_differ(world: World) -> None:
    prefix = "suite/of/all/benchmarks/that/have/one/very/long/path/in/common/so/that/no/line/has/room/for/it/"
    parts = {f"{prefix}case_{number:02}": ((20, 10.0), (6, 12.0 + number / 100)) for number in range(60)}
    (change,) = _read(world, _feed(world, **parts)).changes
    assert change.traces == 60
    assert len(change.others) == 9
    assert change.others_omitted == 50
    names = [change.lead.name, *(each.name for each in change.others)]
    assert len(set(names)) == len(names)
    assert all(len(name) <= 90 and "case_" in name for name in names)


def test_hostile_names_make_harmless_messages(world: World) -> None:
    names = [f"x{name.strip()[:300]}y" for name in HOSTILE.values() if name.isprintable()]
    announced = _feed(world, **{name: ((20, 10.0), (6, 12.0 + 0.1 * at)) for at, name in enumerate(names)})
    facts = _read(world, announced)
    (change,) = facts.changes
    for trace in (change.lead, *change.others):
        hostile = replace(facts, changes=(replace(change, lead=trace, sentence=f"{trace.name} is slower"),))
        for kind in (ChannelKind.MAIL, ChannelKind.GITHUB):
            templates = load_templates(ChannelSettings("m", kind), Path())
            message = message_for(_delivery(announced), hostile, templates)
            assert message.subject.isprintable()
            assert all(line.isprintable() for line in message.text.replace("\u200b", "").split("\n"))
            assert "<img src=x" not in message.html
            assert "<script" not in message.html
