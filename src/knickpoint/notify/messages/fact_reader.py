"""Read the facts of a notification from the store, at the time when it is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Final, Protocol
from urllib.parse import urlencode

from knickpoint.model.alert import Alert, AlertSeverity
from knickpoint.model.announcement import Announcement, AnnouncementKind
from knickpoint.model.commit import Commit, Repository
from knickpoint.model.errors import AbsentError
from knickpoint.model.notification import Delivery, NotificationKind, Recipient
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import plain_line
from knickpoint.model.quantity_text import change_text, levels_text, percent_text, trace_name
from knickpoint.model.regression import ChangePoint, Condition, Direction, Status, SuspectRange, severity_of
from knickpoint.model.settlement import Certainty
from knickpoint.model.suspects import Suspects
from knickpoint.notify.held_changes import concerned
from knickpoint.notify.ledger_view import LedgerView
from knickpoint.notify.messages.facts import (
    ChangeFacts,
    CommitFacts,
    LinkFacts,
    NotificationFacts,
    RangeFacts,
    SuspectCommit,
    TraceFacts,
)
from knickpoint.notify.messages.headlines import headline, shorten_all
from knickpoint.plots import draw_trend, png
from knickpoint.store import Store
from knickpoint.store.bisections import StoredBisection
from knickpoint.watch.lines import Lines
from knickpoint.watch.trend import NEAR, commit_day, read_trend, short_name

__all__ = ["FactReader", "FactSettings", "LinkMaker"]

_MOST_CHANGES: Final = 50
_MOST_OTHERS: Final = 9
_MOST_SUSPECTS: Final = 5
_MOST_REASONS: Final = 4
_MOST_PICTURES: Final = 3
"""Pictures in a digest."""
_LONGEST_TEXT: Final = 200
_LONGEST_NAME: Final = 90
_LEAST_PROBABILITY: Final = 0.02
"""Suspects below it are counted, not named, beside a more likely one."""

_WORSE_KINDS: Final = frozenset({AnnouncementKind.RECOVERED, AnnouncementKind.FIXED, AnnouncementKind.WITHDRAWN})
_VERDICTS: Final = {
    Direction.REGRESSION: "worse",
    Direction.IMPROVEMENT: "better",
    Direction.UNKNOWN: "changed",
}
_SEVERITIES: Final = (AlertSeverity.LOW, AlertSeverity.NORMAL, AlertSeverity.HIGH)


class LinkMaker(Protocol):
    """Makes the signed links of messages; each is "" where the instance has no public address."""

    def noise(self, regression: int, recipient: Recipient) -> str:
        """Return the link with which ``recipient`` marks a regression as noise."""

    def take(self, regression: int, recipient: Recipient) -> str:
        """Return the link with which ``recipient`` takes a regression."""

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


@dataclass
class FactReader:
    """Reads facts, and keeps those of an announcement for the further recipients of a batch. Use a new one for the next batch."""

    store: Store
    settings: FactSettings
    _ledger: LedgerView = field(init=False, repr=False)
    _changes: dict[int, ChangeFacts | None] = field(default_factory=dict, init=False, repr=False)
    _alerts: dict[int, tuple[Alert, ...]] = field(default_factory=dict, init=False, repr=False)
    _bisections: dict[int, StoredBisection] = field(default_factory=dict, init=False, repr=False)
    _pictures: dict[str, Callable[[], bytes]] = field(default_factory=dict, init=False, repr=False)
    _repositories: dict[int, _RepositoryFacts] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self._ledger = LedgerView(self.store)

    def read(self, delivery: Delivery, now: datetime) -> NotificationFacts:
        """Return the facts of ``delivery``. Without changes, nothing of it is there any more, and it is not to be sent."""
        announced = self._ledger.get(delivery.announcements)
        newest = _newest_of_chains(announced)
        self._read_together([each for each in newest if each.id not in self._changes])
        facts = [self._change(each) for each in newest]
        changes = sorted((each for each in facts if each is not None), key=_rank)
        kept = [replace(each, links=self._links(each, delivery.recipient)) for each in changes[:_MOST_CHANGES]]
        if delivery.kind is NotificationKind.DIGEST:
            without = [replace(each, picture="") for each in kept[_MOST_PICTURES:]]
            kept = [*kept[:_MOST_PICTURES], *without]
        maker = self.settings.link_maker
        oldest = min((each.time for each in announced), default=now)
        return NotificationFacts(
            kind=delivery.kind.value,
            instance=_line(self.settings.instance),
            recipient=_line(delivery.recipient.person),
            changes=tuple(kept),
            changes_omitted=len(changes) - len(kept),
            hours=max(0.0, (now - oldest).total_seconds() / 3600),
            address=self.settings.address,
            mute=maker.mute(delivery.recipient) if maker else "",
            pictures={each.picture: self._pictures[each.picture] for each in kept if each.picture},
        )

    def _links(self, change: ChangeFacts, recipient: Recipient) -> LinkFacts:
        """Return the links of a change for one recipient; only what is open can be taken, only what stands is noise."""
        maker = self.settings.link_maker
        over = change.kind in {kind.value for kind in _WORSE_KINDS}
        if maker is None or over or change.status == Status.HIDDEN.value:
            return change.links
        taken = change.assignee or change.kind == AnnouncementKind.IMPROVED.value
        return replace(
            change.links,
            noise=maker.noise(change.regression, recipient),
            take="" if taken else maker.take(change.regression, recipient),
        )

    def _read_together(self, announced: Sequence[Announcement]) -> None:
        """Read at once what the facts of several announcements need, as far as one query can have all of it."""
        if not announced:
            return
        chains, regressions = {each.chain for each in announced}, {each.regression_id for each in announced}
        self._ledger.members(chains)
        self._ledger.chains(chains)
        self._alerts |= dict.fromkeys(regressions, ()) | self.store.findings.alerts_of_regressions(regressions)
        self._bisections |= self.store.bisections.in_force(regressions)
        for repository_id in {each.repository_id for each in announced}:
            here = [each for each in announced if each.repository_id == repository_id]
            with suppress(AbsentError):
                slots = [slot for each in here for slot in (each.suspect_range.previous, each.suspect_range.slot)]
                self._repository(here[0]).commits(slots)

    def _change(self, announced: Announcement) -> ChangeFacts | None:
        if announced.id not in self._changes:
            self._changes[announced.id] = self._read_change(announced)
        return self._changes[announced.id]

    def _read_change(self, announced: Announcement) -> ChangeFacts | None:
        """Return the facts of one announcement, None where its regression is gone."""
        try:
            repository = self._repository(announced)
        except AbsentError:
            return None
        members = self._ledger.members([announced.chain])[announced.chain]
        live = [each for each in members if each.condition is not Condition.GONE] or members
        side = concerned(announced, members)
        found = min(side, key=lambda each: each.rank, default=None)
        if found is None:
            return None
        lead, key = found, announced.regression_id
        chain = self._ledger.chains([announced.chain])[announced.chain]
        alerts = self._alerts[key]
        ranked = self.store.findings.suspects.get(key)
        others = sorted(side, key=lambda each: each.rank)[1 : _MOST_OTHERS + 1]
        lead_facts, *other_facts = repository.traces([lead, *others], self.settings.address)
        picture = f"change-{announced.id}.png"
        self._pictures[picture] = repository.picture(lead)
        names = sorted({name for each in side for name in each.alerts})
        change = ChangeFacts(
            kind=announced.kind.value,
            headline="",
            verdict=lead_facts.verdict,
            finding_kind=lead.kind.value,
            repository=_line(repository.repository.name),
            regression=key,
            traces=max(1, len({each.trace_id for each in live})),
            lead=lead_facts,
            suspect_range=repository.range_facts(announced.suspect_range),
            provisional=_is_provisional(announced, lead),
            certainty_reason=lead.certainty_reason,
            worse=sum(each.direction is Direction.REGRESSION for each in live),
            better=sum(each.direction is Direction.IMPROVEMENT for each in live),
            others=tuple(other_facts),
            others_omitted=max(0, len(side) - 1 - len(other_facts)),
            size_to_noise=abs(lead.numbers.size) / lead.numbers.deviation if lead.numbers.deviation > 0 else None,
            interval=lead.interval,
            cause=announced.cause_id,
            cause_commit=repository.cause(announced.cause_id),
            first_announced=chain[0].time.date().isoformat(),
            alerts=tuple(_line(name) for name in names),
            severity=max((each.severity for each in alerts), key=_SEVERITIES.index, default=AlertSeverity.NORMAL).value,
            owners=tuple(dict.fromkeys(_line(owner) for each in alerts for owner in each.owners)),
            status=lead.effective_status.value,
            assignee=_line(lead.assignee),
            ticket=_line(lead.ticket or lead.matched_ticket),
            reproduce=repository.reproduce(lead),
            picture=picture,
            announcements=tuple(each.kind.value for each in chain),
            links=LinkFacts(regression=repository.address_of(lead, self.settings.address)),
        )
        change = _with_suspects(change, repository, ranked)
        change = _with_culprit(change, repository, self._bisections.get(key))
        return replace(change, headline=headline(change))

    def _repository(self, announced: Announcement) -> _RepositoryFacts:
        key = announced.repository_id
        if key not in self._repositories:
            found = next((each for each in self.store.commits.repositories() if each.id == key), None)
            if found is None:
                raise AbsentError(f"there is no repository with the id {key}")
            self._repositories[key] = _RepositoryFacts(self.store, found)
        return self._repositories[key]


@dataclass
class _RepositoryFacts:
    """Reads the facts that belong to one repository; lines and commits are read once."""

    store: Store
    repository: Repository
    _commits: dict[int, CommitFacts | None] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def lines(self) -> Lines:
        return Lines(self.store, self.repository)

    def commits(self, slots: Sequence[int]) -> Mapping[int, CommitFacts]:
        """Return slot → commit, for those that are known."""
        missing = [slot for slot in dict.fromkeys(slots) if slot not in self._commits]
        if missing:
            self._commits |= dict.fromkeys(missing)
            found = self.store.commits.get(self.repository, missing)
            self._commits |= {each.slot: _commit_facts(each.commit) for each in found}
        return {slot: known for slot in slots if (known := self._commits[slot]) is not None}

    def range_facts(self, suspect_range: SuspectRange) -> RangeFacts:
        """Return a suspect range with both of its ends."""
        line = self.lines.line(suspect_range.line)
        commits = self.commits([suspect_range.previous, suspect_range.slot])
        name = str(suspect_range.slot)
        last = commits.get(suspect_range.slot) or CommitFacts(name, name)
        before = commits.get(suspect_range.previous) if suspect_range.previous in line.positions else None
        position = line.positions.get(suspect_range.slot, 0)
        count = max(1, position - line.positions.get(suspect_range.previous, position - 1))
        return RangeFacts(_line(line.name), count, last, before, _compare_address(before, last))

    def cause(self, regression: int) -> CommitFacts | None:
        """Return the commit where another regression begins, None where there is none."""
        if not regression:
            return None
        try:
            slot = self.store.findings.regression(regression).suspect_range.slot
        except AbsentError:
            return None
        return self.commits([slot]).get(slot)

    def traces(self, points: Sequence[ChangePoint], address: str) -> list[TraceFacts]:
        """Return how the traces of ``points`` changed; their names are cut where they are equal."""
        named = [trace_name(decode_key(each.key)) for each in points]
        names = shorten_all(tuple(_clean(name) for name, _ in named), _LONGEST_NAME)
        rests = shorten_all(tuple(_clean(rest) for _, rest in named), _LONGEST_NAME)
        return [
            _trace_facts(point, name, rest, address) for point, name, rest in zip(points, names, rests, strict=True)
        ]

    def picture(self, lead: ChangePoint) -> Callable[[], bytes]:
        """Return what draws the trace of ``lead`` as PNG, once, when it is called."""
        drawn: list[bytes] = []

        def draw() -> bytes:
            if not drawn:
                (trace,) = self.store.traces.get([lead.trace_id])
                line = self.lines.line(lead.suspect_range.line)
                trend = read_trend(self.store, self.lines, trace, line, focus=lead, near=NEAR)
                drawn.append(png(draw_trend(trend)))
            return drawn[0]

        return draw

    def reproduce(self, lead: ChangePoint) -> str:
        """Return the command that explains the change again."""
        at = self.commits([lead.suspect_range.slot]).get(lead.suspect_range.slot)
        quoted = "'" + _clean(lead.key).replace("'", "'\\''") + "'"
        return f"knick explain {quoted}" + (f" --at {at.short}" if at else "")

    def address_of(self, lead: ChangePoint, address: str) -> str:
        """Return the page of the dashboard that shows the change in its trace."""
        if not address:
            return ""
        line = self.lines.line(lead.suspect_range.line)
        position = line.positions.get(lead.suspect_range.slot)
        query = {"line": line.name} if line.name != self.lines.default.name else {}
        query |= {"commit": str(position)} if position is not None else {}
        return f"{address.rstrip('/')}/trace/{lead.trace_id}" + (f"?{urlencode(query)}" if query else "")


def _newest_of_chains(announced: Sequence[Announcement]) -> list[Announcement]:
    """Return the newest announcement of each chain; where the first one and its correction go together, the first with the new range."""
    chains: dict[int, list[Announcement]] = {}
    for each in announced:
        chains.setdefault(each.chain, []).append(each)
    newest = []
    for rows in chains.values():
        opening = next((row for row in reversed(rows) if row.kind.opens), None)
        moved = rows[-1].kind in {AnnouncementKind.MOVED, AnnouncementKind.LOCATED} and opening is not None
        newest.append(replace(rows[-1], kind=opening.kind) if moved and opening else rows[-1])
    return newest


def _rank(change: ChangeFacts) -> tuple[float, int]:
    direction = {"worse": Direction.REGRESSION, "better": Direction.IMPROVEMENT}.get(change.verdict, Direction.UNKNOWN)
    size = change.lead.relative_size
    return -severity_of(direction, float("inf") if size is None else size), change.regression


def _is_provisional(announced: Announcement, lead: ChangePoint) -> bool:
    if announced.kind in _WORSE_KINDS:
        return False
    return announced.kind.value == "provisional" or lead.certainty is Certainty.PROVISIONAL


def _with_suspects(change: ChangeFacts, repository: _RepositoryFacts, ranked: Suspects | None) -> ChangeFacts:
    if ranked is None:
        return change
    likely = [each for each in ranked.suspects if each.probability >= _LEAST_PROBABILITY][:_MOST_SUSPECTS]
    kept = likely or list(ranked.suspects[:1])
    commits = repository.commits([each.slot for each in kept])
    suspects = tuple(
        SuspectCommit(
            commits[each.slot],
            each.probability,
            percent_text(each.probability),
            tuple(_line(reason) for reason in each.reasons[:_MOST_REASONS]),
        )
        for each in kept
        if each.slot in commits
    )
    return replace(
        change,
        suspects=suspects,
        suspects_omitted=len(ranked.suspects) - len(suspects),
        no_suspect_percent=percent_text(ranked.none),
        suspects_note=_line(ranked.note),
    )


def _with_culprit(change: ChangeFacts, repository: _RepositoryFacts, bisection: StoredBisection | None) -> ChangeFacts:
    culprits = bisection.answer.culprits if bisection is not None else ()
    if bisection is None or not culprits:
        return change
    commit = repository.commits(culprits).get(culprits[0])
    if commit is None:
        return change
    probability = bisection.answer.probability
    culprit = SuspectCommit(commit, probability, percent_text(probability))
    return replace(change, culprit=culprit, bisection=bisection.name)


def _trace_facts(point: ChangePoint, name: str, params: str, address: str) -> TraceFacts:
    numbers = point.numbers
    relative = numbers.relative_size
    return TraceFacts(
        id=point.trace_id,
        name=name,
        params=params,
        trace=_clean(point.key),
        unit=_line(point.unit),
        change=_line(change_text(numbers.size, relative, point.unit)),
        verdict=_VERDICTS[point.direction],
        levels=_line(levels_text(numbers.before_level, numbers.after_level, point.unit)),
        before=numbers.before_level,
        after=numbers.after_level,
        relative_size=relative if abs(relative) != float("inf") else None,
        address=f"{address.rstrip('/')}/trace/{point.trace_id}" if address else "",
    )


def _commit_facts(commit: Commit) -> CommitFacts:
    return CommitFacts(
        hash=_line(commit.hash),
        short=_line(short_name(commit.hash)),
        author=_line(commit.author),
        subject=_line(commit.subject),
        date=commit_day(commit),
        address=commit.url if commit.url.startswith(("https://", "http://")) and commit.url.isprintable() else "",
    )


def _compare_address(before: CommitFacts | None, last: CommitFacts) -> str:
    """Return the page that compares two commits, where the address of a commit ends as at GitHub and GitLab."""
    ending = f"/commit/{last.hash}"
    if before is None or not last.address.endswith(ending):
        return ""
    return f"{last.address.removesuffix(ending)}/compare/{before.hash}...{last.hash}"


def _line(text: str) -> str:
    return plain_line(text, _LONGEST_TEXT)


def _clean(text: str) -> str:
    """Return ``text`` without characters that are not printed, whatever its length: keys are bounded already."""
    return plain_line(text, 10_000)
