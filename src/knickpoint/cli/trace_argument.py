"""Read the argument TRACE of commands: a key, an id, or a query that matches one trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.store import Store

__all__ = ["find_trace"]

_MOST_NAMED: Final = 8
"""Traces that the error about an ambiguous query names."""


def find_trace(store: Store, text: str) -> int | str:
    """Return the trace that ``text`` means: a key, an id, or a query that matches exactly one.

    Raises:
        InputError: the query matches none, or several.
    """
    from knickpoint.model.query import parse_query

    if text.isascii() and text.isdigit():
        return int(text)
    if text.startswith(","):
        return text
    query = parse_query(text)
    found = [
        trace
        for repository in store.commits.repositories()
        for trace in store.traces.get(store.traces.select(repository, query)[: _MOST_NAMED + 1])
    ]
    if len(found) == 1:
        return found[0].id
    if not found:
        raise InputError("no trace matches", where=f"query {text!r}", remedy="Give the key of a trace, or a query.")
    keys = "\n  ".join(trace.key for trace in found[:_MOST_NAMED])
    more = "\n  …" if len(found) > _MOST_NAMED else ""
    raise InputError(
        f"several traces match:\n  {keys}{more}",
        where=f"query {text!r}",
        remedy="Give one of these keys, or a narrower query.",
    )
