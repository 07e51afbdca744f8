"""The search of the default method in NumPy: the fallback, and the oracle of the tests.

``segmentation.c`` does the same in the same order of operations, and so do the files of the stages, which have the
names of their twins here. In both, a *place* is the first point of a new level, and *noise* is a standard deviation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.forest import Forest
from knickpoint.native.forest.reference import judge
from knickpoint.native.segmentation.constants import SHORTEST, TIE
from knickpoint.native.segmentation.feature_names import FEATURE_NAMES
from knickpoint.native.segmentation.features import describe
from knickpoint.native.segmentation.noise import Array, Series, study_values
from knickpoint.native.segmentation.paths import find_candidates
from knickpoint.native.segmentation.places import place_candidates, relocate
from knickpoint.native.segmentation.proof import certainty, prove
from knickpoint.native.segmentation.result import Segmentation, Segmentations

_T, _RANK = (FEATURE_NAMES.index(f"{name} less chance and autocorrelation") for name in ("t", "rank z"))


@dataclass(frozen=True, slots=True)
class _Row:
    """Hold what an examined candidate is judged by, and its log-odds."""

    features: Array
    proof: Array
    score: float


def _judge(forest: Forest, features: Array) -> float:
    """Return the log-odds that a candidate is a change.

    Without trees a rule judges, on which the first forest is learnt.
    """
    if forest.root.size:
        return judge(forest, features)
    return float(min(features[_T], features[_RANK] / 0.75))


def _examine(series: Series, forest: Forest, places: Sequence[int], i: int) -> _Row:
    """Describe and judge candidate ``i``."""
    features, proof = describe(series, places, i), prove(series, places, i)
    return _Row(features, proof, _judge(forest, features) + certainty(proof))


def _weakest(scores: Sequence[float]) -> int:
    """Return the row with the least score, the first of equal ones."""
    least = min(scores)
    return next(row for row, score in enumerate(scores) if score <= least + TIE)


def segment(
    values: Array,
    forest: Forest,
    threshold: float,
    whole_path: bool,  # noqa: FBT001
    begun: Segmentation | None = None,
) -> Segmentation:
    """Find candidates and drop the weakest until all reach ``threshold``.

    See :func:`knickpoint.native.segmentation.segment`. What has ``begun`` is only searched again here.
    """
    del begun
    written: list[tuple[int, int, _Row]] = []
    n = values.size
    ordered = np.sort(values)
    scale = study_values(values, ordered) if n >= 2 * SHORTEST else 0.0
    series = None
    if scale > 0:
        series, candidates = find_candidates(values, ordered, scale)
        places = place_candidates(series, candidates)
        held = [_examine(series, forest, places, k) for k in range(len(places))]
        rounds = 0
        while places and held[weakest := _weakest([row.score for row in held])].score < threshold:
            shown = range(len(places)) if whole_path else [weakest]
            written.extend((rounds, places[k], held[k]) for k in shown)
            rounds += 1
            del places[weakest], held[weakest]
            # The neighbours have new levels beside them: one on each side moves, two on each side change their features
            for k in range(max(weakest - 1, 0), min(weakest + 1, len(places))):
                relocate(series, places, k)
            for k in range(max(weakest - 2, 0), min(weakest + 2, len(places))):
                held[k] = _examine(series, forest, places, k)
        written.extend((-1, place, row) for place, row in zip(places, held, strict=True))
    rows = [row for _, _, row in written]
    features, proofs = (np.array([getattr(row, name) for row in rows]) for name in ("features", "proof"))
    return Segmentation(
        rounds=np.array([number for number, _, _ in written], np.int32),
        indices=np.array([place for _, place, _ in written], np.int32),
        scores=np.array([row.score for row in rows]),
        features=features.reshape(len(rows), -1) if rows else np.zeros((0, 0)),
        proofs=proofs.reshape(len(rows), 4),
        facts=(series.scale, series.phi, series.square, series.tail) if series else (0.0, 0.0, 0.0, 0.0),
    )


def segment_many(values: Array, ends: NDArray[np.int64], forest: Forest, thresholds: Array) -> Segmentations:
    """Segment series that lie end to end; ``ends`` has where each ends, and ``thresholds`` one for each."""
    begins = [0, *ends[:-1].tolist()]
    found = [
        segment(values[begin:end], forest, threshold, whole_path=False)
        for begin, end, threshold in zip(begins, ends.tolist(), thresholds.tolist(), strict=False)
    ]
    stay = np.array([np.count_nonzero(each.rounds < 0) for each in found], np.int64)
    return Segmentations(stay, np.array([each.facts for each in found]).reshape(-1, 4), found.__getitem__)
