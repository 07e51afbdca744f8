"""Know which traces an alert watches, and which of them it judges as a group.

A group has the same values of the params in ``group_by``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import judges_groups
from knickpoint.model.alert import Alert, AlertKind
from knickpoint.model.commit import Repository
from knickpoint.model.frame import Trace
from knickpoint.model.params import values_in_key
from knickpoint.model.query import parse_query
from knickpoint.store import Store

__all__ = ["GroupKey", "depends_on_group", "group_key", "watched_traces", "whole_groups"]

GroupKey = tuple[str, ...]
"""Values of the params that an alert groups by, in their order."""


def watched_traces(store: Store, alert: Alert, repository: Repository) -> NDArray[np.int64]:
    """Return the ids of the traces of ``repository`` that ``alert`` watches, sorted.

    An alert without a query leaves out the traces of canary alerts: that a machine moved is no work. An alert whose query
    matches canaries watches them.

    Raises:
        QueryError: a query cannot be read.
    """
    if alert.repository not in {"", repository.name}:
        return np.empty(0, dtype=np.int64)
    ids = store.traces.select(repository, parse_query(alert.query))
    if alert.query.strip() or alert.kind is AlertKind.CANARY:
        return ids
    for canary in store.findings.alerts_in_force.all().values():
        if canary.kind is AlertKind.CANARY and canary.query.strip() and canary.repository in {"", repository.name}:
            ids = np.setdiff1d(ids, store.traces.select(repository, parse_query(canary.query)), assume_unique=True)
    return ids


def group_key(alert: Alert, trace: Trace) -> GroupKey:
    """Return the values of the params that ``alert`` groups by, "" where the trace has none."""
    return values_in_key(trace.key, alert.group_by)


def depends_on_group(alert: Alert) -> bool:
    """Return whether what ``alert`` reports of a trace depends on the other traces of its group."""
    return alert.minimum_traces > 1 or judges_groups(alert.method)


def whole_groups(store: Store, alert: Alert, ids: NDArray[np.int64], touched: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of ``ids`` that are ``touched``, with the rest of their groups where these count for ``alert``.

    Both are sorted, without repetition. The time grows with ``touched``, not with ``ids``, where no group counts.
    """
    places = np.searchsorted(ids, touched)
    chosen: NDArray[np.int64] = touched[places < ids.size]
    chosen = chosen[ids[places[: chosen.size]] == chosen]
    if not depends_on_group(alert) or not chosen.size:
        return chosen
    keys = [group_key(alert, trace) for trace in store.traces.get(ids)]
    wanted = {keys[row] for row in np.flatnonzero(np.isin(ids, chosen)).tolist()}
    return ids[[key in wanted for key in keys]]
