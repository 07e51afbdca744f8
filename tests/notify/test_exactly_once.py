"""No sequence of announcements, plans, failures and kills loses a notification, or sends one twice."""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.examples import examples
from tests.notify.ledgers import Announcer, Clock, Mailbox, Office

from knickpoint.model.notification import AnnouncementKind, DeliveryState
from knickpoint.notify.channel import DeliveryError
from knickpoint.notify.settings import NotifySettings
from knickpoint.store import create_store

_TO = {"a": {"address:perf@example.org", "address:team@example.org"}}
_TO["b"] = _TO["a"] | {"channel:room"}
_AFTER = st.sampled_from([AnnouncementKind.MOVED, AnnouncementKind.RECOVERED, AnnouncementKind.FIXED])


def _end() -> None:
    raise Killed


class Killed(BaseException):
    """The process ends here."""


class Notifications(RuleBasedStateMachine):
    """Announcements, planners that race and die, receivers that fail, and senders that are killed at any moment."""

    @initialize(digest=st.booleans())
    def begin(self, *, digest: bool) -> None:
        self.directory = tempfile.TemporaryDirectory()
        self.store = create_store(Path(self.directory.name) / "store.db")
        repository = self.store.commits.add_repository("main")
        self.clock = Clock()
        self.mailbox = Mailbox()
        self.announcer = Announcer(self.store, repository.id, self.clock)
        wanted = NotifySettings(attempts=1000, digest=("08:00",) if digest else ())
        self.office = Office(self.store, self.clock, self.mailbox, wanted)
        self.alerts: dict[int, str] = {}
        self.killed_after_answer = 0
        self.held: set[int] = set()
        self.checked = 0

    @rule(alert=st.sampled_from(["a", "b"]), better=st.booleans(), number=st.sampled_from([1, 1, 1, 30]))
    def announce(self, *, alert: str, better: bool, number: int) -> None:
        for _ in range(number):
            kind = AnnouncementKind.IMPROVED if better else AnnouncementKind.REGRESSED
            opened = self.announcer.open(kind, alerts=["a", "b"] if alert == "b" else ["a"])
            self.alerts[opened.chain] = alert

    @rule(which=st.integers(0, 10), kind=_AFTER)
    def correct(self, which: int, kind: AnnouncementKind) -> None:
        if self.alerts:
            self.announcer.follow(sorted(self.alerts)[which % len(self.alerts)], kind)

    @rule(which=st.integers(0, 10), reason=st.sampled_from(["machine moved", ""]))
    def hold_or_end_that(self, which: int, reason: str) -> None:
        if self.alerts:
            chain = sorted(self.alerts)[which % len(self.alerts)]
            self.announcer.hold(chain, reason)
            (self.held.add if reason else self.held.discard)(chain)
            self.office.plan()
            self.send(90_000)

    @rule()
    def plan(self) -> None:
        self.office.plan()

    @rule()
    def two_planners_race(self) -> None:
        planner = self.office.planner
        first, second = (planner.next_plan(self.clock(), planner.newest()) for _ in range(2))
        assert (first is None) == (second is None)
        if first is not None and second is not None:
            assert planner.write(first, self.clock())
            assert not planner.write(second, self.clock()) or not first.deliveries

    @rule()
    def a_planner_is_killed(self) -> None:
        planner = self.office.planner
        plan = planner.next_plan(self.clock(), planner.newest())
        if plan is not None:
            with suppress(Killed), self.store.transaction():
                planner.write(plan, self.clock())
                _end()

    @rule(seconds=st.sampled_from([0, 1, 60, 400, 90_000]))
    def send(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.office.sender.step()

    @rule(wait=st.sampled_from([0.0, 120.0]))
    def fail_for_now(self, wait: float) -> None:
        self.mailbox.failures = [DeliveryError("busy", wait_seconds=wait)]
        self.office.sender.step()
        self.mailbox.failures = []

    @rule(after=st.booleans())
    def the_sender_is_killed(self, *, after: bool) -> None:
        """Kill it before the receiver takes a message, or after that and before the mark."""
        (self.mailbox.after if after else self.mailbox.failures).append(Killed())
        before = len(self.mailbox.taken)
        try:
            self.office.sender.step()
        except Killed:
            self.killed_after_answer += after
        self.mailbox.after, self.mailbox.failures = [], []
        assert len(self.mailbox.taken) >= before
        self.office.restart()

    @invariant()
    def nothing_is_repeated(self) -> None:
        if not hasattr(self, "mailbox"):
            return
        counts = Counter(message.key for message in self.mailbox.taken)
        assert sum(counts.values()) - len(counts) <= self.killed_after_answer
        heard = self.mailbox.heard()
        assert len(heard) == len(set(heard))

    @invariant()
    def nothing_is_sent_that_is_held(self) -> None:
        if not hasattr(self, "mailbox"):
            return
        new, self.checked = self.mailbox.taken[self.checked :], len(self.mailbox.taken)
        chain_of = {each.id: each.chain for each in self.announcer.written}
        said = [each.data["announcements"] for each in new]
        about = {chain_of[key] for keys in said if isinstance(keys, tuple) for key in keys}
        assert not about & self.held

    def teardown(self) -> None:
        if not hasattr(self, "store"):
            return
        for chain in self.held:
            self.announcer.hold(chain, "")
        self.held.clear()
        self.office.finish()
        self.nothing_is_repeated()
        expected = {(receiver, each.id) for each in self.announcer.written for receiver in _TO[self.alerts[each.chain]]}
        assert set(self.mailbox.heard()) == expected
        assert {state for _, state in self.store.notifications.counts()} <= {DeliveryState.SENT}
        self.store.close()
        self.directory.cleanup()


# A failure is reported as it was found: to make it smaller takes longer than a test may, and would show as a time-out.
Notifications.TestCase.settings = settings(
    max_examples=examples(6), stateful_step_count=15, deadline=None, phases=[Phase.explicit, Phase.generate]
)
test_every_sequence = pytest.mark.thorough(Notifications.TestCase)
