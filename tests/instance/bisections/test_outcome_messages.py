"""How a bisection ended reaches those who heard of the change: by a real mail server, and as a comment in the ticket."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Required, TypedDict

import pytest
from tests.examples import in_the_long_run
from tests.instance.bisections.bisectable import CULPRIT, Bisectable, QuickPool, recipe
from tests.notify.conftest import serving
from tests.notify.mail_servers import MailBox, serving_mail
from tests.notify.tracker_server import TOKEN, TrackerServer
from tests.notify.tracker_world import KINDS, server_of
from tests.watch.conftest import QUICK

from knickpoint.history import Git
from knickpoint.instance import Instance
from knickpoint.instance.bisections import request_bisection, run_bisection, stop_bisection
from knickpoint.instance.notifications import Notifications
from knickpoint.instance.trackers import create_ticket
from knickpoint.model.bisection import ProbeOutcome, ProbeResult
from knickpoint.model.notification import AnnouncementKind
from knickpoint.notify.settings import ChannelKind, ChannelSettings
from knickpoint.watch.triage.decisions import Targets


class Address(TypedDict, total=False):
    """Where a tracker keeps the tickets of a project, and who writes them."""

    kind: Required[ChannelKind]
    project: Required[str]
    user: str


ADDRESSES: dict[str, Address] = {
    "github": {"kind": ChannelKind.GITHUB, "project": "ada/textmill"},
    "gitlab": {"kind": ChannelKind.GITLAB, "project": "tools/textmill"},
    "jira": {"kind": ChannelKind.JIRA, "project": "PERF", "user": "ada@example.org"},
    "jira server": {"kind": ChannelKind.JIRA, "project": "PERF"},
}


@dataclass
class Announced:
    """An instance whose change was announced by mail and in a ticket, and where both arrive."""

    slowed: Bisectable
    box: MailBox
    tracker: TrackerServer
    pool: QuickPool
    instance: Instance

    def bisect(self, **changes: object) -> None:
        """Bisect the change, and send what is due."""
        config = replace(self.instance.config, bisect={"quick": recipe(**changes)})
        instance = replace(self.instance, config=config)
        asked = request_bisection(instance, self.slowed.change, who="ann")
        run_bisection(instance, asked, self.pool, worker="test")
        self.send()

    def send(self) -> None:
        """Send as a process that begins now does."""
        Notifications(self.instance, "test").drain()

    def mails(self) -> list[str]:
        """The text of each mail, the lines of a paragraph joined."""
        texts = (mail.get_body(("plain",)) for mail in self.box.mails)
        return [" ".join(text.get_content().split()) for text in texts if text is not None]

    def comments(self) -> list[str]:
        """The comments in the only ticket."""
        (ticket,) = self.tracker.tickets.values()
        return ticket.comments


@contextmanager
def announcing(slowed: Bisectable, *channels: str, kind: str = "github") -> Iterator[Announced]:
    """Announce the change through ``channels``; a mail server and a tracker of one ``kind`` listen."""
    with serving_mail() as box, serving(server_of(kind)) as tracker:
        mails = ChannelSettings(
            "mails",
            ChannelKind.MAIL,
            server=f"smtp://127.0.0.1:{box.port}",
            sender="knick@example.org",
            to=("list@example.org",),
        )
        code = ChannelSettings("code", **ADDRESSES[kind], server=tracker.url, token=TOKEN)
        config = replace(slowed.instance.config, channels={"mails": mails, "code": code})
        instance = replace(slowed.instance, config=config)
        store = instance.store
        store.findings.alerts_in_force.replace([replace(QUICK, notify=channels)])
        store.notifications.switch(on=True)
        store.notifications.plan((), before=1, after=0, now=store.findings.announcements.after(0)[0].time)
        location = Path(instance.repositories["project"].location)
        pool = QuickPool([each.hash for each in Git.at(location).first_parents("main")])
        made = Announced(slowed, box, tracker, pool, instance)
        made.send()
        yield made


@pytest.fixture
def announced(slowed: Bisectable) -> Iterator[Announced]:
    with announcing(slowed, "mails", "code") as made:
        yield made


def kinds(announced: Announced) -> list[AnnouncementKind]:
    store = announced.instance.store
    return [row.kind for row in store.findings.announcements.of_change(announced.slowed.change)]


def level(value: float) -> Callable[[int], float]:
    return lambda _place: value


@pytest.mark.long
def test_a_change_that_does_not_show_again_is_one_mail_and_one_comment_with_what_the_ends_measured(
    announced: Announced,
) -> None:
    announced.pool.level = level(100.8)
    announced.bisect()
    announced.send()
    first, mail = announced.mails()
    (comment,) = announced.comments()
    assert "Bisection:" not in first
    assert mail.startswith("Not reproducible: parse (kind=p) is 30 % slower, probably since ")
    assert ", one of the 5 commits " in mail
    for text in (mail, " ".join(comment.split())):
        assert "B1 made " in text
        assert " of the two ends" in text
        assert "The change did not show again: on lab-1, " in text
        assert "101 ms" in text
        assert "Look for what else differed when the values changed" in text
    assert kinds(announced) == [AnnouncementKind.REGRESSED, AnnouncementKind.BISECTED]


@pytest.mark.parametrize("kind", [KINDS[0], *in_the_long_run(*KINDS[1:])])
def test_an_outcome_is_a_comment_in_the_tickets_of_every_tracker(slowed: Bisectable, kind: str) -> None:
    with announcing(slowed, "code", kind=kind) as announced:
        announced.pool.level = level(100.8)
        announced.bisect()
        announced.send()
        (comment,) = announced.comments()
    assert "Not reproducible: " in comment
    assert "The change did not show again: " in " ".join(comment.split())


def test_a_search_that_gives_up_says_why_and_what_to_raise(announced: Announced) -> None:
    announced.bisect(most_probes=2)
    mail = announced.mails()[-1]
    assert mail.startswith("Commit not found: parse (kind=p) is 30 % slower")
    assert "Bisection: B1 made 2 probes of the two ends on lab-1." in mail
    assert "The commit was not found. The budget of 2 probes is spent; a change above " in mail
    assert "raise the budget of the recipe quick, and start another bisection." in mail


def test_a_range_that_no_measurement_separates_names_the_commits_that_are_left(announced: Announced) -> None:
    measure = announced.pool.wait

    def wait(seconds: float) -> list[ProbeResult]:
        skipped = [announced.pool.commits[CULPRIT], announced.pool.commits[CULPRIT + 1]]
        return [
            replace(each, outcome=ProbeOutcome.SKIPPED, measured={}, files=(), reason="the build failed")
            if each.target.commit in skipped
            else each
            for each in measure(seconds)
        ]

    announced.pool.wait = wait  # type: ignore[method-assign]
    announced.bisect()
    mail = announced.mails()[-1]
    before, last = (announced.pool.commits[slot][:10] for slot in (CULPRIT - 1, CULPRIT + 2))
    assert mail.startswith("Fewer commits left: parse (kind=p) is 30 % slower since one of the 3 commits ")
    assert f"The change is in one of the 3 commits {before}..{last}, with a probability of more than 99 %." in mail
    assert "of the probes could not be built or measured" in mail
    assert "Commits between them cannot be measured. Review these commits together" in mail


def test_several_commits_that_each_made_a_change_are_named(announced: Announced) -> None:
    announced.pool.level = lambda place: 100.0 + 30.0 * (place >= CULPRIT) + 30.0 * (place >= CULPRIT + 2)
    announced.bisect()
    mail = announced.mails()[-1]
    first, second = announced.pool.commits[CULPRIT][:10], announced.pool.commits[CULPRIT + 2][:10]
    assert mail.startswith("Several commits found: ")
    assert f"Each of {first} and {second} made a change" in mail
    assert "Review each of them: undoing one leaves the change of the others." in mail


def test_a_culprit_says_no_more_than_its_commit(announced: Announced) -> None:
    announced.bisect()
    mail = announced.mails()[-1]
    assert mail.startswith("Commit found: ")
    assert "Bisection:" not in mail
    assert kinds(announced) == [AnnouncementKind.REGRESSED, AnnouncementKind.LOCATED]


def test_a_stop_by_a_person_is_not_announced(announced: Announced) -> None:
    instance = replace(announced.instance, config=replace(announced.instance.config, bisect={"quick": recipe()}))
    request_bisection(instance, announced.slowed.change, who="ann")
    stop_bisection(instance, 1, who="ann")
    announced.send()
    assert len(announced.mails()) == 1
    assert kinds(announced) == [AnnouncementKind.REGRESSED]


def test_a_further_bisection_with_the_same_end_is_announced_again(announced: Announced) -> None:
    announced.bisect(most_probes=2)
    announced.bisect(most_probes=2)
    assert ["Bisection: B1" in mail for mail in announced.mails()] == [False, True, False]
    assert "Bisection: B2" in announced.mails()[-1]


def test_a_ticket_that_a_person_made_gets_the_comment_as_well(slowed: Bisectable) -> None:
    with announcing(slowed, "mails") as announced:
        create_ticket(announced.instance, Targets(changes=(slowed.change,)), "code", who="ann")
        announced.pool.level = level(100.8)
        announced.bisect()
        announced.send()
        (comment,) = announced.comments()
        assert "Not reproducible: " in comment
        assert len(announced.mails()) == 2
