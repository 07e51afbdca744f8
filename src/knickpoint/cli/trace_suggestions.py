"""Suggest what a query that matches no trace may mean: params and values that are similar to those that it names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from knickpoint.cli.suggestions import closest
from knickpoint.model.errors import KnickpointError

if TYPE_CHECKING:
    from knickpoint.model.commit import Repository
    from knickpoint.store import Store

__all__ = ["no_trace_remedy", "suggested_query"]

_FORMULA = re.compile(r"\b(?:filter|shortcut)\(")
_FIRST = "benchmark"
"""The param that a word without a name is looked for first."""


def no_trace_remedy(store: Store, repositories: Iterable[Repository], text: str) -> str:
    """Return what to do about a query that matches nothing: the similar one that matches, else where to look."""
    if _FORMULA.search(text):
        return "This looks like a formula: knick query --formula takes it."
    for repository in repositories:
        meant = suggested_query(store, repository, text)
        if meant:
            return f"Did you mean {meant}?"
    return "List the traces with knick traces."


def suggested_query(store: Store, repository: Repository, text: str) -> str:
    """Return a query of the names and values of ``repository`` that are similar to those of ``text``, "" for none."""
    from knickpoint.model.query import Query

    known = store.traces.facets(repository, Query())
    terms = [_suggested_term(word, known) for written in text.split() for word in _between_commas(written, known)]
    meant = " ".join(term for term in terms if term)
    return meant if all(terms) and meant != text and _matches(store, repository, meant) else ""


def _between_commas(written: str, known: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return the terms of ``name=value,name=value``, which is how keys are written; other words stay whole."""
    parts = written.strip(",").split(",")
    return parts if all(part.partition("=")[0].rstrip("!~") in known for part in parts) else [written]


def _suggested_term(word: str, known: Mapping[str, Mapping[str, int]]) -> str:
    """Return the term ``name=value`` that a word means, "" where nothing is similar. Other terms stay as they are."""
    name, sign, value = word.partition("=")
    if word[:1] in {"-", "!"}:
        return word
    if not sign:
        for each in sorted(known, key=lambda each: (each != _FIRST, each)):
            found = closest(word, known[each])
            if found:
                return f"{each}={found[0]}"
        return ""
    if name[-1:] in {"!", "~"} or value == "*":
        return word
    names = [name] if name in known else closest(name, known)
    values = [value] if names and value in known[names[0]] else closest(value, known[names[0]]) if names else []
    return f"{names[0]}={values[0]}" if values else ""


def _matches(store: Store, repository: Repository, text: str) -> bool:
    from knickpoint.model.query import parse_query

    try:
        return bool(len(store.traces.select(repository, parse_query(text))))
    except KnickpointError:
        return False
