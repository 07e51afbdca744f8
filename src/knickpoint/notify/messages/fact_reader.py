"""Read the facts of a notification from the store, at the time when it is sent.

Announcements and their change points are read once for the deliveries of a batch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Protocol

from knickpoint.model.alert import Alert, AlertKind, AlertSeverity
from knickpoint.model.change_point import ChangePoint, Condition, Status
from knickpoint.model.errors import AbsentError
from knickpoint.model.notification import Announcement, AnnouncementKind, Delivery, NotificationKind, Recipient
from knickpoint.model.quantity_text import percent_text
from knickpoint.model.settlement import Certainty
from knickpoint.model.statement import LikelyCommit, Statement
from knickpoint.model.suspects import Suspects
from knickpoint.notify.messages.facts import (
    BisectionFacts,
    ChangeFacts,
    LikelyFacts,
    LinkFacts,
    NotificationFacts,
    SuspectCommit,
    first_sentence,
)
from knickpoint.notify.messages.repository_facts import RepositoryFacts, message_line
from knickpoint.store import Store
from knickpoint.store.bisections import StoredBisection
from knickpoint.watch.bisections import outcome_text


@dataclass
class LedgerView:
    """Reads what deliveries are about, and keeps it for further deliveries; use a new one for the next moment."""

    store: Store
    _announced: dict[int, Announcement] = field(default_factory=dict, init=False, repr=False)
    _chains: dict[int, list[Announcement]] = field(default_factory=dict, init=False, repr=False)
    _members: dict[int, list[ChangePoint]] = field(default_factory=dict, init=False, repr=False)
    _statements: dict[int, Statement | None] = field(default_factory=dict, init=False, repr=False)

    def get(self, ids: Collection[int]) -> list[Announcement]:
        """Return announcements by id, ascending; ids that do not exist are left out."""
        missing = set(ids) - self._announced.keys()
        if missing:
            self._announced |= {each.id: each for each in self.store.findings.announcements.get(missing)}
        return [self._announced[key] for key in sorted(set(ids)) if key in self._announced]

    def chains(self, ids: Collection[int]) -> dict[int, list[Announcement]]:
        """Return the announcements of chains that exist, each in order."""
        missing = set(ids) - self._chains.keys()
        if missing:
            self._chains |= self.store.findings.announcements.chains(missing)
        return {key: self._chains[key] for key in set(ids)}

    def members(self, ids: Collection[int]) -> dict[int, list[ChangePoint]]:
        """Return the change points of chains, by id; chains without any have an empty list."""
        missing = set(ids) - self._members.keys()
        if missing:
            self._members |= {key: [] for key in missing}
            for point in self.store.findings.announcements.members(missing):
                self._members[point.announced].append(point)
        return {key: self._members[key] for key in set(ids)}

    def change_of(self, announced: Announcement) -> int:
        """Return the change that an announcement is about; after a merge, the one that has most of its members."""
        members = Counter(each.change_id for each in self.members([announced.chain])[announced.chain] if each.change_id)
        if not members or announced.change_id in members:
            return announced.change_id
        return min(members, key=lambda key: (-members[key], key))

    def statement(self, announced: Announcement) -> Statement | None:
        """Return the statement of the change of an announcement, None without members.

        A merged change has several chains. Each is stated by its own members, as its messages and its ticket are about
        them.
        """
        if announced.chain not in self._statements:
            self._statements[announced.chain] = self._read_statement(announced)
        return self._statements[announced.chain]

    def _read_statement(self, announced: Announcement) -> Statement | None:
        change, chain, table = self.change_of(announced), announced.chain, self.store.findings.statements
        whole = table.of_changes([change]).get(change)
        if whole is None or all(each.announced in {chain, 0} for each in self.store.findings.live_members(change)):
            return whole
        own = [each.id for each in self.members([chain])[chain] if each.change_id == change]
        part = table.of_part(own)
        return (
            replace(part, likely=whole.likely, machine=whole.machine, cause=whole.cause) if part is not None else whole
        )


_MOST_CHANGES: Final = 50
_MOST_OTHERS: Final = 9
_MOST_SUSPECTS: Final = 5
_MOST_REASONS: Final = 4
_MOST_PICTURES: Final = 3
"""Pictures in a digest."""
_LEAST_PROBABILITY: Final = 0.02
"""Suspects below it are counted, not named, beside a more likely one."""

_WORSE_KINDS: Final = frozenset({AnnouncementKind.RECOVERED, AnnouncementKind.FIXED, AnnouncementKind.WITHDRAWN})
_PLACED_AGAIN: Final = frozenset({AnnouncementKind.MOVED, AnnouncementKind.RETURNED})
_CORRECTIONS: Final = frozenset({AnnouncementKind.MOVED, AnnouncementKind.LOCATED, AnnouncementKind.BISECTED})
"""Kinds that say more about the place of a change."""
_SEVERITIES: Final = (AlertSeverity.LOW, AlertSeverity.NORMAL, AlertSeverity.HIGH)


class LinkMaker(Protocol):
    """Makes the signed links of messages; each is "" where the instance has no public address."""

    def noise(self, change: int, recipient: Recipient) -> str:
        """Return the link with which ``recipient`` marks a change as noise."""

    def take(self, change: int, recipient: Recipient) -> str:
        """Return the link with which ``recipient`` takes a change."""

    def mute(self, recipient: Recipient) -> str:
        """Return the link with which ``recipient`` ends such messages."""


@dataclass(frozen=True, slots=True)
class FactSettings:
    """What facts need beside the store.

    Attributes:
        instance: name of the instance.
        address: its public address, "" without one.
        alerts: the alerts that run.
        link_maker: makes signed links; None for messages without them.
    """

    instance: str
    address: str = ""
    alerts: Sequence[Alert] = ()
    link_maker: LinkMaker | None = None


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The changes that a delivery names, the number of those left out, and the time of the oldest announcement."""

    changes: tuple[ChangeFacts, ...]
    omitted: int
    oldest: datetime | None


@dataclass
class FactReader:
    """Reads facts, and keeps those of an announcement for the further recipients of a batch.

    Use a new one for the next batch.
    """

    store: Store
    settings: FactSettings
    _ledger: LedgerView = field(init=False, repr=False)
    _changes: dict[int, ChangeFacts | None] = field(default_factory=dict, init=False, repr=False)
    _alerts: dict[int, tuple[Alert, ...]] = field(default_factory=dict, init=False, repr=False)
    _bisections: dict[int, StoredBisection] = field(default_factory=dict, init=False, repr=False)
    _ended: dict[int, StoredBisection] = field(default_factory=dict, init=False, repr=False)
    _chosen: dict[tuple[NotificationKind, tuple[int, ...]], _Chosen] = field(
        default_factory=dict, init=False, repr=False
    )
    _pictures: dict[str, Callable[[], bytes]] = field(default_factory=dict, init=False, repr=False)
    _repositories: dict[int, RepositoryFacts] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self._ledger = LedgerView(self.store)

    def read(self, delivery: Delivery, now: datetime) -> NotificationFacts:
        """Return the facts of ``delivery``.

        Without changes, nothing of it is there any more, and it is not to be sent.
        """
        chosen = self._choose(delivery)
        kept = [self._with_links(each, delivery.recipient) for each in chosen.changes]
        maker = self.settings.link_maker
        escalated = delivery.kind is NotificationKind.ESCALATION and chosen.oldest is not None
        hours = (now - chosen.oldest).total_seconds() / 3600 if escalated and chosen.oldest else 0.0
        return NotificationFacts(
            kind=delivery.kind.value,
            instance=message_line(self.settings.instance),
            recipient=message_line(delivery.recipient.person),
            changes=tuple(kept),
            changes_omitted=chosen.omitted,
            hours=max(0.0, hours),
            address=self.settings.address,
            mute=maker.mute(delivery.recipient) if maker else "",
            pictures={each.picture: self._pictures[each.picture] for each in kept if each.picture},
        )

    def _choose(self, delivery: Delivery) -> _Chosen:
        """Return the changes that ``delivery`` names, the worst first; they are the same for all its recipients."""
        key = delivery.kind, delivery.announcements
        if key not in self._chosen:
            announced = self._ledger.get(delivery.announcements)
            newest = _newest_of_chains(announced)
            self._read_together([each for each in newest if each.id not in self._changes])
            stated = [(each, found) for each in newest if (found := self._ledger.statement(each)) is not None]
            ranked = sorted(stated, key=lambda each: (-each[1].severity, each[0].change_id))
            changes = [facts for each, _ in ranked if (facts := self._change(each)) is not None]
            kept = changes[:_MOST_CHANGES]
            if delivery.kind is NotificationKind.DIGEST:
                kept[_MOST_PICTURES:] = [replace(each, picture="") for each in kept[_MOST_PICTURES:]]
            oldest = min((each.time for each in announced), default=None)
            self._chosen[key] = _Chosen(tuple(kept), len(changes) - len(kept), oldest)
        return self._chosen[key]

    def _with_links(self, change: ChangeFacts, recipient: Recipient) -> ChangeFacts:
        links = self._links(change, recipient)
        return change if links == change.links else replace(change, links=links)

    def _links(self, change: ChangeFacts, recipient: Recipient) -> LinkFacts:
        """Return the links of a change for one recipient; only what is open can be taken, only what stands is noise."""
        maker = self.settings.link_maker
        over = change.kind in {kind.value for kind in _WORSE_KINDS}
        if maker is None or over or change.status == Status.HIDDEN.value:
            return change.links
        taken = change.assignee or change.kind == AnnouncementKind.IMPROVED.value
        return replace(
            change.links,
            noise=maker.noise(change.change, recipient),
            take="" if taken else maker.take(change.change, recipient),
        )

    def _read_together(self, announced: Sequence[Announcement]) -> None:
        """Read at once what the facts of several announcements need, as far as one query can have all of it."""
        if not announced:
            return
        chains = {each.chain for each in announced}
        self._ledger.members(chains)
        changes = {self._ledger.change_of(each) for each in announced}
        self._ledger.chains(chains)
        self._alerts |= dict.fromkeys(changes, ()) | self.store.findings.alerts_of_changes(changes)
        self._bisections |= self.store.bisections.in_force(changes)
        self._ended |= self.store.bisections.newest_ended(changes)
        for repository_id in {each.repository_id for each in announced}:
            here = [each for each in announced if each.repository_id == repository_id]
            with suppress(AbsentError):
                self._repository(here[0]).reader.load([each.suspect_range for each in here])

    def _change(self, announced: Announcement) -> ChangeFacts | None:
        if announced.id not in self._changes:
            self._changes[announced.id] = self._read_change(announced)
        return self._changes[announced.id]

    def _read_change(self, announced: Announcement) -> ChangeFacts | None:
        """Return the facts of one announcement as its change is stated now, None where there is none."""
        try:
            repository = self._repository(announced)
        except AbsentError:
            return None
        key = self._ledger.change_of(announced)
        stated = self._ledger.statement(announced)
        if stated is None:
            return None
        lead, others = self._members(announced, key, stated)
        counted = [lead, *others]
        chain = self._ledger.chains([announced.chain])[announced.chain]
        alerts = self._alerts[key]
        ranked = self.store.findings.suspects.get(key)
        traces = stated.traces
        lead_facts, *other_facts = repository.traces([lead, *others[:_MOST_OTHERS]], self.settings.address, alerts)
        picture = f"change-{announced.id}.png"
        self._pictures[picture] = repository.picture(lead)
        names = sorted({name for each in counted for name in each.alerts})
        change = ChangeFacts(
            kind=announced.kind.value,
            sentence="",
            headline=message_line(stated.headline),
            direction=stated.direction.value,
            finding_kind=stated.kind.value,
            repository=message_line(repository.reader.repository.name),
            change=key,
            traces=traces,
            lead=lead_facts,
            suspect_range=repository.range_facts(announced.suspect_range),
            provisional=_is_provisional(announced, lead),
            certainty_reason=lead.certainty_reason,
            recovered=announced.condition is Condition.RECOVERED,
            condition=stated.condition.value,
            worse=stated.worse,
            better=stated.better,
            others=tuple(other_facts),
            others_omitted=max(0, traces - 1 - len(other_facts)),
            size_to_noise=abs(lead.numbers.size) / lead.numbers.deviation if lead.numbers.deviation > 0 else None,
            interval=lead.interval,
            cause=announced.cause_id,
            cause_commit=repository.cause(announced, stated),
            first_announced=chain[0].time.date().isoformat(),
            alerts=tuple(message_line(name) for name in names),
            severity=max((each.severity for each in alerts), key=_SEVERITIES.index, default=AlertSeverity.NORMAL).value,
            owners=tuple(dict.fromkeys(message_line(owner) for each in alerts for owner in each.owners)),
            held=held_text(counted),
            profile=message_line(stated.cause),
            status=stated.decision.value,
            assignee=message_line(lead.assignee),
            ticket=message_line(stated.ticket),
            reproduce=repository.reproduce(lead),
            picture=picture,
            announcements=tuple(each.kind.value for each in chain),
            links=LinkFacts(change=repository.address_of(lead, self.settings.address)),
        )
        change = replace(change, likely=_likely(stated.likely, repository))
        change = _with_suspects(change, repository, ranked)
        change = _with_culprit(change, repository, self._bisections.get(key))
        change = self._with_outcome(change, repository, chain)
        return replace(change, sentence=first_sentence(change))

    def _members(self, announced: Announcement, key: int, stated: Statement) -> tuple[ChangePoint, list[ChangePoint]]:
        """Return the lead of a change, and those other members of the chain that its statement counts."""
        members = [each for each in self._ledger.members([announced.chain])[announced.chain] if each.change_id == key]
        lead = next((each for each in members if each.id == stated.lead), None)
        lead = lead or self.store.findings.points([stated.lead])[0]
        live = [each for each in members if each.condition is not Condition.GONE] or members
        kept = [each for each in live if each.alert_kind is AlertKind.WORK] or live
        return lead, sorted((each for each in kept if each.id != lead.id), key=lambda each: each.rank)

    def _with_outcome(
        self, change: ChangeFacts, repository: RepositoryFacts, chain: Sequence[Announcement]
    ) -> ChangeFacts:
        """Add the end of the newest bisection, unless it found the commit or was announced elsewhere since."""
        ended = self._ended.get(change.change)
        if ended is None or ended.ended is None or (len(change.culprits) == 1 and change.bisection == ended.name):
            return change
        if any(row.time > ended.ended and (row.kind.opens or row.kind in _PLACED_AGAIN) for row in chain):
            return change
        outcome = outcome_text(self.store, repository.reader.repository, ended)
        facts = BisectionFacts(ended.name, ended.state.value, outcome.tried, outcome.meaning, outcome.remedy)
        return replace(change, outcome=facts)

    def _repository(self, announced: Announcement) -> RepositoryFacts:
        key = announced.repository_id
        if key not in self._repositories:
            found = next((each for each in self.store.commits.repositories() if each.id == key), None)
            if found is None:
                raise AbsentError(f"there is no repository with the id {key}")
            self._repositories[key] = RepositoryFacts(self.store, found)
        return self._repositories[key]


def held_text(findings: Sequence[ChangePoint]) -> str:
    """Return the number of findings held back, and the reason; "" without any."""
    reasons = [message_line(each.held) for each in findings if each.held]
    if not reasons:
        return ""
    count = "all findings" if len(reasons) == len(findings) else f"{len(reasons)} of {len(findings)} findings"
    return f"{count} are held back: {'; '.join(sorted(set(reasons))[:_MOST_REASONS])}"


def _newest_of_chains(announced: Sequence[Announcement]) -> list[Announcement]:
    """Return the newest announcement of each chain.

    Where the first one and its correction go together, the first with the new range.
    """
    chains: dict[int, list[Announcement]] = {}
    for each in announced:
        chains.setdefault(each.chain, []).append(each)
    newest = []
    for rows in chains.values():
        opening = next((row for row in reversed(rows) if row.kind.opens), None)
        moved = rows[-1].kind in _CORRECTIONS and opening is not None
        newest.append(replace(rows[-1], kind=opening.kind) if moved and opening else rows[-1])
    return newest


def _is_provisional(announced: Announcement, lead: ChangePoint) -> bool:
    if announced.kind in _WORSE_KINDS:
        return False
    return announced.kind.value == "provisional" or lead.certainty is Certainty.PROVISIONAL


def _likely(likely: LikelyCommit | None, repository: RepositoryFacts) -> LikelyFacts | None:
    if likely is None:
        return None
    return LikelyFacts(
        repository.commit(likely.slot), likely.basis.value, likely.probability, percent_text(likely.probability)
    )


def _with_suspects(change: ChangeFacts, repository: RepositoryFacts, ranked: Suspects | None) -> ChangeFacts:
    if ranked is None:
        return change
    likely = [each for each in ranked.suspects if each.probability >= _LEAST_PROBABILITY][:_MOST_SUSPECTS]
    kept = likely or list(ranked.suspects[:1])
    repository.reader.load(slots=[each.slot for each in kept])
    suspects = tuple(
        SuspectCommit(
            repository.commit(each.slot),
            each.probability,
            percent_text(each.probability),
            tuple(message_line(reason) for reason in each.reasons[:_MOST_REASONS]),
        )
        for each in kept
    )
    return replace(
        change,
        suspects=suspects,
        suspects_omitted=len(ranked.suspects) - len(suspects),
        no_suspect_percent=percent_text(ranked.none),
        suspects_note=message_line(ranked.note),
        machine=message_line(ranked.machine),
    )


def _with_culprit(change: ChangeFacts, repository: RepositoryFacts, bisection: StoredBisection | None) -> ChangeFacts:
    culprits = bisection.answer.culprits if bisection is not None else ()
    if bisection is None or not culprits:
        return change
    repository.reader.load(slots=culprits)
    probability = bisection.answer.probability
    found = tuple(SuspectCommit(repository.commit(slot), probability, percent_text(probability)) for slot in culprits)
    return replace(change, culprits=found, bisection=bisection.name)
