"""Detect with one alert: read values in blocks, run the method on each trace, and describe what it found.

A runner whose workers reach the store gets the ids of traces, and its workers read them
(:mod:`knickpoint.watch.detection.stored_shards`); others get shards of values. Methods that judge groups get whole
groups (:mod:`knickpoint.watch.detection.clusters`).
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import judges_groups
from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line
from knickpoint.store import Store, StoreReference
from knickpoint.watch.detection.alert_settings import find_reference, method_parameters
from knickpoint.watch.detection.clusters import detect_group, group_ids
from knickpoint.watch.detection.commit_values import block_bytes
from knickpoint.watch.detection.digests import Digester
from knickpoint.watch.detection.judged_rows import (
    AlertsOnLine,
    JudgedRows,
    Rows,
    Shard,
    cut_rows,
    detect_shard,
)
from knickpoint.watch.detection.stored_shards import (
    LEAST_TRACES,
    SharedWindows,
    StoredShard,
    UnreadStore,
    judge_stored_shard,
    shard_ids,
    store_reference,
)
from knickpoint.watch.lines import Lines
from knickpoint.work import Place, Runner

_LOG: Final = logging.getLogger("knickpoint.watch")

_BLOCK_BYTES: Final = 256 * 2**20

_SHARD_BYTES: Final = 64 * 2**20

_SHARD: Final = 256
"""Traces whose values are sent to another process or machine at a time."""


def detection_key(alert: Alert) -> Hashable:
    """Return the key of the detection of ``alert``: alerts on one line with equal keys find the same steps in a trace.

    Alerts that judge groups, and alerts with a window, which depends on what they know, share with no other.
    """
    if judges_groups(alert.method) or alert.window:
        return alert.name
    return (
        alert.method,
        tuple(sorted(method_parameters(alert).items())),
        alert.settle_rule,
        alert.samples,
        alert.summary,
        alert.since,
    )


def detect_traces(
    store: Store, alerts: Sequence[Alert], line: Line, trace_ids: NDArray[np.int64], *, lines: Lines, runner: Runner
) -> Iterator[JudgedRows]:
    """Yield what each of ``alerts`` finds in ``trace_ids``, some rows at a time, before its filters.

    Nothing is written.

    The alerts have one :func:`detection_key`, so that one detection serves all of them. Traces come in their order,
    those of methods that judge groups in the order of the groups; where some workers cannot read the store, the traces
    that they were given come at the end. Errors are those of :func:`knickpoint.detect.find_steps_many` and
    :func:`.find_reference`.
    """
    digesters = [Digester(alert, line, lines) for alert in alerts]
    context = AlertsOnLine(alerts, line, lines, digesters, find_reference(alerts[0], line, lines))
    if judges_groups(context.alert.method):
        yield from _detect_together(store, context, trace_ids, runner)
        return
    reference = store_reference(store, runner)
    if reference is None:
        yield from _detect_values(store, context, trace_ids, runner)
    else:
        yield from _detect_stored(store, context, trace_ids, runner, reference)


def _detect_together(
    store: Store, context: AlertsOnLine, trace_ids: NDArray[np.int64], runner: Runner
) -> Iterator[JudgedRows]:
    """Detect in groups whose traces are judged together: workers that reach the store take whole groups.

    Of a single large group, workers of other machines take windows. The cores of this machine share the rows of each
    window.
    """
    groups = group_ids(store, context.alert, trace_ids)
    if len(groups) == 1 and len(groups[0]) >= LEAST_TRACES and runner.place is Place.CLUSTER:
        yield from _detect_in_windows(store, context, groups[0], runner)
        return
    reference = store_reference(store, runner) if len(groups) > 1 else None
    if reference is not None:
        lines = context.lines.with_bases(context.line)
        shards = (
            StoredShard(
                reference,
                context.alerts,
                lines,
                context.digesters,
                np.array(ids, dtype=np.int64),
                None,
                drifts_since=context.reference,
            )
            for ids in groups
        )
        judged = runner.map(judge_stored_shard, shards)
        runner.unread = ""
    for ids in groups:
        found = next(judged) if reference is not None else None
        if isinstance(found, UnreadStore):
            runner.unread = found.reason
        if not isinstance(found, JudgedRows):
            found = context.judged_group(detect_group(store, context.alert, context.line, ids))
        yield found


def _detect_in_windows(store: Store, context: AlertsOnLine, ids: Sequence[int], runner: Runner) -> Iterator[JudgedRows]:
    """Detect in a group whose windows are clustered by the workers that reach the store, and here without any."""
    alert, line = context.alert, context.line
    reference = store_reference(store, runner)
    if reference is None:
        found = detect_group(store, alert, line, ids)
    else:
        shared = SharedWindows(runner, reference, alert, line, np.array(ids, dtype=np.int64))
        found = detect_group(store, alert, line, ids, shared)
    yield context.judged_group(found)


def _detect_values(
    store: Store, context: AlertsOnLine, trace_ids: NDArray[np.int64], runner: Runner
) -> Iterator[JudgedRows]:
    """Read the values here, and send them to where they are judged."""
    alert = context.alert
    under_way: deque[Rows] = deque()

    def shards() -> Iterator[Shard]:
        for frame in store.frames.blocks(context.line, trace_ids, memory=block_bytes(alert, _BLOCK_BYTES)):
            # Everything at once, where the runner works in this process.
            for rows in cut_rows(store, alert, frame, len(frame.traces) if runner.cores == 0 else _SHARD):
                under_way.append(rows)
                yield context.shard(rows, runner.cores or None)

    # The runner takes shards ahead of the results that it gives back, and keeps their order.
    for detected in runner.map(detect_shard, shards()):
        yield context.judged(under_way.popleft(), detected)


def _detect_stored(
    store: Store, context: AlertsOnLine, trace_ids: NDArray[np.int64], runner: Runner, reference: StoreReference
) -> Iterator[JudgedRows]:
    """Have the workers read the values; what they cannot read is sent to them."""
    under_way: deque[NDArray[np.int64]] = deque()
    unread: list[NDArray[np.int64]] = []

    def shards() -> Iterator[StoredShard]:
        lines = context.lines.with_bases(context.line)
        memory = block_bytes(context.alert, _SHARD_BYTES)
        for ids in shard_ids(trace_ids):
            for part in store.frames.parts(context.line, ids, memory=memory):
                if unread:
                    unread.append(part)
                    continue
                under_way.append(part)
                yield StoredShard(
                    reference,
                    context.alerts,
                    lines,
                    context.digesters,
                    part,
                    runner.cores or None,
                    drifts_since=context.reference,
                )

    runner.unread = ""
    for judged in runner.map(judge_stored_shard, shards()):
        ids = under_way.popleft()
        if isinstance(judged, UnreadStore):
            if not unread:
                _LOG.warning("values are sent to the workers, as one cannot read the store: %s", judged.reason)
                runner.unread = judged.reason
            unread.append(ids)
        else:
            yield judged
    if unread:
        yield from _detect_values(store, context, np.sort(np.concatenate(unread)), runner)
