"""Select and order the changes of all repositories, for ``knick changes``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.instance import Instance
    from knickpoint.model.change import Change
    from knickpoint.model.commit import Repository
    from knickpoint.store.findings.selection import Selection

__all__ = ["Listing", "empty_message", "list_changes"]

_DESCENDING: Final = ("change", "hazard", "date", "found", "traces")
"""Orders that begin with the largest or newest; authors and subjects are sorted alphabetically."""


@dataclass(frozen=True, slots=True)
class Listing:
    """What to list: traces by ``query``, change points by the rest.

    ``history`` has False for change points after the history boundary, True for those before it. ``order`` is the value of
    ``--sort``, ``limit`` the largest number of changes.
    """

    selection: Selection
    processed: bool | None
    history: tuple[bool, ...]
    repository: str
    query: str
    order: str
    limit: int | None


def _selections(opened: Instance, listing: Listing) -> list[tuple[Repository, Selection]]:
    """Return the selection of each repository that is listed.

    Raises:
        InputError: there is no such repository, or no such alert.
        QueryError: the query cannot be read.
    """
    from knickpoint.model.query import parse_query

    store = opened.store
    alerts = sorted({alert.name for alert in opened.alerts} | set(store.findings.sightings.alerts()))
    if listing.selection.alert and listing.selection.alert not in alerts:
        raise InputError(
            f"there is no alert {listing.selection.alert!r}", remedy=f"The alerts are: {', '.join(alerts) or 'none'}."
        )
    repositories = store.commits.repositories()
    chosen = [repository for repository in repositories if listing.repository in {"", repository.name}]
    if not chosen and listing.repository:
        names = ", ".join(repository.name for repository in repositories) or "none"
        raise InputError(f"there is no repository {listing.repository!r}", remedy=f"The repositories are: {names}.")
    if not listing.query:
        return [(repository, listing.selection) for repository in chosen]
    query = parse_query(listing.query)
    return [
        (repository, replace(listing.selection, traces=frozenset(store.traces.select(repository, query).tolist())))
        for repository in chosen
    ]


def list_changes(opened: Instance, listing: Listing) -> tuple[list[tuple[Repository, Change]], int]:
    """Return at most ``limit`` changes in one order over all repositories, and the number of all change points.

    Changes to triage come first, those of all repositories, then history.
    """
    from knickpoint.store.findings.change_list import Sort
    from knickpoint.watch.changes.merged_list import merge_changes

    sort = Sort("commit" if listing.order == "date" else listing.order)
    descending = listing.order in _DESCENDING
    findings = opened.store.findings
    ordered: list[tuple[Repository, Change]] = []
    total = 0
    selections = _selections(opened, listing)
    for history in listing.history:
        found: list[tuple[Repository, Change]] = []
        for repository, selection in selections:
            chosen = replace(selection, processed=listing.processed, history=history)
            changes = findings.changes(
                repository, selection=chosen, sort=sort, descending=descending, limit=listing.limit
            )
            found += [(repository, change) for change in changes]
            total += findings.count_findings(repository, selection=chosen)
        ordered += merge_changes(opened.store, found, sort, descending=descending)
    return ordered[: listing.limit], total


def empty_message(opened: Instance, listing: Listing) -> str:
    """Return the message for an empty list, with the number of change points that its filters or the history leave out."""
    from knickpoint.store.findings.selection import Selection

    plain = Selection(conditions=listing.selection.conditions, alert_kinds=listing.selection.alert_kinds)
    if listing.query or listing.repository or listing.selection != plain:
        everything = replace(listing, selection=plain, query="", repository="")
        _, others = list_changes(opened, replace(everything, limit=1))
        if others:
            return f"No change point matches. Without these filters, there {_are(others)}."
    left_out = 0
    if True not in listing.history:
        for repository, selection in _selections(opened, listing):
            chosen = replace(selection, processed=listing.processed, history=True)
            left_out += opened.store.findings.count_findings(repository, selection=chosen)
    if not left_out:
        return "Nothing to triage. New results are judged by `knick run`."
    are = "1 change point is" if left_out == 1 else f"{left_out:,} change points are"
    return f"Nothing to triage. {are} history: `knick changes --history`; `knick history take` makes work of it."


def _are(count: int) -> str:
    return "is 1" if count == 1 else f"are {count:,}"
