"""Take over what an issue tracker knows: tickets about traces and commits, from CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.query import parse_query

if TYPE_CHECKING:
    from knickpoint.store import Store

__all__ = ["TicketRow", "Tickets", "put_rows", "read_ticket_file", "read_tickets"]

_NAMES: Final = ("name", "query", "commit", "url", "open", "repository")
_REQUIRED: Final = ("name", "commit")
_WORDS: Final = {"": True, "true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class TicketRow:
    """One ticket as a file tells it; ``where`` names its place in the file."""

    name: str
    commit: str
    query: str
    url: str
    open: bool
    repository: str
    where: str


@dataclass(frozen=True, slots=True)
class Tickets:
    """What putting tickets came to: how many there are, and how many findings they took off the list or put back."""

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
    """Read tickets from CSV with a head, or from a JSON list of objects.

    Columns are ``name`` and ``commit``, and where wanted ``query`` (without it, every trace), ``url``, ``open`` and
    ``repository``.

    Raises:
        InputError: it is neither, a column is unknown or missing, or a query cannot be read; names the row.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start} is not UTF-8", where=source, remedy="Save it as UTF-8.") from error
    if text.lstrip().startswith(("[", "{")):
        return [_row(one, f"{source}, entry {number}") for number, one in enumerate(_entries(text, source), 1)]
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    except csv.Error as error:
        raise InputError(f"is not CSV: {error}", where=source, remedy="Give CSV with a head, or JSON.") from error
    return [_row(row, f"{source}, row {number}") for number, row in enumerate(rows, 1)]


def _entries(text: str, source: str) -> Sequence[Mapping[str, object]]:
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}", where=source, remedy="Correct it there.") from error
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise InputError("is no list of objects", where=source, remedy='Write [{"name": …, "commit": …}, …].')
    return entries


def _row(given: Mapping[str, object], where: str) -> TicketRow:
    strange = [str(name) for name in given if name not in _NAMES]
    if strange:
        remedy = f"Known are {', '.join(_NAMES)}; quote what has a comma."
        raise InputError(f"there is no column {strange[0]!r}", where=where, remedy=remedy)
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
    raise InputError(f"{name} is {value!r}", where=where, remedy="Write a text.")


def put_rows(store: Store, rows: Sequence[TicketRow], *, repository: str = "", replace: bool = False) -> Tickets:
    """Put tickets into the store, all or none, and match them with what was found.

    ``repository`` is that of rows that name none; it may be left out where there is only one. With ``replace``
    every other ticket is forgotten.

    Raises:
        HistoryError: there is no such repository.
        InputError: a commit is unknown, or no repository is named and there are several; names the row.
    """
    from knickpoint.store.findings.tickets import Ticket
    from knickpoint.watch.triage.tickets import match_tickets, put_tickets

    known = {own.name: own for own in store.commits.repositories()}
    only = next(iter(known)) if len(known) == 1 else ""
    wanted: dict[str, list[Ticket]] = defaultdict(list)
    for row in rows:
        name = row.repository or repository or only
        if name not in known:
            told = f"there is no repository {name!r}" if name else "no repository is named, and there is not just one"
            names = ", ".join(sorted(known)) or "none yet: import results first"
            raise HistoryError(told, where=row.where, remedy=f"The repositories are: {names}.")
        commit = store.commits.find(known[name], row.commit)
        if commit is None:
            raise InputError(
                f"the repository {name!r} has no commit {row.commit!r}",
                where=row.where,
                remedy="Give a hash, at least 7 digits of it, or a number; or bring the repository up to date.",
            )
        wanted[name].append(Ticket(row.name, row.query, commit.slot, url=row.url, open=row.open))
    changed = 0
    with store.transaction():
        for name, own in known.items():
            if replace:
                for ticket in {ticket.name for ticket in store.findings.tickets.all(own)}:
                    store.findings.tickets.remove(own, ticket)
                changed += match_tickets(store, own) if name not in wanted else 0
            if name in wanted:
                changed += put_tickets(store, own, wanted[name])
    return Tickets(len(rows), changed)
