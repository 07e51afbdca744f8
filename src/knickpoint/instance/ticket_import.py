"""Import tickets about traces and commits, which an issue tracker exports as CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.model.audit import AuditKind
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.plain_text import counted
from knickpoint.model.query import parse_query

if TYPE_CHECKING:
    from knickpoint.store import Store

__all__ = ["TicketImport", "TicketRow", "import_tickets", "read_ticket_file", "read_tickets"]

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
            f"cannot be read: {error.strerror}", where=str(path), remedy="Correct the name, or make it readable."
        ) from error
    return read_tickets(data, str(path))


def read_tickets(data: bytes, source: str) -> list[TicketRow]:
    """Read tickets from CSV with a header, or from a JSON list of objects.

    The columns ``name`` and ``commit`` are required; ``query`` (default: every trace), ``url``, ``open`` and ``repository``
    are optional.

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
    tickets are removed, but not those that channels made in a tracker. ``who`` is the person for the audit log, "" for a
    worker, whose imports have no entry.

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
