"""Match tickets of an issue tracker with change points: same traces, same commit."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence

from knickpoint.model.commit import Repository
from knickpoint.model.params import decode_key
from knickpoint.model.query import Query, parse_query
from knickpoint.store import Store
from knickpoint.store.findings.tickets import Ticket
from knickpoint.watch.lines import Lines

__all__ = ["match_tickets", "put_tickets"]


def put_tickets(store: Store, repository: Repository, tickets: Sequence[Ticket]) -> int:
    """Write ``tickets`` and match all of the repository's anew; return how many findings changed.

    Raises:
        QueryError: a ticket's query cannot be read; nothing is written.
    """
    for ticket in tickets:
        parse_query(ticket.query)
    with store.transaction():
        store.findings.tickets.put(repository, tickets)
        return match_tickets(store, repository)


def match_tickets(store: Store, repository: Repository, *, among: Collection[int] | None = None) -> int:
    """Say of live change points, all of them or those ``among``, which ticket covers them: return how many changed.

    A ticket covers the traces that its query matches where its commit lies in their suspect range. The
    first ticket that came wins.
    """
    lines = Lines(store, repository)
    members = store.findings.groups.members(repository, among=among)
    tickets = [(ticket, parse_query(ticket.query)) for ticket in store.findings.tickets.all(repository)]
    by_line: dict[str, _Reach] = {}
    changed: dict[int, str] = {}
    for member in members:
        suspects = member.suspect_range
        line = lines.line(suspects.line)
        if line.name not in by_line:
            by_line[line.name] = _Reach(tickets, line.positions)
        name = by_line[line.name].covering(suspects.previous, suspects.slot, member.trace_key)
        if name != member.matched_ticket:
            changed[member.id] = name
    if changed:
        store.findings.set_matched_tickets(changed)
    return len(changed)


class _Reach:
    """The tickets of one line by position: those about a change are looked up, not tried one after the other."""

    def __init__(self, tickets: Sequence[tuple[Ticket, Query]], positions: Mapping[int, int]) -> None:
        self._positions = positions
        placed = [
            (positions[ticket.slot], number) for number, (ticket, _) in enumerate(tickets) if ticket.slot in positions
        ]
        self._tickets = tickets
        self._placed = sorted(placed)
        self._params: dict[str, Mapping[str, str]] = {}

    def covering(self, previous: int, slot: int, key: str) -> str:
        """Return the name of the first ticket whose commit lies in (previous, slot] and whose query matches."""
        begin, end = self._positions.get(previous, -1), self._positions.get(slot, -1)
        low, high = (bisect_right(self._placed, (place, len(self._tickets))) for place in (begin, end))
        if low >= high:
            return ""
        params = self._params.setdefault(key, decode_key(key))
        for number in sorted(number for _, number in self._placed[low:high]):
            ticket, query = self._tickets[number]
            if query.matches(params):
                return ticket.name
        return ""
