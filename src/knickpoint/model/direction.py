"""Configured directions: what people say about the traces of a query goes before what files and units say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knickpoint.model.better import Better
from knickpoint.model.query import Query

__all__ = ["DirectionRule", "configured_better"]


@dataclass(frozen=True, slots=True)
class DirectionRule:
    """Say which direction is better for the traces that ``query`` matches.

    ``better`` is UNKNOWN where the configuration says that neither is. ``repository`` is a name, "" for every repository.
    """

    query: Query
    better: Better
    repository: str = ""


def configured_better(rules: Sequence[DirectionRule], repository: str, params: Mapping[str, str]) -> Better | None:
    """Return what the last of ``rules`` that matches a trace says, None where none matches."""
    for rule in reversed(rules):
        if rule.repository in {"", repository} and rule.query.matches(params):
            return rule.better
    return None
