"""Decide about findings: acknowledge, hide, link, split, merge, and take it back.

Each act is one entry of the audit log, beside the entries of the triage log for each finding.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from knickpoint.model.access import AuditKind
from knickpoint.model.change_point import Action, Decision, Status
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted
from knickpoint.store import Store
from knickpoint.store.events import MOST_LISTED, FindingsDecided
from knickpoint.watch.announcements.announcer import announce_split, rejoin_chains
from knickpoint.watch.changes.membership import MovedPoints, RegroupedChanges, regroup

_MOST_NAMED: Final = 20
"""How many changes an entry of the audit log names."""

_TARGET: Final = re.compile(r"([RrPp]?)([0-9]{1,18})")


@dataclass(frozen=True, slots=True)
class Targets:
    """What a decision is about: whole changes, single members (change points), or both, by id."""

    changes: tuple[int, ...] = ()
    points: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TriageResult:
    """The entries that were added to the log, and the changes that are new or were updated."""

    decisions: tuple[Decision, ...]
    changes: RegroupedChanges


def read_targets(texts: Sequence[str]) -> Targets:
    """Read ids as people write them: ``12`` or ``R12`` is a change, ``P34`` one of its members.

    Raises:
        InputError: a text is neither.
    """
    changes: list[int] = []
    points: list[int] = []
    for text in texts:
        found = _TARGET.fullmatch(text.strip())
        if not found:
            raise InputError(
                f"{text!r} is not the id of a change", remedy="Write 12 or R12 for a change, P34 for one member."
            )
        (points if found[1] in {"P", "p"} else changes).append(int(found[2]))
    return Targets(tuple(changes), tuple(points))


def _members(store: Store, targets: Targets, *, all_members: bool) -> list[int]:
    """Return the ids of the change points that ``targets`` mean, ascending.

    Of a change these are the unprocessed members, or all of them where there are none or with ``all_members``.
    """
    ids = set(targets.points)
    for key in targets.changes:
        members = store.findings.live_members(key)
        if not members:
            store.findings.change(key)
            raise InputError(
                f"change {key} no longer has any members",
                remedy="The data no longer show it; there is nothing to decide.",
            )
        unprocessed = [member.id for member in members if not member.processed]
        ids.update([member.id for member in members] if all_members or not unprocessed else unprocessed)
    if not ids:
        raise InputError("nothing to decide about", remedy="Name a change, as R12.")
    return sorted(ids)


def _announce(store: Store, ids: Sequence[int], decisions: Sequence[Decision]) -> None:
    for repository in store.findings.repositories_of(ids):
        changes = store.findings.changes_of(ids)[:MOST_LISTED]
        store.outbox.publish(FindingsDecided(repository.name, len(decisions), changes))


def _regroup(store: Store, ids: Collection[int], claims: Mapping[int, int] | None = None) -> RegroupedChanges:
    """Group anew what is near to the change points ``ids``, in all of their repositories."""
    moved = MovedPoints.of(store.findings.points(ids))
    parts = [
        regroup(store, repository, touched=ids, moved=moved, claims=claims or {})
        for repository in store.findings.repositories_of(ids)
    ]
    return RegroupedChanges(
        tuple(key for part in parts for key in part.new),
        tuple(key for part in parts for key in part.changed),
        tuple(key for part in parts for key in part.emptied),
        {point: key for part in parts for point, key in part.former.items()},
    )


def _keep_bystanders(store: Store, decisions: Sequence[Decision], regrouped: RegroupedChanges) -> None:
    """Keep the former change of findings that a split or merge of others moved; an undo needs it."""
    decided = {entry.change_point_id for entry in decisions}
    former = {point: key for point, key in regrouped.former.items() if point not in decided}
    if decisions:
        store.findings.triage.keep_bystanders(decisions[0].id, former)


def _record(store: Store, who: str, what: str, decisions: Sequence[Decision]) -> None:
    """Add one entry to the audit log for all ``decisions`` of an act; without any, nothing was done."""
    if not decisions:
        return
    changes = sorted({entry.change_id for entry in decisions} - {0})
    names = ", ".join(f"R{key}" for key in changes[:_MOST_NAMED])
    further = f" and {len(changes) - _MOST_NAMED:,} more" if len(changes) > _MOST_NAMED else ""
    findings = counted(len(decisions), "finding")
    store.audit.append(AuditKind.DECIDED, who, f"{what}: {findings} of {names or 'no change'}{further}")


def _described(status: Status | None, note: str | None, ticket: str | None, assignee: str | None) -> str:
    """Describe a decision for the audit log; the text of a note stays in the triage log."""
    parts = [
        "" if status is None else status.value,
        "" if ticket is None else f"ticket {ticket}" if ticket else "no ticket",
        "" if assignee is None else f"assigned to {assignee}" if assignee else "assigned to no person",
        "" if note is None else "note",
    ]
    return ", ".join(part for part in parts if part)


def decide(
    store: Store,
    targets: Targets,
    *,
    who: str,
    status: Status | None = None,
    note: str | None = None,
    ticket: str | None = None,
    assignee: str | None = None,
    all_members: bool = False,
) -> TriageResult:
    """Set status, note, ticket or assignee of what ``targets`` mean; None leaves as it is.

    A ticket without a status links it: the status becomes TICKET. A decision that repeats the last one, by the same
    person, is that one: it is returned, and neither announced nor audited again.

    Raises:
        InputError: no such finding, nothing to change, no author, or the status ticket without a ticket.
    """
    if status is None and ticket:
        status = Status.TICKET
    if (status, note, ticket, assignee) == (None, None, None, None):
        raise InputError("the decision changes nothing", remedy="Give a status, a note, a ticket or an assignee.")
    with store.transaction():
        ids = _members(store, targets, all_members=all_members)
        newest = store.findings.triage.newest()
        decisions = store.findings.triage.decide(ids, status, who, note, ticket=ticket, assignee=assignee)
        if decisions[0].id > newest:
            _announce(store, ids, decisions)
            _record(store, who, _described(status, note, ticket, assignee), decisions)
    return TriageResult(tuple(decisions), RegroupedChanges())


def split(store: Store, targets: Targets, *, who: str, note: str | None = None) -> TriageResult:
    """Set members apart: they make separate changes, now and whenever the data change.

    What was announced of them under the name of another one is announced like a new change.

    Raises:
        InputError: no such member, or no author.
    """
    with store.transaction():
        ids = _members(store, targets, all_members=True)
        decisions = store.findings.triage.decide(ids, None, who, note, action=Action.SPLIT)
        regrouped = _regroup(store, ids)
        _keep_bystanders(store, decisions, regrouped)
        for repository in store.findings.repositories_of(ids):
            announce_split(store, repository, regrouped.ids)
        _announce(store, ids, decisions)
        _record(store, who, Action.SPLIT.value, decisions)
    return TriageResult(tuple(decisions), regrouped)


def merge(store: Store, targets: Targets, *, who: str, note: str | None = None) -> TriageResult:
    """Make one change of several, and keep it so; change points that appear at their places join it.

    Raises:
        InputError: no such finding, members of several repositories, one change that nothing joins, or no author.
    """
    with store.transaction():
        ids = _members(store, targets, all_members=True)
        if len(store.findings.repositories_of(ids)) > 1:
            raise InputError(
                "findings of different repositories cannot be merged", remedy="Link them to one ticket instead."
            )
        decisions = store.findings.triage.decide(ids, None, who, note, action=Action.MERGE)
        regrouped = _regroup(store, ids)
        # One that was split off joins the others of its place.
        alone = {*targets.changes} if not targets.points else set()
        if len(alone) == 1 and not regrouped.former and {*store.findings.changes_of(ids)} == alone:
            raise InputError(
                f"change {alone.pop()} cannot be merged alone",
                remedy="Name two changes or more, as in knick triage R12 R14 --merge.",
            )
        _keep_bystanders(store, decisions, regrouped)
        _announce(store, ids, decisions)
        _record(store, who, Action.MERGE.value, decisions)
    return TriageResult(tuple(decisions), regrouped)


def _rejoin(store: Store, splits: Mapping[int, int]) -> None:
    """Give findings whose split was undone back to the chain of their change; ``splits`` is finding → split."""
    first = min(splits.values(), default=0)
    entries = store.findings.triage.entries(splits.keys()) if splits else []
    if times := [entry.time for entry in entries if entry.action is Action.SPLIT and entry.id >= first]:
        rejoin_chains(store, {*store.findings.changes_of(splits.keys())} - {0}, min(times))


def undo_last(store: Store, *, who: str) -> TriageResult:
    """Take back the last decision by ``who`` that still counts, about all findings that it was about."""
    with store.transaction():
        points = store.findings.triage.last_act(who)
        return undo(store, Targets(points=tuple(points)), who=who) if points else TriageResult((), RegroupedChanges())


def undo(store: Store, targets: Targets, *, who: str) -> TriageResult:
    """Take back the last decision about each member of ``targets``; undo again to go further back.

    A change that a merge had taken in comes back under its id.

    Raises:
        InputError: no such finding, or no author.
    """
    with store.transaction():
        # Take the decisions back.
        ids = _members(store, targets, all_members=True)
        before = store.findings.groups.splits_and_merges(ids)
        decisions = store.findings.triage.undo(ids, who)
        after = store.findings.groups.splits_and_merges(ids)

        # Give the members, and the bystanders of a split or merge, their former changes.
        moved = {key for key in ids if after[key] != before[key]}
        acts = {number for key in moved for number in (before[key].apart, before[key].together)} - {0}
        claims = store.findings.triage.former_changes(acts)
        claims |= {entry.change_point_id: entry.change_id for entry in decisions if entry.change_id}
        # Groups depend on suspect ranges, splits and merges alone: without a change of these no point moves.
        regrouped = _regroup(store, moved, claims) if moved else RegroupedChanges()
        _rejoin(store, {key: before[key].apart for key in moved if before[key].apart not in {0, after[key].apart}})
        _announce(store, ids, decisions)
        _record(store, who, Action.UNDO.value, decisions)
    return TriageResult(tuple(decisions), regrouped)
