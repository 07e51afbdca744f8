"""Judge newest values where a runner works, before a run writes what it found.

A run judges the newest value of a trace against the level that begins at its last change point, which it knows when it has
written. Most traces have no other change point then than before. So workers judge all of them from the levels of before, and the run
judges those whose level has changed (:class:`~knickpoint.watch.newest_values.EarlyVerdicts`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Line
from knickpoint.model.errors import StoreError
from knickpoint.model.judgement import NewestVerdict
from knickpoint.store import Store, StoreReference, open_reference
from knickpoint.watch.detection.stored_shards import UnreadStore, shard_ids, store_reference
from knickpoint.watch.newest_values import EarlyVerdicts, judge_newest_since, level_starts
from knickpoint.work import Runner

__all__ = ["NewestShard", "judge_newest_early", "judge_newest_shard"]

_TIMES: Final = 4
"""How much larger a shard is than one of detection, which takes ten times as long for a trace."""

_SHARD_BYTES: Final = 64 * 2**20


@dataclass(frozen=True, slots=True)
class NewestShard:
    """Traces of a store, by id, and the positions on ``line`` at which their levels begin."""

    store: StoreReference
    line: Line
    trace_ids: NDArray[np.int64]
    starts: NDArray[np.int64]


def judge_newest_shard(shard: NewestShard) -> list[NewestVerdict] | UnreadStore:
    """Return the verdicts on the newest values of ``shard``, without those that are unremarkable.

    Raises:
        StoreError: the store was lost while it was read.
    """
    try:
        store = open_reference(shard.store)
    except StoreError as error:
        return UnreadStore(str(error))
    return judge_newest_since(store, shard.line, shard.trace_ids, shard.starts)


def judge_newest_early(store: Store, line: Line, trace_ids: NDArray[np.int64], runner: Runner) -> EarlyVerdicts:
    """Return verdicts on ``trace_ids``, ascending, from where ``runner`` works; none if it works here, or reads no store."""
    reference = store_reference(store, runner)
    if reference is None or not trace_ids.size:
        return EarlyVerdicts()
    shards: list[NewestShard] = []

    def sent() -> Iterator[NewestShard]:
        wanted = shard_ids(trace_ids, times=_TIMES)
        for ids in chain.from_iterable(store.frames.parts(line, shard, memory=_SHARD_BYTES) for shard in wanted):
            shards.append(NewestShard(reference, line, ids, level_starts(store, line, ids)))
            yield shards[-1]

    judged: list[NewestShard] = []
    verdicts: dict[int, NewestVerdict] = {}
    for number, found in enumerate(runner.map(judge_newest_shard, sent())):
        if not isinstance(found, UnreadStore):
            judged.append(shards[number])
            verdicts |= {verdict.trace_id: verdict for verdict in found}
    if not judged:
        return EarlyVerdicts()
    return EarlyVerdicts(
        np.concatenate([shard.trace_ids for shard in judged]),
        np.concatenate([shard.starts for shard in judged]),
        verdicts,
    )
