"""The trackers of an instance, and tickets that one of them exports as CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.instance.instance import Instance
from knickpoint.model.access import AuditKind
from knickpoint.model.change_point import Condition
from knickpoint.model.errors import ConfigError, HistoryError, InputError
from knickpoint.model.plain_text import counted
from knickpoint.model.query import parse_query
from knickpoint.notify.settings import ChannelKind, ChannelSettings

if TYPE_CHECKING:
    from knickpoint.model.commit import Repository
    from knickpoint.model.notification import TrackerTicket
    from knickpoint.model.statement import Change
    from knickpoint.notify.trackers.sync import TicketSync
    from knickpoint.notify.trackers.tracker_channel import TrackerChannel
    from knickpoint.store import Store
    from knickpoint.watch.triage.decisions import Targets


# The trackers of an instance: open their channels, read back their tickets, and make one for a decision.


_TRACKERS: Final = frozenset({ChannelKind.GITHUB, ChannelKind.GITLAB, ChannelKind.JIRA})


def trackers(instance: Instance) -> dict[str, ChannelSettings]:
    """Return the channels of ``instance`` that are trackers, by name."""
    return {name: settings for name, settings in instance.config.channels.items() if settings.kind in _TRACKERS}


def open_tracker(instance: Instance, name: str) -> TrackerChannel:
    """Open the channel ``name``, which is a tracker.

    Raises:
        InputError: there is no such channel.
        ConfigError: its settings cannot be used.
    """
    from knickpoint.notify.channel import ChannelContext, open_channel
    from knickpoint.notify.trackers.tracker_channel import TrackerChannel

    known = trackers(instance)
    if name not in known:
        names = ", ".join(sorted(known)) or "none yet; add [channels.NAME] to knickpoint.toml"
        raise InputError(f"there is no tracker {name!r}", remedy=f"The trackers are: {names}.")
    config = instance.config
    context = ChannelContext(instance.directory, config.server.address, instance.outgoing, config.name, instance.store)
    channel = open_channel(known[name], context)
    if not isinstance(channel, TrackerChannel):
        raise ConfigError("it is not a tracker", where=f"[channels.{name}]", remedy="Choose another channel.")
    return channel


def sync_tracker(instance: Instance, name: str) -> TicketSync:
    """Read what changed in the tracker ``name``, and compare closed tickets with the data.

    Raises:
        InputError: there is no such tracker.
        ConfigError: its settings cannot be used.
        DeliveryError: it does not answer as it should.
    """
    from knickpoint.notify.trackers.sync import sync_tickets

    return sync_tickets(open_tracker(instance, name), now=time.time())


@dataclass(frozen=True, slots=True)
class _Found:
    repository: Repository
    change: Change


def create_ticket(instance: Instance, targets: Targets, name: str, *, who: str) -> TrackerTicket:
    """Make one ticket for the findings that ``targets`` name in the tracker ``name``; the caller links it.

    Changes with an open ticket there get no second one: the first of these tickets is returned.

    Raises:
        InputError: there is no such tracker or finding, or nothing is named.
        ConfigError: the settings of the tracker cannot be used.
        DeliveryError: it does not answer as it should.
    """
    from knickpoint.notify.trackers.tracker_channel import draft_ticket, known_ticket
    from knickpoint.store.findings.tickets import thread_of

    channel, store = open_tracker(instance, name), instance.store
    ids = sorted({*targets.changes, *store.findings.changes_of(targets.points)})
    found = _live_changes(instance, ids)
    heads = [(each.change.id, each.change.lead.key) for each in found if each.change.lead]
    known = known_ticket(store, name, heads)
    if known is not None and known.open:
        return known
    # The key is the same in each attempt, and another one after an earlier ticket was closed.
    leads = [each.change.lead for each in found]
    begun = min((lead.found.isoformat() for lead in leads if lead and lead.found), default="")
    parts = [instance.config.name, name, *(thread_of(key) for key in ids), begun, known.name if known else ""]
    draft = draft_ticket(
        channel,
        [(each.repository, each.change) for each in found],
        key=" ".join(part for part in parts if part),
        address=instance.config.server.address,
    )
    ticket = channel.make(draft)
    about = f"made {ticket.name} in {name} for {', '.join(thread_of(key) for key in ids[:20])}"
    store.audit.append(AuditKind.TICKETS_CHANGED, who, about)
    return ticket


def _live_changes(instance: Instance, ids: Sequence[int]) -> list[_Found]:
    """Return the changes ``ids`` with their live members, the one that got worst first."""
    store = instance.store
    repositories = {each.name: each for each in store.commits.repositories()}
    found = []
    for key in ids:
        change = store.findings.change(key)
        live = tuple(each for each in change.members if each.condition is not Condition.GONE)
        if not live:
            raise InputError(
                f"change {key} no longer has any members",
                remedy="The data no longer show it; there is nothing to file.",
            )
        found.append(_Found(repositories[change.repository], replace(change, members=live)))
    if not found:
        raise InputError("no finding is named", remedy="Name one, as in knick triage R12 --create CHANNEL.")
    return sorted(found, key=lambda each: -each.change.severity)


# Import tickets about traces and commits, which an issue tracker exports as CSV or JSON.


_NAMES: Final = ("name", "query", "commit", "url", "open", "repository")
_REQUIRED: Final = ("name", "commit")
_WORDS: Final = {"": True, "true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class TicketRow:
    """One ticket of a file; ``where`` is its position in the file, for messages."""

    name: str
    commit: str
    query: str
    url: str
    open: bool
    repository: str
    where: str


@dataclass(frozen=True, slots=True)
class TicketImport:
    """The result of an import: the number of tickets, and of the findings whose matching ticket changed."""

    tickets: int
    changed: int


def read_ticket_file(path: Path) -> list[TicketRow]:
    """Read the tickets in the file ``path``.

    Raises:
        InputError: it cannot be read, or as :func:`read_tickets`.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}", where=str(path), remedy="Correct the name, or grant read access to it."
        ) from error
    return read_tickets(data, str(path))


def read_tickets(data: bytes, source: str) -> list[TicketRow]:
    """Read tickets from CSV with a header, or from a JSON list of objects.

    The columns ``name`` and ``commit`` are required; ``query`` (default: every trace), ``url``, ``open`` and
    ``repository`` are optional.

    Raises:
        InputError: it is neither, a column is unknown or missing, or a query cannot be read; it names the row.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start} is not UTF-8", where=source, remedy="Save it as UTF-8.") from error
    if text.lstrip().startswith(("[", "{")):
        return [_row(entry, f"{source}, entry {number}") for number, entry in enumerate(_entries(text, source), 1)]
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise InputError(f"is not CSV: {error}", where=source, remedy="Give CSV with a header, or JSON.") from error
    return [_row(row, f"{source}, row {number}") for number, row in enumerate(rows, 1)]


def _entries(text: str, source: str) -> Sequence[Mapping[str, object]]:
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}", where=source, remedy="Correct it there.") from error
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError("is not a list of objects", where=source, remedy='Write [{"name": …, "commit": …}, …].')
    return entries


def _row(given: Mapping[str, object], where: str) -> TicketRow:
    unknown = [str(name) for name in given if name not in _NAMES]
    if unknown:
        remedy = f"Known columns are {', '.join(_NAMES)}; quote values that have a comma."
        raise InputError(f"there is no column {unknown[0]!r}", where=where, remedy=remedy)
    texts = {name: _text(given.get(name), name, where) for name in _NAMES}
    for name in _REQUIRED:
        if not texts[name]:
            raise InputError(f"{name} is missing", where=where, remedy=f"Give every ticket a {name}.")
    if texts["open"].lower() not in _WORDS:
        raise InputError(f"open is {texts['open']!r}", where=where, remedy="Write true or false.")
    try:
        parse_query(texts["query"])
    except InputError as error:
        raise InputError(f"the query cannot be read: {error.message}", where=where, remedy=error.remedy) from error
    return TicketRow(
        name=texts["name"],
        commit=texts["commit"],
        query=texts["query"],
        url=texts["url"],
        open=_WORDS[texts["open"].lower()],
        repository=texts["repository"],
        where=where,
    )


def _text(value: object, name: str, where: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int):
        return str(value).strip()
    raise InputError(f"{name} is {value!r}", where=where, remedy="Give text.")


def import_tickets(
    store: Store, rows: Sequence[TicketRow], *, repository: str = "", replace: bool = False, who: str = ""
) -> TicketImport:
    """Write tickets into the store, all or none, and match them with the findings.

    ``repository`` is that of rows that name none; where there is only one, it is optional. With ``replace``, all other
    tickets are removed, but not those that channels made in a tracker. ``who`` is the person for the audit log, "" for
    a worker, whose imports have no entry.

    Raises:
        HistoryError: there is no such repository.
        InputError: a commit is unknown, or no repository is named and there are several; it names the row.
    """
    from knickpoint.store.findings.tickets import Ticket
    from knickpoint.watch.triage.tickets import match_tickets, put_tickets

    # Resolve the repository and the commit of each row.
    known = {each.name: each for each in store.commits.repositories()}
    only = next(iter(known)) if len(known) == 1 else ""
    wanted: dict[str, list[Ticket]] = defaultdict(list)
    for row in rows:
        name = row.repository or repository or only
        if name not in known:
            message = (
                f"there is no repository {name!r}" if name else "no repository is named, and there is not just one"
            )
            names = ", ".join(sorted(known)) or "none yet: import results first"
            raise HistoryError(message, where=row.where, remedy=f"The repositories are: {names}.")
        commit = store.commits.find(known[name], row.commit)
        if commit is None:
            raise InputError(
                f"the repository {name!r} has no commit {row.commit!r}",
                where=row.where,
                remedy="Give a hash, at least 7 digits of it, or a number; or bring the repository up to date.",
            )
        wanted[name].append(Ticket(row.name, row.query, commit.slot, url=row.url, open=row.open))
    # Write the tickets, and match the findings again, also of repositories that lose all of theirs.
    changed = 0
    with store.transaction():
        of_trackers = {ticket.name for ticket in store.findings.tracker_tickets.all()} if replace else set()
        for name, each in known.items():
            corrected: set[str] = set()
            if replace:
                stated = {(ticket.name, ticket.slot, ticket.query) for ticket in wanted.get(name, ())}
                before = {(ticket.name, ticket.slot, ticket.query) for ticket in store.findings.tickets.all(each)}
                corrected = {ticket for ticket, _, _ in before - stated} - of_trackers
                for ticket in corrected:
                    store.findings.tickets.remove(each, ticket)
                changed += match_tickets(store, each) if name not in wanted else 0
            if name in wanted:
                changed += put_tickets(store, each, wanted[name], afresh=corrected)
        if who:
            others = ", removed all others" if replace else ""
            store.audit.append(AuditKind.TICKETS_CHANGED, who, f"imported {counted(len(rows), 'ticket')}{others}")
    return TicketImport(len(rows), changed)
