"""Publish which traces a write changed: the last stage of a write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from knickpoint.model.commit import Repository
from knickpoint.store.events.outbox import Outbox
from knickpoint.store.events.packed_ids import pack_ids
from knickpoint.store.events.payloads import MOST_LISTED, TracesChanged
from knickpoint.store.points.write_plan import WritePlan

__all__ = ["publish_changes"]

_IDS_IN_EVENT: Final = 40_000
"""Traces that one event names unless they are neighbours; so it stays below 256 KiB, whichever they are."""


def publish_changes(outbox: Outbox, repository: Repository, plan: WritePlan, run_ids: Sequence[int]) -> None:
    """Publish ``traces-changed`` for the traces of a plan: one event, or several where they are very many."""
    ids = plan.touched
    if not len(ids):
        return
    neighbours = int(ids[-1]) - int(ids[0]) + 1 == len(ids)
    at_once = len(ids) if neighbours else _IDS_IN_EVENT
    template = plan.commits[0].template if len(plan.commits) == 1 else None
    if template is not None and len(ids) <= at_once:
        named = [template.event_ids]
    else:
        named = [pack_ids(ids[begin : begin + at_once]) for begin in range(0, len(ids), at_once)]
    slots = plan.slots
    truncated = max(len(slots), len(run_ids)) > MOST_LISTED
    for traces in named:
        listed = slots[:MOST_LISTED], run_ids[:MOST_LISTED]
        outbox.publish(TracesChanged(repository.name, *listed, traces, truncated=truncated))
