"""Configured directions, which override those of results files and units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knickpoint.model.query import Query
from knickpoint.model.unit_names import Better


@dataclass(frozen=True, slots=True)
class DirectionRule:
    """The better direction of the traces that ``query`` matches.

    ``better`` is UNKNOWN if the configuration says that neither is better. ``repository`` is a name, "" for all.
    """

    query: Query
    better: Better
    repository: str = ""


def configured_better(rules: Sequence[DirectionRule], repository: str, params: Mapping[str, str]) -> Better | None:
    """Return the direction of the last of ``rules`` that matches a trace, None if none matches."""
    for rule in reversed(rules):
        if rule.repository in {"", repository} and rule.query.matches(params):
            return rule.better
    return None
