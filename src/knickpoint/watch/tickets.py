"""Match tickets of an issue tracker with change points: same traces, same commit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from knickpoint.model.commit import Repository
from knickpoint.model.query import parse_query
from knickpoint.store import Store
from knickpoint.store.findings import Ticket
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


def match_tickets(store: Store, repository: Repository) -> int:
    """Say of every live change point which ticket covers it: return how many changed.

    A ticket covers the traces that its query matches where its commit lies in their suspect range. The
    first ticket that came wins.
    """
    lines = Lines(store, repository)
    rows = store.findings.members(repository)
    tickets = store.findings.tickets.all(repository)
    matched = [""] * len(rows)
    traces = np.array([row["trace_id"] for row in rows], dtype=np.int64)
    at = [lines.line(row["line"]).positions for row in rows]
    begins = np.array([place.get(row["previous"], -1) for row, place in zip(rows, at, strict=True)], dtype=np.int64)
    ends = np.array([place.get(row["slot"], -1) for row, place in zip(rows, at, strict=True)], dtype=np.int64)
    for ticket in tickets:
        own = np.array([place.get(ticket.slot, -1) for place in at], dtype=np.int64)
        covered = (begins < own) & (own <= ends)
        covered &= np.isin(traces, store.traces.select(repository, parse_query(ticket.query)))
        for row in np.flatnonzero(covered).tolist():
            matched[row] = matched[row] or ticket.name
    changed = {row["id"]: name for row, name in zip(rows, matched, strict=True) if row["matched_ticket"] != name}
    if changed:
        store.findings.set_matched_tickets(changed)
    return len(changed)
