"""What is sent or drawn outside the dashboard states the words, commit and counts of the stored statement of a change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from tests.watch.conftest import QUICK, World, levels, make_world
from tests.watch.test_announcements import _find_culprit

from knickpoint.access.local_user import local_caller
from knickpoint.cli.commands.changes.rows import change_rows
from knickpoint.model.announcement import Announcement
from knickpoint.model.notification import Delivery, NotificationKind, Recipient
from knickpoint.model.statement import Basis, ChangeDirection, Statement
from knickpoint.model.suspects import Suspect, SuspectFacts, Suspects
from knickpoint.notify.messages import NotificationFacts, load_templates, message_for
from knickpoint.notify.messages.fact_reader import FactReader, FactSettings
from knickpoint.notify.messages.repository_facts import RepositoryFacts
from knickpoint.notify.settings import ChannelKind, ChannelSettings
from knickpoint.notify.trackers.change_ticket import draft_ticket
from knickpoint.notify.trackers.tracker import Tracker
from knickpoint.notify.trackers.tracker_channel import TrackerChannel, changes_of
from knickpoint.server.answers.changes import change_answers
from knickpoint.server.answers.pictures import draw_badge_of
from knickpoint.server.answers.tabular_values import annotate
from knickpoint.server.schemas.values import GrafanaAnnotationsRequest
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.watch.alert_run.run import run_alerts

_ALERT = replace(QUICK, settle_share=0, settle_least=3, settle_most=3)
_WORSE = levels((20, 5.0), (10, 6.0))
_MIXED = {f"t{number:02}": levels((20, 10.0), (10, 6.0)) for number in range(24)} | {"worse": _WORSE}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = make_world(tmp_path / "store.db")
    yield made
    made.store.close()


def _feed(world: World, values: dict[str, list[float]], *ends: int) -> None:
    first = 0
    for last in ends:
        world.measure({name: series[first:last] for name, series in values.items()}, first=first)
        run_alerts(world.store, [_ALERT], as_work=True)
        first = last


def _without(series: list[float], *slots: int) -> list[float]:
    return [math.nan if slot in slots else value for slot, value in enumerate(series)]


def _rank(world: World, *probabilities: float) -> None:
    (change,) = world.store.findings.changes(world.repository)
    place = change.suspect_range
    ranked = tuple(Suspect(place.slot - number, each, ()) for number, each in enumerate(probabilities))
    (stale,) = world.store.findings.suspects.stale(world.repository)
    world.store.findings.suspects.put({stale: Suspects(place, 0.1, SuspectFacts.GIT, ranked, "")})


def _said(world: World) -> tuple[Statement, dict[str, str], NotificationFacts]:
    """Return the statement of the first change, what each form says of it, and the facts."""
    announced = [each for each in world.store.findings.announcements.after(0) if each.change_id == 1][-1]
    stated = world.store.findings.statements.of_changes([announced.change_id])[announced.change_id]
    reader = FactReader(world.store, FactSettings("Performance", "https://perf.example.org", (_ALERT,)))
    facts = reader.read(_delivery(announced), announced.time)
    forms = {}
    for kind in (ChannelKind.MAIL, ChannelKind.CHAT, ChannelKind.WEBHOOK):
        message = message_for(_delivery(announced), facts, load_templates(ChannelSettings("c", kind), Path()))
        forms[kind.value] = f"{message.subject}\n{message.text}"
        if kind is ChannelKind.WEBHOOK:
            (data,) = cast(list[dict[str, object]], message.data["changes"])
            assert (data["id"], data["headline"]) == (f"R{announced.change_id}", stated.headline)
            assert (data["direction"], data["condition"]) == (stated.direction.value, stated.condition.value)
            assert (data["worse"], data["better"], data["traces"]) == (stated.worse, stated.better, stated.traces)
            (fields,) = changes_of(message.data)
            assert fields.change == announced.change_id
    change = world.store.findings.change(announced.change_id)
    settings = ChannelSettings("code", ChannelKind.GITHUB)
    channel = TrackerChannel(settings, cast(Tracker, None), world.store)
    ticket = draft_ticket(channel, [(world.repository, change)], key="k", address="")
    forms["ticket"] = f"{ticket.title}\n{ticket.body}"
    assert ticket.changes[0].traces == stated.traces
    assert stated.headline in ticket.title
    visible, line = VisibleRepositories(world.store, local_caller()), world.store.commits.line(world.repository, "main")
    always = {"from": "1970-01-01T00:00:00Z", "to": "2100-01-01T00:00:00Z"}
    marks = annotate(visible, line, GrafanaAnnotationsRequest.model_validate({"range": always}))
    mark = next(each for each in marks if each.title.startswith(f"R{change.id}:"))
    assert mark.title.endswith(f": {stated.headline}")
    assert stated.direction.value in mark.tags
    forms["grafana"] = f"{mark.title}\n{mark.text}"
    assert stated.traces == 1 or f"{stated.traces} traces: {stated.worse} worse, {stated.better} better" in mark.text
    lead = world.store.findings.points([stated.lead])[0]
    if len(world.points(facts.changes[0].lead.name)) == 1:
        assert draw_badge_of(visible, lead.trace_id, line_name="main").title.endswith(stated.size)
    return stated, forms, facts


def _delivery(announced: Announcement) -> Delivery:
    recipient = Recipient("mail", "ada@example.org", "ada")
    time = announced.time
    return Delivery(
        1, "key", NotificationKind.CHANGE, recipient, announced.repository_id, (announced.id,), "t", time, time
    )


def _hash(world: World, slot: int) -> str:
    return world.store.commits.get(world.repository, [slot])[0].commit.hash


def _short(world: World, slot: int) -> str:
    return _hash(world, slot)[:10]


def test_a_change_that_is_mostly_better_is_said_to_be_so_with_the_suspect_that_stands_out(world: World) -> None:
    _feed(world, {name: _without(series, 17, 18, 19) for name, series in _MIXED.items()}, 17, 30)
    _rank(world, 0.37, 0.1, 0.1, 0.1)
    stated, forms, facts = _said(world)
    assert (stated.direction, stated.better, stated.worse) == (ChangeDirection.MIXED, 24, 1)
    assert stated.headline.startswith("24 faster by up to 40 %; 1 slower by 20 %")
    assert all(stated.headline in text for text in forms.values())
    assert all("Improvement" not in text for text in forms.values())
    assert stated.likely is not None
    assert stated.likely.basis is Basis.SUSPECT
    short = _short(world, stated.likely.slot)
    assert f", probably since {short} (37 %), one of the 4 commits" in facts.changes[0].sentence
    assert all(short in text and "37 %" in text for text in forms.values())
    assert facts.changes[0].lead.verdict == "better"


def test_a_bisected_commit_is_named_as_such(world: World) -> None:
    _feed(world, {"parse": levels((20, 10.0), (10, 12.0))}, 20, 30)
    _find_culprit(world, "parse", 20)
    stated, forms, facts = _said(world)
    assert stated.likely is not None
    assert stated.likely.basis is Basis.BISECTED
    assert all(_short(world, 20) in text for text in forms.values())
    assert facts.changes[0].sentence.endswith(f"is 20 % slower since {_short(world, 20)}, found by bisection")
    assert "found by bisection" in forms["ticket"]


def test_a_recovery_says_which_commit_undid_the_change(world: World) -> None:
    _feed(world, {"parse": levels((20, 10.0), (10, 12.0), (10, 10.0))}, 20, 30, 40)
    stated, forms, facts = _said(world)
    assert (stated.condition.value, stated.undone_at) == ("recovered", 30)
    assert facts.changes[0].condition == "recovered"
    back = facts.changes[0].cause_commit
    assert back is not None
    assert back.short == _short(world, stated.undone_at)
    assert all(back.short in text for name, text in forms.items() if name not in {"ticket", "grafana"})


@pytest.mark.parametrize(
    ("order", "commits", "before"),
    [
        (range(30), 4, 16),
        pytest.param([*range(10), *range(11, 18), 10, *range(18, 30)], 5, 16, id="a commit joined"),
        pytest.param([*range(16), *range(17, 30)], 1, None, id="the commit before left the line"),
        pytest.param([*range(16), *range(17, 21), 16, *range(21, 30)], 1, None, id="the commit before comes later now"),
        pytest.param([*range(20), *range(21, 30)], 1, None, id="the commit left the line"),
    ],
)
def test_command_line_api_and_messages_count_the_same_suspects(
    world: World, order: Sequence[int], commits: int, before: int | None
) -> None:
    _feed(world, {"parse": _without(levels((20, 10.0), (10, 12.0)), 17, 18, 19)}, 30)
    announced = [each for each in world.store.findings.announcements.after(0) if each.change_id == 1][-1]
    world.store.commits.set_line(world.repository, "main", order)
    change = world.store.findings.change(announced.change_id)
    (row,) = change_rows(world.store, [(world.repository, change)])
    (answer,) = change_answers(world.store, [(world.repository, change)])
    told = RepositoryFacts(world.store, world.repository).range_facts(announced.suspect_range)
    assert answer.suspect_range.commits == told.commits == commits
    assert str(row["suspects"]).startswith(f"{commits} suspects: " if commits > 1 else "author ")
    assert row["commit"] == (f"{_short(world, 17)}…" if commits > 1 else "") + told.last.short
    assert (answer.commit.hash, answer.commit.short) == (told.last.hash, told.last.short)
    hashes = [answer.suspect_range.previous_hash, told.before.hash if told.before else ""]
    assert hashes == [_hash(world, before) if before is not None else ""] * 2
