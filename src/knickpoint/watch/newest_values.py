"""Judge the newest value of each trace that changed: the first, provisional sign of a change.

A step needs values after it; the newest value has none. So it is judged against the stable region that it should belong
to (:func:`knickpoint.detect.judge`), each time that results arrive. Most values are unremarkable: a single value is
judged to be a change only if at most 2 % of the region's values stray as far
(:func:`~knickpoint.detect.region_noise.rare_share`) and if it is an outlier among them. Counting decides the first, and
sorting nearly all of the second. The test of outliers itself decides about what is left, and what that calls an outlier
is judged in full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import judge
from knickpoint.detect.judgement import may_be_changes
from knickpoint.detect.outliers import may_be_outlier
from knickpoint.detect.region_noise import rare_share
from knickpoint.model.commit import Line
from knickpoint.model.errors import StoreError
from knickpoint.model.frame import Trace
from knickpoint.model.judged_benchmark import NewestVerdict
from knickpoint.model.step import Verdict
from knickpoint.store import Store, StoreReference, open_reference
from knickpoint.watch.detection.trace_detection import UnreadStore, shard_ids, store_reference
from knickpoint.work import Runner

NEAREST: Final = 200
"""Newest values of the region that a value is judged against: they suffice, and the time of ``judge`` grows with them.
"""

_NO_IDS: Final = np.empty(0, dtype=np.int64)
_BLOCK_BYTES: Final = 64 * 2**20
_SIGNS: Final = frozenset({Verdict.REGRESSED, Verdict.IMPROVED})


def judge_newest(values: NDArray[np.float64], trace: Trace, slot: int) -> NewestVerdict | None:
    """Judge the last of ``values`` (those since the last step, without gaps); None where it is not a change.

    It is compared with the :data:`NEAREST` values before it.
    """
    newest = float(values[-1])
    verdict = judge(values[-NEAREST - 1 : -1], newest, better=trace.better)
    if verdict.verdict not in _SIGNS:
        return None
    return NewestVerdict(
        trace_id=trace.id,
        slot=slot,
        verdict=verdict.verdict,
        value=newest,
        centre=verdict.centre,
        low=verdict.low,
        high=verdict.high,
        relative_size=verdict.relative_size,
        p_value=verdict.p_value,
    )


def remarkable(levels: Sequence[NDArray[np.float64]]) -> list[int]:
    """Return the ``levels`` that end with a value that :func:`judge_newest` may call a change, ascending.

    Each level holds values without gaps, at least one. What is left out is not a change.
    """
    chosen = [
        place
        for place, level in enumerate(levels)
        if level.size > 1
        and _is_rare(level[-NEAREST - 1 : -1], level[-1])
        and may_be_outlier(level[-NEAREST - 1 : -1], level[-1])
    ]
    if not chosen:
        return []
    histories = np.full((len(chosen), min(NEAREST, max(levels[place].size for place in chosen) - 1)), np.nan)
    for history, place in zip(histories, chosen, strict=True):
        region = levels[place][-NEAREST - 1 : -1]
        history[-region.size :] = region
    newest = np.array([levels[place][-1] for place in chosen])
    return [place for place, may in zip(chosen, may_be_changes(histories, newest), strict=True) if may]


def _is_rare(region: NDArray[np.float64], newest: float) -> bool:
    """Return True if few enough values of ``region`` lie as far out as ``newest``, on either side."""
    most = rare_share(region.size) * region.size
    return bool(min((region >= newest).sum(), (region <= newest).sum()) <= most)


def _may_be_changes(values: NDArray[np.floating[Any]], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the rows of ``values`` (traces x commits) whose newest value is rare among the :data:`NEAREST` before it.

    Only values from the columns ``starts`` on count.
    """
    held = ~np.isnan(values) & (np.arange(values.shape[1]) >= starts[:, None])
    from_newest = np.cumsum(held[:, ::-1], axis=1, dtype=np.int32)[:, ::-1]
    region = held & (from_newest > 1) & (from_newest <= NEAREST + 1)
    newest = np.max(values, axis=1, where=held & (from_newest == 1), initial=-np.inf)[:, None]
    above = np.count_nonzero(region & (values >= newest), axis=1)
    below = np.count_nonzero(region & (values <= newest), axis=1)
    sizes = np.count_nonzero(region, axis=1)
    most = np.array([rare_share(size) * size if size else -1.0 for size in range(NEAREST + 1)])
    rows: NDArray[np.int64] = np.flatnonzero(np.minimum(above, below) <= most[sizes])
    return rows


@dataclass(frozen=True, slots=True)
class EarlyVerdicts:
    """Verdicts that were made before a run wrote what it found.

    ``ids`` are the judged traces, ascending, and ``starts`` the positions from which on their levels were taken to go.
    """

    ids: NDArray[np.int64] = field(default_factory=_NO_IDS.copy)
    starts: NDArray[np.int64] = field(default_factory=_NO_IDS.copy)
    verdicts: Mapping[int, NewestVerdict] = field(default_factory=dict)

    def hold(self, ids: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return for which of ``ids`` the verdict holds, as the level begins at the same position in ``starts``."""
        if not self.ids.size:
            return np.zeros(ids.size, dtype=np.bool_)
        rows = np.minimum(np.searchsorted(self.ids, ids), self.ids.size - 1)
        return np.asarray((self.ids[rows] == ids) & (self.starts[rows] == starts), dtype=np.bool_)


def judge_newest_values(
    store: Store, line: Line, trace_ids: NDArray[np.int64], early: EarlyVerdicts | None = None
) -> list[NewestVerdict]:
    """Return the verdicts on the newest values of ``trace_ids`` on ``line``, without those that are unremarkable.

    Traces whose verdict was made ``early``, and whose level begins where it did then, are not judged again.
    """
    early = early or EarlyVerdicts()
    found: list[NewestVerdict] = []
    for ids in store.frames.parts(line, trace_ids, memory=_BLOCK_BYTES):
        starts = level_starts(store, line, ids)
        known = early.hold(ids, starts)
        found += [early.verdicts[key] for key in ids[known].tolist() if key in early.verdicts]
        if not known.all():
            found += judge_newest_since(store, line, ids[~known], starts[~known])
    return found


def judge_newest_since(
    store: Store, line: Line, ids: NDArray[np.int64], starts: NDArray[np.int64]
) -> list[NewestVerdict]:
    """Return the same for traces whose levels begin at the positions ``starts``."""
    values = store.frames.values(line, ids)
    rows = _may_be_changes(values, starts)
    levels = {row: np.asarray(values[row, starts[row] :], dtype=np.float64) for row in rows.tolist()}
    measured = {row: np.flatnonzero(~np.isnan(level)) for row, level in levels.items()}
    rows = rows[remarkable([levels[row][held] for row, held in measured.items()])]
    found: list[NewestVerdict] = []
    for row, trace in zip(rows.tolist(), store.traces.get(ids[rows]), strict=True):
        slot = line.slots[int(starts[row]) + int(measured[row][-1])]
        verdict = judge_newest(levels[row][measured[row]], trace, slot)
        found += [verdict] if verdict else []
    return found


def level_starts(store: Store, line: Line, ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position on ``line`` at which the current level of each of ``ids``, ascending, begins."""
    starts = np.zeros(ids.size, dtype=np.int64)
    for trace, slots in store.findings.slots(ids.tolist()).items():
        starts[np.searchsorted(ids, trace)] = max(line.positions.get(slot, 0) for slot in slots)
    return starts


# Judge newest values where a runner works, before a run writes what it found.
#
# A run judges the newest value of a trace against the level that begins at its last change point, which it knows when
# it has written. Most traces have no other change point then than before. So workers judge all of them from the levels
# of before, and the run judges those whose level has changed (:class:`~knickpoint.watch.newest_values.EarlyVerdicts`).


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
    """Return verdicts on ``trace_ids``, ascending, from where ``runner`` works.

    None if it works here, or reads no store.
    """
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
