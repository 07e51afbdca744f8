"""The outcome of a bisection: its words, and the transaction that puts it onto its change."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from knickpoint.model.bisection import BisectionState, Measured, ProbeOutcome
from knickpoint.model.change_point import Condition, SuspectRange
from knickpoint.model.commit import Repository
from knickpoint.model.notification import Announcement, AnnouncementKind
from knickpoint.model.plain_text import counted, plain_line
from knickpoint.model.quantity_text import certainty_text, levels_text, value_text
from knickpoint.store import Store
from knickpoint.store.bisections import BisectionAnswer, JournalProbe, StoredBisection
from knickpoint.store.events import Announced
from knickpoint.watch.announcements.transitions import ChainState, reason_unsent
from knickpoint.watch.changes.membership import MovedPoints, regroup

# Announce what a bisection found, or that it did not find the commit, once, in the chain that announced the change.


def announce_located(
    store: Store, repository: Repository, change_id: int, located: SuspectRange, *, now: datetime, trace_id: int = 0
) -> Announcement | None:
    """Announce that a change lies at the one commit of ``located``; return the announcement.

    ``trace_id`` is the trace that was searched: of several changes that were announced there, it is that one.

    None where nothing is to be said: the change was not announced, it is over, or this commit was named already.
    """
    with store.transaction():
        chain = _standing_chain(store, change_id, trace_id)
        if not chain or _names(chain, located):
            return None
        row = replace(chain[-1], kind=AnnouncementKind.LOCATED, suspect_range=located, interval=0)
        return _append(store, repository, change_id, row, now)


def announce_bisected(
    store: Store, repository: Repository, change_id: int, left: SuspectRange, *, now: datetime, trace_id: int = 0
) -> Announcement | None:
    """Announce that a bisection ended without the one commit; ``left`` is the suspect range now.

    Return the announcement.

    None where nothing is to be said: the change was not announced, or it is over.
    """
    with store.transaction():
        chain = _standing_chain(store, change_id, trace_id)
        if not chain:
            return None
        row = replace(chain[-1], kind=AnnouncementKind.BISECTED, suspect_range=left)
        return _append(store, repository, change_id, row, now)


def _standing_chain(store: Store, change_id: int, trace_id: int) -> Sequence[Announcement]:
    """Return the first chain about a change that still stands, that of the searched trace first; empty without one."""
    chains: dict[int, list[Announcement]] = defaultdict(list)
    for row in store.findings.announcements.of_change(change_id):
        chains[row.chain].append(row)
    live = store.findings.live_members(change_id)
    searched = {point.announced for point in live if point.trace_id == trace_id}
    standing = {point.announced for point in live if _stands(chains.get(point.announced, ()))}
    return chains[min(standing, key=lambda chain: (chain not in searched, chain))] if standing else ()


def _append(store: Store, repository: Repository, change_id: int, row: Announcement, now: datetime) -> Announcement:
    """Add ``row``, which has the numbers of the last one, to the end of its chain."""
    ledger = store.findings.announcements
    number = row.number + 1
    state = ChainState.of(ledger.chains([row.chain])[row.chain])
    unsent = reason_unsent(state, row.kind, 0)
    added = replace(row, id=ledger.next_id(), number=number, change_id=change_id, time=now, cause_id=0, unsent=unsent)
    ledger.append([added])
    store.outbox.publish(Announced(repository.name, [added.id], False))  # noqa: FBT003 - none is left out
    return added


def _stands(rows: Sequence[Announcement]) -> bool:
    return bool(rows) and rows[-1].condition is Condition.PRESENT and not rows[-1].provisional


def _names(rows: Sequence[Announcement], located: SuspectRange) -> bool:
    return any(row.kind is AnnouncementKind.LOCATED and row.suspect_range == located for row in rows)


# Put what a bisection found onto its finding: the suspect range shrinks, the culprit leads, one announcement says so.


# Write the outcome of a bisection: its state, the range of its change, one announcement, all in one transaction.


def put_on_finding(
    store: Store, bisection: StoredBisection, answer: BisectionAnswer, holder: str, *, now: datetime | None = None
) -> StoredBisection:
    """End a bisection that ``holder`` coordinates, and put its answer onto its change; return the bisection.

    The suspect range of the change becomes what was found, as long as the data allow the change there. How the
    bisection of an announced change ended is announced once, in the same chain, unless a person stopped it or an
    earlier bisection found the same commit.

    Raises:
        BusyError: another worker coordinates the bisection, or it ended.
    """
    time = now or datetime.now(UTC)
    asked = bisection.request
    with store.transaction():
        ended = store.bisections.finish(bisection.id, holder, answer, time)
        if not asked.change_id or answer.state is BisectionState.STOPPED:
            return ended
        repository = next(each for each in store.commits.repositories() if each.id == asked.repository_id)
        if answer.suspect_range is not None:
            members = store.findings.live_members(asked.change_id)
            regroup(store, repository, moved=MovedPoints.of(members))
        current = store.findings.groups.suspect_ranges(repository).get(asked.change_id)
        if current is None:
            return ended
        found = answer.state is BisectionState.CULPRIT and current == answer.suspect_range
        announce = announce_located if found else announce_bisected
        announce(store, repository, asked.change_id, current, now=time, trace_id=asked.trace_id)
    return ended


# Say in words how a bisection ended: what it tried, what came of it, what to do next.


_LONGEST: Final = 500
"""Characters of one sentence."""
_MOST_NAMES: Final = 5
"""Devices or commits that a sentence names."""
_NO_DIFFERENCE: Final = "the ends do not differ when they are measured again"
"""How the reason of a search begins that the levels of the ends say already."""


@dataclass(frozen=True, slots=True)
class OutcomeText:
    """How a bisection ended, in whole sentences.

    Attributes:
        tried: how many probes it made, of how many commits, on which devices.
        meaning: what came of it.
        remedy: what to do next.
    """

    tried: str
    meaning: str
    remedy: str


def outcome_text(store: Store, repository: Repository, bisection: StoredBisection) -> OutcomeText:
    """Return the words for an ended bisection; the levels are those that its probes of the ends measured."""
    probes = [each for each in store.bisections.journal(bisection.id).probes() if each.result is not None]
    text = OutcomeText(
        _tried(bisection, probes), _meaning(store, repository, bisection, probes), _remedy(bisection, probes)
    )
    return OutcomeText(*(plain_line(each, _LONGEST) for each in (text.tried, text.meaning, text.remedy)))


def _tried(bisection: StoredBisection, probes: Sequence[JournalProbe]) -> str:
    if not probes:
        return f"{bisection.name} measured nothing."
    last = len(bisection.request.slots) - 1
    places = {each.place for each in probes}
    between = len(places - {0, last})
    ends = "the two ends" if {0, last} <= places else "one end"
    what = [ends] if places & {0, last} else []
    what += [f"{between} of {counted(last - 1, 'commit')} between them"] if between else []
    devices = sorted({each.result.device for each in probes if each.result is not None})
    skipped = sum(each.result is not None and each.result.outcome is ProbeOutcome.SKIPPED for each in probes)
    failed = f"; {skipped} of the probes could not be built or measured" if skipped else ""
    made = counted(len(probes), "probe")
    return f"{bisection.name} made {made} of {' and '.join(what)} on {_listed(devices)}{failed}."


def _meaning(store: Store, repository: Repository, bisection: StoredBisection, probes: Sequence[JournalProbe]) -> str:
    answer, ends = bisection.answer, _ends(bisection, probes)
    share = certainty_text(answer.probability)
    culprits = [each.commit.short for each in store.commits.get(repository, list(answer.culprits))]
    reason = answer.reason
    match answer.state:
        case BisectionState.NOT_REPRODUCIBLE if ends:
            found, reason = f"The change did not show again: {ends}", reason.removeprefix(_NO_DIFFERENCE).lstrip("; ")
        case BisectionState.NOT_REPRODUCIBLE:
            found = "The change did not show again"
        case BisectionState.GAVE_UP:
            found = "The commit was not found"
        case BisectionState.RANGE if culprits:
            found = f"Each of {_listed(culprits)} made a change, with a probability of {share}"
        case BisectionState.RANGE:
            found = f"{_left(store, repository, bisection)}, with a probability of {share}"
        case _ if not culprits:
            found = "The change is in another repository"
        case _:
            found = f"{_listed(culprits)} made a change, with a probability of {share}, but results place this change elsewhere"
    return f"{found}. {_sentence(reason)}".rstrip()


def _remedy(bisection: StoredBisection, probes: Sequence[JournalProbe]) -> str:
    answer, recipe = bisection.answer, bisection.request.recipe
    match answer.state:
        case BisectionState.NOT_REPRODUCIBLE:
            return (
                "Look for what else differed when the values changed, such as the machine or what else ran on it. If it"
                " was noise, mark the change as noise."
            )
        case BisectionState.GAVE_UP:
            log = f"Read the log of {bisection.name} on the page of the change, fix what stopped it or raise the budget of"
            fix = f"{log} the recipe {recipe}" if probes else f"Fix the recipe {recipe} in knickpoint.toml"
            return f"{fix}, and start another bisection."
        case BisectionState.RANGE if answer.culprits:
            return "Review each of them: undoing one leaves the change of the others."
        case BisectionState.RANGE:
            return f"Review these commits together; the log of {bisection.name} says why no measurement separates them."
        case BisectionState.CULPRIT if not answer.culprits:
            return "Look for the cause there. The commits of this repository are not to blame."
    return f"Compare what {bisection.name} measured with the newest results on the page of the change."


def _left(store: Store, repository: Repository, bisection: StoredBisection) -> str:
    """Return "The change is in one of the 3 commits 1a2b3c4d5e..9c8d7e6f50"."""
    found = bisection.answer.suspect_range
    slots = bisection.request.slots
    if found is None:
        return "The change is in one of the commits that were searched"
    ends = {each.slot: each.commit.short for each in store.commits.get(repository, [found.previous, found.slot])}
    inside = slots.index(found.slot) - slots.index(found.previous) if {found.previous, found.slot} <= set(slots) else 0
    place = "..".join(ends[slot] for slot in (found.previous, found.slot) if slot in ends)
    return f"The change is in one of the {counted(inside, 'commit')} {place}" if inside else f"The change is in {place}"


def _ends(bisection: StoredBisection, probes: Sequence[JournalProbe]) -> str:
    """Return the levels of both ends by device, as in "on lab-1, both ends measured 101 ms"; "" without values."""
    key, last = bisection.request.trace_key, len(bisection.request.slots) - 1
    values: dict[str, dict[int, list[Measured]]] = defaultdict(lambda: defaultdict(list))
    for probe in probes:
        measured = _followed(probe, key)
        if measured is not None and probe.result is not None and probe.place in {0, last}:
            values[probe.result.device][probe.place].append(measured)
    texts = [
        f"on {device}, {_levels(by_place[0], by_place[last])}"
        for device, by_place in sorted(values.items())
        if by_place.keys() >= {0, last}
    ]
    return "; ".join(texts[:_MOST_NAMES])


def _followed(probe: JournalProbe, key: str) -> Measured | None:
    measured: Mapping[str, Measured] = probe.result.measured if probe.result is not None else {}
    return measured.get(key)


def _levels(before: Collection[Measured], after: Collection[Measured]) -> str:
    unit = next((each.unit for each in before), "")
    levels = [statistics.median(each.value for each in values) for values in (before, after)]
    texts = [value_text(level, unit) for level in levels]
    if texts[0] == texts[1]:
        return f"both ends measured {texts[0]}"
    return f"the ends measured {levels_text(levels[0], levels[1], unit)}"


def _sentence(reason: str) -> str:
    text = reason.strip().rstrip(".")
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _listed(names: Sequence[str]) -> str:
    shown = list(names[:_MOST_NAMES])
    more = len(names) - len(shown)
    if more:
        shown.append(f"{more} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


# How the search for the commit of a change stands, in a few words.


def bisection_text(store: Store, repository: Repository, bisection: StoredBisection | None) -> str:
    """Return the standing of a bisection, as in "B12 culprit 1a2b3c4d5e 97 %"; "" without one.

    Where several commits each made a change, it names all of them.
    """
    if bisection is None:
        return ""
    answer = bisection.answer
    words = [bisection.name, "stopping" if bisection.stopping else _state(bisection)]
    words += [each.commit.short for each in store.commits.get(repository, list(answer.culprits))]
    if answer.culprits:
        words.append(certainty_text(answer.probability))
    return " ".join(words)


def _state(bisection: StoredBisection) -> str:
    if bisection.state is BisectionState.CULPRIT and not bisection.answer.culprits:
        return "culprit in another repository"
    several = bisection.state is BisectionState.RANGE and bisection.answer.culprits
    return "several culprits" if several else bisection.state.value
