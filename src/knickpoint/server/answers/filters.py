"""Translate the filter of a list of changes into what the store selects."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time
from enum import Enum
from typing import Final

from knickpoint.model.alert import AlertKind
from knickpoint.model.change_point import Condition
from knickpoint.model.errors import InputError
from knickpoint.server.schemas.filters import AlertKindFilter, ListFilter
from knickpoint.store.findings.selection import Selection

__all__ = ["Tab", "matching_members", "members_on_list", "tab_of"]


_MOST_WORDS: Final = 20
"""Words of a filter; each is searched in four texts of every member."""


class Tab(Enum):
    """One of the lists that the members of each change are divided among; ALL has those of all but GONE."""

    UNPROCESSED = "unprocessed"
    HISTORY = "history"
    PROCESSED = "processed"
    ALL = "all"
    GONE = "gone"


def tab_of(wanted: ListFilter) -> Tab:
    """Return the list that a filter means: ``gone`` goes before ``all``, then ``history``, then ``processed``."""
    if wanted.gone:
        return Tab.GONE
    if wanted.all:
        return Tab.ALL
    if wanted.history:
        return Tab.HISTORY
    return Tab.PROCESSED if wanted.processed else Tab.UNPROCESSED


def matching_members(wanted: ListFilter) -> Selection:
    """Return the members that match ``wanted``, whichever of the lists they are on.

    Raises:
        InputError: the filter has too many words.
    """
    words = len(wanted.filter.split())
    if words > _MOST_WORDS:
        raise InputError(f"the filter has {words} words", where="filter", remedy=f"Use at most {_MOST_WORDS}.")
    return Selection(
        text=wanted.filter,
        directions=frozenset({wanted.direction} if wanted.direction else ()),
        stated_conditions=frozenset({wanted.condition} if wanted.condition else ()),
        statuses=frozenset({wanted.status} if wanted.status else ()),
        certainty=wanted.certainty,
        kinds=frozenset({wanted.kind} if wanted.kind else ()),
        alert=wanted.alert,
        alert_kinds=_alert_kinds(wanted),
        assignee=wanted.assignee,
        ticket=wanted.ticket,
        minimum_hazard=wanted.minimum_hazard,
        minimum_effect=wanted.minimum_effect,
        minimum_sigma=wanted.minimum_sigma,
        since=datetime.combine(wanted.since, time.min, UTC) if wanted.since else None,
        before=datetime.combine(wanted.until, time.max, UTC) if wanted.until else None,
    )


def _alert_kinds(wanted: ListFilter) -> frozenset[AlertKind] | None:
    """Return the kinds of alerts whose findings are listed, None for all."""
    chosen = wanted.alert_kind or (AlertKindFilter.ANY if wanted.alert else AlertKindFilter.WORK)
    return None if chosen is AlertKindFilter.ANY else frozenset({AlertKind(chosen.value)})


def members_on_list(wanted: ListFilter) -> Selection:
    """Return the members that match ``wanted`` and are on its list.

    Members that later data no longer show are listed whatever their status is.
    """
    tab = tab_of(wanted)
    if tab is Tab.GONE:
        return replace(matching_members(wanted), conditions=frozenset({Condition.GONE}))
    if tab is Tab.ALL:
        return matching_members(wanted)
    if tab is Tab.PROCESSED:
        return replace(matching_members(wanted), processed=True)
    return replace(matching_members(wanted), processed=False, history=tab is Tab.HISTORY)
