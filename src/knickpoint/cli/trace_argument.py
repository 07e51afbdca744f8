"""Read the argument TRACE of commands: a key, an id, or a query that matches one trace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from knickpoint.cli.trace_suggestions import no_trace_remedy, suggested_query
from knickpoint.model.errors import HistoryError, InputError, QueryError

if TYPE_CHECKING:
    from knickpoint.model.commit import Repository
    from knickpoint.model.frame import Trace
    from knickpoint.model.query import Query
    from knickpoint.store import Store

__all__ = ["chosen_repositories", "find_trace", "owned_trace", "parse_terms"]

_MOST_NAMED: Final = 8
"""Traces that the error about an ambiguous query names."""


def find_trace(store: Store, text: str) -> int | str:
    """Return the trace that ``text`` means: a key, an id, or a query that matches exactly one.

    Raises:
        InputError: the query matches none, or several.
    """
    if text.isascii() and text.isdigit():
        return int(text)
    if text.startswith(","):
        return text
    repositories = store.commits.repositories()
    query = parse_terms(store, repositories, text)
    found = [
        trace
        for repository in repositories
        for trace in store.traces.get(store.traces.select(repository, query)[: _MOST_NAMED + 1])
    ]
    if len(found) == 1:
        return found[0].id
    if not found:
        raise InputError("no trace matches", where=f"query {text!r}", remedy=no_trace_remedy(store, repositories, text))
    keys = "\n  ".join(trace.key for trace in found[:_MOST_NAMED])
    more = "\n  …" if len(found) > _MOST_NAMED else ""
    raise InputError(
        f"several traces match; give one of these keys, or a narrower query:\n  {keys}{more}",
        where=f"query {text!r}",
    )


def chosen_repositories(store: Store, name: str) -> Sequence[Repository]:
    """Return the repository ``name`` alone; "" means all. Raises ``HistoryError`` where there is none of that name."""
    known = store.commits.repositories()
    found = [repository for repository in known if name in {"", repository.name}]
    if name and not found:
        names = ", ".join(repository.name for repository in known) or "none yet"
        raise HistoryError(f"there is no repository {name!r}", remedy=f"Known repositories: {names}.")
    return found


def parse_terms(store: Store, repositories: Sequence[Repository], text: str) -> Query:
    """Return the query that ``text`` means.

    Raises:
        QueryError: it cannot be read; where a word is the name of a benchmark or similar, the error says how to write it.
    """
    from knickpoint.model.query import parse_query

    try:
        return parse_query(text)
    except QueryError as error:
        meant = next(filter(None, (suggested_query(store, each, text) for each in repositories)), "")
        if not meant:
            raise
        raise QueryError(error.message, where=error.where, remedy=f"Did you mean {meant}?") from error


def owned_trace(store: Store, text: str) -> tuple[Repository, Trace]:
    """Return the trace that ``text`` means, and its repository.

    Raises:
        InputError: there is no such trace, or a query matches several.
    """
    found = find_trace(store, text)
    for repository in store.commits.repositories():
        if isinstance(found, str):
            traces = store.traces.find(repository, found)
            if traces:
                return repository, traces[0]
        elif store.traces.owners([found]).get(found) == repository.id:
            return repository, store.traces.get([found])[0]
    raise InputError(f"there is no trace {text!r}", remedy="List the traces with knick traces.")
