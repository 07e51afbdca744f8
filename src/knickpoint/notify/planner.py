"""Plan who hears of what: announcements after the cursor become deliveries, and so do alerts that fail or work again.

Everything is read and decided before the transaction that moves the cursor, so that it holds up no other writer.
Another planner may do the same at the same time; the cursor is moved by one of them, and the plan of the other is void.
A problem has one message, and one for its end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from knickpoint.model.alert import Alert
from knickpoint.model.change_point import ChangePoint, Condition, Status
from knickpoint.model.notification import (
    MOST_IN_DIGEST,
    SMALL_THREAD,
    Announcement,
    AnnouncementKind,
    Delivery,
    DeliveryState,
    NotificationKind,
    PlannedDelivery,
    Problem,
    Purpose,
    Recipient,
)
from knickpoint.model.suspects import Suspects
from knickpoint.notify.recipients import AUTOMATIC, TRACKERS, Audience, AuthorOfSuspect, Schedule
from knickpoint.notify.settings import ChannelSettings
from knickpoint.store import Store
from knickpoint.store.findings.alert_definitions import AlertRun
from knickpoint.store.findings.tickets import change_thread

# Put what a recipient hears of into deliveries: one for each change, or digests. All functions are pure.


MOST_AT_ONCE: Final = 20
"""Changes for one person or room that are planned together and go out as messages of their own; more become digests."""

_KIND_OF_PURPOSE: Final = {
    Purpose.CHANGE: NotificationKind.CHANGE,
    Purpose.PROVISIONAL: NotificationKind.PROVISIONAL,
    Purpose.ESCALATION: NotificationKind.ESCALATION,
}


@dataclass(frozen=True, slots=True)
class Heard:
    """One receiver hears of one announcement."""

    recipient: Recipient
    purpose: Purpose
    announcement: Announcement


def bundle(
    heard: Sequence[Heard], channels: Mapping[str, ChannelSettings], schedule: Schedule, now: datetime
) -> list[PlannedDelivery]:
    """Return the deliveries of what was planned together, in the order of their first announcement."""
    planned: list[PlannedDelivery] = []
    by_recipient: dict[tuple[Recipient, Purpose], list[Announcement]] = {}
    for each in heard:
        by_recipient.setdefault((each.recipient, each.purpose), []).append(each.announcement)
    for (recipient, purpose), announcements in by_recipient.items():
        chains = _chains_of(announcements)
        automatic = channels[recipient.channel].kind in AUTOMATIC
        due = now if automatic else schedule.due(now)
        if not automatic and not schedule.digest:
            small = [each for each in chains if all(one.is_small(schedule.digest_below) for one in each)]
            chains = [each for each in chains if each not in small]
            later = schedule.due_daily(now)
            thread = f"{SMALL_THREAD}{purpose.value}-{later.isoformat()}"
            planned += _digests(small, purpose, recipient, thread, later)
        if automatic or not (schedule.digest or len(chains) > MOST_AT_ONCE):
            kind = _KIND_OF_PURPOSE[purpose]
            threads = [change_thread(each[0].chain) for each in chains]
            planned += [
                _delivery((kind, purpose), recipient, each, thread, due)
                for each, thread in zip(chains, threads, strict=True)
            ]
            continue
        # What is due together is one thread, so that later plans join the same digest while it waits.
        thread = f"digest-{purpose.value}-{due.isoformat()}" if schedule.digest else f"digest-{announcements[-1].id}"
        planned += _digests(chains, purpose, recipient, thread, due)
    return sorted(planned, key=lambda each: each.announcements[0].id)


def _digests(
    chains: Sequence[Sequence[Announcement]], purpose: Purpose, recipient: Recipient, thread: str, due: datetime
) -> Iterator[PlannedDelivery]:
    for begin in range(0, len(chains), MOST_IN_DIGEST):
        together = [each for chain in chains[begin : begin + MOST_IN_DIGEST] for each in chain]
        yield _delivery((NotificationKind.DIGEST, purpose), recipient, together, thread, due)


def escalate(recipient: Recipient, newest: Announcement, schedule: Schedule, now: datetime) -> PlannedDelivery:
    """Return the reminder of a change that no person took."""
    due = schedule.after_quiet(now)
    thread = change_thread(newest.chain)
    return _delivery((NotificationKind.ESCALATION, Purpose.ESCALATION), recipient, [newest], thread, due)


def _chains_of(announcements: Iterable[Announcement]) -> list[list[Announcement]]:
    found: dict[int, list[Announcement]] = {}
    for each in announcements:
        found.setdefault(each.chain, []).append(each)
    return list(found.values())


def _delivery(
    sort: tuple[NotificationKind, Purpose],
    recipient: Recipient,
    announcements: Sequence[Announcement],
    thread: str,
    due: datetime,
) -> PlannedDelivery:
    kind, purpose = sort
    about = [f"{each.id} {each.time.isoformat()}" for each in announcements]
    text = "\n".join((kind.value, purpose.value, recipient.receiver, *about))
    key = hashlib.sha256(text.encode()).hexdigest()[:40]
    return PlannedDelivery(key, kind, purpose, recipient, tuple(announcements), thread, due)


_BATCH: Final = 500
"""Announcements in one plan."""

_OVER: Final = frozenset({AnnouncementKind.RECOVERED, AnnouncementKind.FIXED, AnnouncementKind.WITHDRAWN})


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written: deliveries, and the cursor ``before`` and ``after`` it."""

    deliveries: tuple[PlannedDelivery, ...]
    before: int
    after: int


@dataclass(frozen=True)
class Planner:
    """Plans the deliveries of an instance.

    Attributes:
        store: where announcements, findings and deliveries are.
        audience: the people and channels.
        schedule: when messages go out.
        improvements: whether improvements are sent.
        escalate_hours: after how many hours a change that no person took is escalated, 0 for never.
        unwritten_suspects: change → suspects, in place of those of the store; for a plan that is not written.
    """

    store: Store
    audience: Audience
    schedule: Schedule
    improvements: bool = True
    escalate_hours: float = 0.0
    unwritten_suspects: Mapping[int, Suspects] = field(default_factory=dict)

    def newest(self) -> int:
        """Return the id of the newest announcement, at least that of the cursor."""
        return self.store.findings.announcements.next_id() - 1

    def next_plan(self, now: datetime, upto: int) -> Plan | None:
        """Return the plan for the next announcements up to the id ``upto``; None where there are none.

        Their suspects must have been ranked.
        """
        before = self.store.notifications.cursor()
        if before is None or before >= upto:
            return None
        rows = self.store.findings.announcements.after(before, provisional=True, unsent=True, limit=_BATCH)
        announcements = [each for each in rows if each.id <= upto]
        if not announcements:
            return Plan((), before, upto)
        heard = _Listeners(self, announcements).all()
        planned = bundle(heard, self.audience.channels, self.schedule, now)
        return Plan(tuple(planned), before, announcements[-1].id)

    def write(self, plan: Plan, now: datetime) -> bool:
        """Write ``plan``; return false where another planner was first."""
        written = self.store.notifications.plan(
            plan.deliveries, before=plan.before, after=plan.after, now=now, watch=self.escalate_hours > 0
        )
        return written is not None

    def reminders(self, now: datetime) -> tuple[list[PlannedDelivery], list[int]]:
        """Return the escalations that are due, and the chains that need no further one."""
        if self.escalate_hours <= 0:
            return [], []
        chains = self.store.notifications.untaken(now - timedelta(hours=self.escalate_hours), _BATCH)
        if not chains:
            return [], []
        announced = self.store.findings.announcements.chains(chains)
        members = _by_chain(self.store.findings.announcements.members(chains))
        alerts = _alerts_by_chain(self.store, members)
        planned: list[PlannedDelivery] = []
        done: list[int] = []
        for chain in chains:
            live = [point for point in members.get(chain, ()) if point.condition is not Condition.GONE]
            if live and all(point.held for point in live):
                continue  # once an outcome is known, it is asked again
            done.append(chain)
            newest = announced[chain][-1] if chain in announced else None
            if newest is not None and newest.kind not in _OVER and _is_untaken(live):
                to = self.audience.of_escalation(alerts.get(chain, ()))
                planned += [escalate(recipient, newest, self.schedule, now) for recipient in to]
        return planned, done

    def remind(self, now: datetime) -> int:
        """Write the escalations that are due; return how many."""
        planned, done = self.reminders(now)
        return len(self.store.notifications.remind(planned, done, now)) if done else 0


def _is_untaken(live: Sequence[ChangePoint]) -> bool:
    """Whether no person decided about a change, or is assigned to it."""
    return bool(live) and not any(point.effective_status is not Status.NEW or point.assignee for point in live)


def _by_chain(points: Sequence[ChangePoint]) -> dict[int, list[ChangePoint]]:
    found: dict[int, list[ChangePoint]] = {}
    for point in points:
        found.setdefault(point.announced, []).append(point)
    return found


def _alerts_by_chain(store: Store, members: Mapping[int, Sequence[ChangePoint]]) -> dict[int, tuple[Alert, ...]]:
    """Return chain → the alerts that found its changes, each once."""
    changes = {chain: {point.change_id for point in points} for chain, points in members.items()}
    alerts = store.findings.alerts_of_changes(set().union(*changes.values()) - {0})
    return {
        chain: tuple({alert.name: alert for key in sorted(keys) for alert in alerts.get(key, ())}.values())
        for chain, keys in changes.items()
    }


@dataclass
class _Listeners:
    """Who hears of the announcements of one plan."""

    planner: Planner
    announcements: Sequence[Announcement]
    _heard: dict[Purpose, dict[int, dict[int, dict[str, tuple[Recipient, DeliveryState]]]]] = field(init=False)

    _tickets: Mapping[int, Sequence[str]] = field(init=False)
    _linked: Mapping[int, Sequence[str]] = field(init=False)

    def __post_init__(self) -> None:
        store = self.planner.store
        chains = {each.chain for each in self.announcements}
        self._members = _by_chain(store.findings.announcements.members(chains))
        self._alerts = _alerts_by_chain(store, self._members)
        self._authors = _authors(store, self.announcements, self._members, self.planner)
        chain_of = {
            each.id: each.chain for rows in store.findings.announcements.chains(chains).values() for each in rows
        }
        linked = {chain: {point.linked_ticket for point in points} - {""} for chain, points in self._members.items()}
        self._tickets = store.findings.tracker_tickets.channels_of({each.change_id for each in self.announcements})
        self._linked = store.findings.tracker_tickets.channels_with(linked)
        self._heard = {}
        for purpose in (Purpose.CHANGE, Purpose.PROVISIONAL):
            by_chain = self._heard[purpose] = {}
            for key, receivers in store.notifications.heard(chains, purpose).items():
                by_chain.setdefault(chain_of.get(key, key), {})[key] = _states(receivers)

    def all(self) -> list[Heard]:
        """Return who hears of what, in the order of the announcements; no receiver twice of the same."""
        found: list[Heard] = []
        for each in self.announcements:
            purpose = Purpose.PROVISIONAL if each.provisional else Purpose.CHANGE
            known = self._heard[purpose].setdefault(each.chain, {})
            for recipient in self._recipients(each, known):
                if recipient.receiver not in known.get(each.id, {}):
                    known.setdefault(each.id, {})[recipient.receiver] = recipient, DeliveryState.WAITING
                    found.append(Heard(recipient, purpose, each))
        return found

    def _recipients(
        self, announcement: Announcement, known: Mapping[int, Mapping[str, tuple[Recipient, DeliveryState]]]
    ) -> list[Recipient]:
        """Return who hears of one announcement: of a change those concerned, of what follows those who heard of it.

        What follows is also a comment in each open ticket about the change, whoever made it. What is not sent reaches
        trackers only.
        """
        if announcement.kind.opens or announcement.kind is AnnouncementKind.PROVISIONAL:
            if announcement.unsent or (
                announcement.kind is AnnouncementKind.IMPROVED and not self.planner.improvements
            ):
                return []
            chain = announcement.chain
            alerts, authors = self._alerts.get(chain, ()), self._authors.get(chain, ())
            return self.planner.audience.of_change(alerts, authors, provisional=announcement.provisional)
        followers = {
            receiver: recipient
            for receivers in known.values()
            for receiver, (recipient, state) in receivers.items()
            if state is not DeliveryState.FAILED and self.planner.audience.still_there(recipient)
        }
        tickets = (*self._tickets.get(announcement.change_id, ()), *self._linked.get(announcement.chain, ()))
        channels = () if announcement.provisional else tickets
        for recipient in (Recipient(name) for name in channels if name in self.planner.audience.channels):
            followers.setdefault(recipient.receiver, recipient)
        return [each for each in followers.values() if not announcement.unsent or self._is_tracker(each)]

    def _is_tracker(self, recipient: Recipient) -> bool:
        return self.planner.audience.channels[recipient.channel].kind in TRACKERS


def _states(receivers: Mapping[str, Delivery]) -> dict[str, tuple[Recipient, DeliveryState]]:
    return {receiver: (delivery.recipient, delivery.state) for receiver, delivery in receivers.items()}


def _authors(
    store: Store,
    announcements: Sequence[Announcement],
    members: Mapping[int, Sequence[ChangePoint]],
    planner: Planner,
) -> dict[int, list[AuthorOfSuspect]]:
    """Return chain → the authors of the likely suspects of its changes, the most likely first."""
    audience = planner.audience
    changes = {chain: {point.change_id for point in points} - {0} for chain, points in members.items()}
    ranked = {
        **store.findings.suspects.of_changes(set().union(*changes.values())),
        **planner.unwritten_suspects,
    }
    repository_of = {each.chain: each.repository_id for each in announcements}
    found: dict[int, list[AuthorOfSuspect]] = {}
    for repository in store.commits.repositories():
        # The likely suspects of each chain
        likely: dict[int, dict[int, float]] = {}
        for chain in sorted(key for key, where in repository_of.items() if where == repository.id):
            suspects = [ranked[key] for key in sorted(changes.get(chain, ())) if key in ranked]
            machine = max((each.none for each in suspects if each.machine), default=0.0)
            if machine and audience.machine_owners:
                owners = [audience.directory.owner(owner) for owner in audience.machine_owners]
                found[chain] = [AuthorOfSuspect(owner, machine, configured=True) for owner in owners]
            else:
                likely[chain] = _likely_slots(suspects, audience.least_probability)
        # Their authors, read at once
        slots = sorted(set().union(*likely.values()))
        commits = {each.slot: each.commit for each in store.commits.get(repository, slots)} if slots else {}
        for chain, probabilities in likely.items():
            ordered = sorted(probabilities.items(), key=lambda pair: (-pair[1], pair[0]))
            found[chain] = [
                AuthorOfSuspect(audience.directory.person_of_author(commit.author, commit.email), probability)
                for commit, probability in ((commits.get(slot), probability) for slot, probability in ordered)
                if commit is not None
            ]
    return found


def _likely_slots(ranked: Sequence[Suspects], least: float) -> dict[int, float]:
    """Return slot → the largest probability that a ranking gives it, without those below ``least``."""
    found: dict[int, float] = {}
    for suspect in (each for suspects in ranked for each in suspects.suspects):
        if suspect.probability >= least:
            found[suspect.slot] = max(suspect.probability, found.get(suspect.slot, 0.0))
    return found


_RUNS_READ: Final = 200
"""Runs of an alert, over all repositories, in which the last two over each repository are looked for."""


@dataclass
class ProblemPlanner:
    """Plans the messages about alerts that fail in two runs in a row over a repository, until they work again.

    Attributes:
        store: where runs, problems and deliveries are.
        audience: the people and channels.
        schedule: when messages go out; problems wait for the end of quiet hours, not for a digest.
        alerts: the alerts that run.
    """

    store: Store
    audience: Audience
    schedule: Schedule
    alerts: Sequence[Alert]
    _seen: int = field(default=0, init=False)

    def plan(self, now: datetime) -> int:
        """Open and close problems, with their deliveries; return how many deliveries there are."""
        last = self.store.findings.alert_runs.last()
        alerts = {each.name: each for each in self.alerts}
        count = 0
        for name, reason, standing in self._changes(alerts):
            alert = alerts.get(name)
            if standing is not None:
                count += self.store.problems.close(standing, now, partial(self._end, alert=alert, now=now))
            elif alert is not None:
                opening = partial(self._opening, alert=alert, now=now)
                count += self.store.problems.raise_one(name, reason, now, opening)
        self._seen = last
        return count

    def preview(self, now: datetime) -> list[PlannedDelivery]:
        """Return the deliveries that :meth:`plan` would write."""
        alerts = {each.name: each for each in self.alerts}
        found: list[PlannedDelivery] = []
        for name, reason, standing in self._changes(alerts):
            alert = alerts.get(name)
            if standing is not None:
                found += self._end(standing, alert, now)
            elif alert is not None:
                found += self._opening(Problem(0, name, reason, now), alert, now)
        return found

    def _changes(self, alerts: Mapping[str, Alert]) -> Iterator[tuple[str, str, Problem | None]]:
        """Yield the alerts that fail now, with the reason, and those that fail no longer, with their problem."""
        standing = self.store.problems.open()
        failed = self.store.findings.alert_runs.failed_since(self._seen) & alerts.keys()
        for name in sorted(failed | standing.keys()):
            problem = standing.get(name)
            if name not in alerts:
                yield name, "", problem
                continue
            runs = self.store.findings.alert_runs.runs(name, last=_RUNS_READ)
            if problem is None and (reason := newest_failure(runs, in_a_row=2)):
                yield name, reason, None
            elif problem is not None and not newest_failure(runs, in_a_row=1):
                yield name, "", problem

    def _opening(self, problem: Problem, alert: Alert, now: datetime) -> list[PlannedDelivery]:
        return self._deliveries(NotificationKind.PROBLEM, problem, alert, now)

    def _end(self, problem: Problem, alert: Alert | None, now: datetime) -> list[PlannedDelivery]:
        """Return the messages that a problem is over; none about an alert that was removed."""
        return self._deliveries(NotificationKind.SOLVED, problem, alert, now) if alert is not None else []

    def _deliveries(
        self, kind: NotificationKind, problem: Problem, alert: Alert, now: datetime
    ) -> list[PlannedDelivery]:
        due = self.schedule.after_quiet(now)
        return [
            PlannedDelivery(_key(kind, problem, to.receiver), kind, Purpose.PROBLEM, to, (), problem.thread, due)
            for to in self.audience.of_problem(alert)
        ]


def newest_failure(runs: Sequence[AlertRun], *, in_a_row: int) -> str:
    """Return the reason of the newest of the last ``in_a_row`` runs over a repository, if all of them failed; else "".

    ``runs`` are those of one alert over any repositories, the newest first.
    """
    by_repository: dict[int, list[AlertRun]] = {}
    named = any(run.repository_id for run in runs)  # runs of older versions do not name theirs
    for run in (each for each in runs if each.repository_id or not named):
        by_repository.setdefault(run.repository_id, []).append(run)
    for here in by_repository.values():
        newest = here[:in_a_row]
        if len(newest) == in_a_row and all(run.failure for run in newest):
            return newest[0].failure
    return ""


def _key(kind: NotificationKind, problem: Problem, receiver: str) -> str:
    text = f"{kind.value}\n{problem.thread}\n{problem.alert}\n{problem.opened.isoformat()}\n{receiver}"
    return hashlib.sha256(text.encode()).hexdigest()[:40]
