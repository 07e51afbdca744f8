"""Match tickets of an issue tracker with change points: same traces, same commit.

A ticket names a commit and a query. It covers a change point where its commit lies in the suspect range and its query
matches the trace; such a finding counts as processed without a decision of a person. From then on the ticket belongs to
the change point: values of missing commits may narrow or move the range, and the ticket stays. A ticket that comes
later may name a commit of an earlier range: those count that were announced, or that a decision was about.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import numpy as np

from knickpoint.model.change_point import ChangePoint, SuspectRange
from knickpoint.model.commit import Line, Repository
from knickpoint.model.notification import FixVerdict, TrackerTicket
from knickpoint.model.params import decode_key
from knickpoint.model.query import Query, QueryTerm, parse_query
from knickpoint.store import Store
from knickpoint.store.findings.groups import GroupMember
from knickpoint.store.findings.tickets import Ticket
from knickpoint.watch.lines import Lines

_MOST_VALUES: Final = 50
"""Values of one param that a query of a ticket names."""


def put_tickets(
    store: Store, repository: Repository, tickets: Sequence[Ticket], *, afresh: Collection[str] = ()
) -> int:
    """Write ``tickets`` and match all tickets of the repository; return how many findings changed.

    The tickets ``afresh`` lose the findings that they have.

    Raises:
        QueryError: a ticket's query cannot be read; nothing is written.
    """
    for ticket in tickets:
        parse_query(ticket.query)
    with store.transaction():
        store.findings.tickets.put(repository, tickets)
        return match_tickets(store, repository, afresh=afresh)


def tracked_tickets(store: Store, tickets: Sequence[Ticket]) -> list[tuple[Ticket, TrackerTicket]]:
    """Return each ticket with its state in its tracker; the state of an imported one is as it was imported."""
    known = store.findings.tracker_tickets.by_name({ticket.name for ticket in tickets})
    imported = (TrackerTicket("", each.name, each.url, title="", open=each.open) for each in tickets)
    return [(ticket, known.get(ticket.name, state)) for ticket, state in zip(tickets, imported, strict=True)]


def match_tickets(
    store: Store, repository: Repository, *, among: Collection[int] | None = None, afresh: Collection[str] = ()
) -> int:
    """Match tickets with live change points, all of them or those ``among``; return how many of these changed.

    A ticket covers the traces that its query matches where its commit lies in their suspect range, or, where all are
    matched, in one that they had. The first ticket that came wins, and keeps its change points while it exists. The
    tickets ``afresh`` are matched as new ones, because a person corrected what they are about.
    """
    lines = Lines(store, repository)
    points = store.findings.groups.members(repository, among=among)
    tickets = [(ticket, parse_query(ticket.query)) for ticket in store.findings.tickets.all(repository)]
    by_line: dict[str, _LineTickets] = {}
    names: dict[int, str] = {}
    for point in points:
        line = lines.line(point.suspect_range.line)
        if line.name not in by_line:
            by_line[line.name] = _LineTickets(tickets, line)
        kept = "" if point.matched_ticket in afresh else point.matched_ticket
        names[point.id] = by_line[line.name].covering(point.suspect_range, point.trace_key, kept)
    if tickets and among is None:
        names |= _covered_before(store.findings.tickets.earlier_ranges(repository), points, names, by_line)
    changed = {point.id: names[point.id] for point in points if names[point.id] != point.matched_ticket}
    if changed:
        store.findings.set_matched_tickets(changed)
    return len(changed)


def covering_query(keys: Sequence[str]) -> str:
    """Return a query that every trace of ``keys`` matches: the values of the params that they share.

    Other traces may match as well, such as one with the value of the first trace and the value of the second. A param
    with more than 50 values is left out.
    """
    params = [decode_key(key) for key in keys]
    shared = set(params[0]).intersection(*params) if params else set()
    values = {name: tuple(dict.fromkeys(each[name] for each in params)) for name in sorted(shared)}
    terms = [QueryTerm(name, values=found) for name, found in values.items() if len(found) <= _MOST_VALUES]
    return str(Query.of(*terms))


def _covered_before(
    earlier: Mapping[int, Sequence[SuspectRange]],
    points: Sequence[GroupMember],
    names: Mapping[int, str],
    by_line: Mapping[str, _LineTickets],
) -> dict[int, str]:
    """Return the live ``points`` without a name covered by a ticket with its commit in one of their ``earlier`` ranges.

    It must not lie where another change point of the trace is now, and of several of a trace, none is covered: what is
    stored does not say which of them the ticket means.
    """
    found: dict[tuple[int, str, str, int], list[int]] = defaultdict(list)
    for point in points:
        name, ranges = point.suspect_range.line, () if names[point.id] else earlier.get(point.id, ())
        tickets = (by_line[name].first(each, point.trace_key) for each in ranges)
        ticket = next((each for each in tickets if each), None)
        if ticket is not None:
            found[point.trace_id, name, ticket.name, ticket.slot].append(point.id)
    now: dict[tuple[int, str], list[SuspectRange]] = defaultdict(list)
    for point in points if found else ():
        now[point.trace_id, point.suspect_range.line].append(point.suspect_range)
    return {
        keys[0]: ticket
        for (trace, name, ticket, slot), keys in found.items()
        if len(keys) == 1 and not any(by_line[name].lies_in(slot, each) for each in now[trace, name])
    }


class _LineTickets:
    """The tickets of one line, sorted by position: those in a suspect range are looked up, not tried one by one."""

    def __init__(self, tickets: Sequence[tuple[Ticket, Query]], line: Line) -> None:
        self._line = line
        self._tickets = tickets
        self._placed = sorted(
            (line.positions[ticket.slot], number)
            for number, (ticket, _) in enumerate(tickets)
            if ticket.slot in line.positions
        )
        self._queries: dict[str, list[Query]] = defaultdict(list)
        for ticket, query in tickets:
            self._queries[ticket.name].append(query)
        self._params: dict[str, Mapping[str, str]] = {}

    def covering(self, suspect_range: SuspectRange, key: str, kept: str) -> str:
        """Return the name of the first ticket with its commit in ``suspect_range`` and a query that matches, or "".

        The ticket ``kept`` needs no commit there: it is ``kept`` while one of its queries matches.
        """
        params = self._params.setdefault(key, decode_key(key))
        if kept and any(query.matches(params) for query in self._queries[kept]):
            return kept
        ticket = self.first(suspect_range, key)
        return ticket.name if ticket else ""

    def first(self, suspect_range: SuspectRange, key: str) -> Ticket | None:
        """Return the first ticket with its commit in ``suspect_range`` and a query that matches the trace ``key``."""
        interval = suspect_range.on(self._line)
        if interval is None:
            return None
        low, high = (
            bisect_right(self._placed, (position, len(self._tickets)))
            for position in (interval.previous, interval.position)
        )
        for number in sorted(number for _, number in self._placed[low:high]):
            ticket, query = self._tickets[number]
            if query.matches(self._params.setdefault(key, decode_key(key))):
                return ticket
        return None

    def lies_in(self, slot: int, suspect_range: SuspectRange) -> bool:
        """Return True if the commit ``slot`` of the line lies in ``suspect_range``."""
        interval = suspect_range.on(self._line)
        return interval is not None and self._line.positions[slot] in interval


# Compare a closed ticket with the data: are its traces back at their level before, from the fixing revision on?
#
# The level since the fix is the median of up to 20 values from that commit on. A trace counts as fixed where at most a
# third of its change is left, or where it went further than back. Fewer than 3 values say nothing yet.


_FEWEST_VALUES: Final = 3
_MOST_VALUES_LOOKED_AT: Final = 20
_MOST_COMMITS: Final = 500
"""Commits after the fix in which values are looked for."""

_MOST_POINTS: Final = 1000
_LEFT: Final = 1 / 3
"""The share of a change that may be left, as for findings that have recovered."""


def compare_fix(store: Store, repository: Repository, points: Sequence[ChangePoint], revision: str) -> FixVerdict:
    """Compare the values since the commit ``revision`` with the change points of a ticket.

    At most 1,000 of them are compared. NOT_MEASURED stands for an unknown commit as well.
    """
    commit = store.commits.find(repository, revision)
    if commit is None:
        return FixVerdict.NOT_MEASURED
    # Read the values of each line together.
    lines = Lines(store, repository)
    by_line: dict[str, list[ChangePoint]] = defaultdict(list)
    for point in points[:_MOST_POINTS]:
        by_line[lines.line(point.suspect_range.line).name].append(point)
    verdicts: set[FixVerdict] = set()
    for name, found in by_line.items():
        line = lines.line(name)
        first = line.positions.get(commit.slot)
        if first is None:
            continue
        last = min(first + _MOST_COMMITS, len(line.slots)) - 1
        values = np.asarray(
            store.frames.values(line, [point.trace_id for point in found], first=first, last=last), dtype=np.float64
        )
        verdicts |= {_verdict(point, row[~np.isnan(row)]) for point, row in zip(found, values, strict=True)}
    for verdict in (FixVerdict.NOT_FIXED, FixVerdict.FIXED):
        if verdict in verdicts:
            return verdict
    return FixVerdict.NOT_MEASURED


def _verdict(point: ChangePoint, values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> FixVerdict:
    if len(values) < _FEWEST_VALUES:
        return FixVerdict.NOT_MEASURED
    before, after = point.numbers.before_level, point.numbers.after_level
    level = float(np.median(values[:_MOST_VALUES_LOOKED_AT]))
    left = (level - before) / (after - before)
    return FixVerdict.FIXED if left <= _LEFT else FixVerdict.NOT_FIXED
