"""Know which traces an alert judges as a group: those with the same values of its ``group_by`` params."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import judges_groups
from knickpoint.model.alert import Alert
from knickpoint.model.frame import Trace
from knickpoint.model.params import values_in_key
from knickpoint.store import Store

__all__ = ["GroupKey", "depends_on_group", "group_key", "whole_groups"]

GroupKey = tuple[str, ...]
"""Values of the params that an alert groups by, in their order."""


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
