"""Group traces by shape, and fit a step to the centroid of each cluster.

The method of Skia Perf: bring each trace to mean 0 and standard deviation 1, group the traces by k-means with Euclidean
distance, and fit a step to the mean shape of each group, its centroid. A step that many traces share stands out of the
centroid even where noise hides it in each trace. The guide page ``docs/guide/detect/cluster.md`` has the formulas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from knickpoint.detect.measured_series import available_threads
from knickpoint.detect.method import Method, MethodKind, Value
from knickpoint.detect.methods.cluster.kmeans import (
    as_matrix,
    automatic_k,
    k_means,
    normalise,
    random_start,
    skia_iterations,
)
from knickpoint.detect.steps import build_step
from knickpoint.detect.window_fits.fit_skia import fit_as_skia
from knickpoint.detect.window_fits.rules import (
    Rule,
    apply_rule,
    apply_rule_as_skia,
    explain_window,
    read_rule,
    simple_rules,
)
from knickpoint.detect.window_fits.windows import HalfWindows, too_much_missing
from knickpoint.model.cluster import Cluster
from knickpoint.model.errors import InputError
from knickpoint.model.frame import Frame
from knickpoint.model.step import Check
from knickpoint.native.kmeans import lloyd
from knickpoint.progress import Stage, report_progress

PRESETS: Final[dict[str, dict[str, Value]]] = {
    "skia": {"compatible": True, "interesting": 50.0, "floor": 0.001, "minimum_measured": 0.0}
}
"""``skia``: start (with a seed), end of the iterations and fit at the middle commit as in Skia Perf."""

_NOISELESS: Final = 1e-3
"""Errors of fit below this share of a standard deviation are rounding of single precision."""


def _best_step(centroid: NDArray[np.float64], edge: int) -> tuple[int, float]:
    """Return the index that divides ``centroid`` best, at least ``edge`` from both ends, and size / error there.

    The error of the fit at an index is the standard deviation that the two means leave. Index 0 is not a step.
    """
    count = centroid.size
    indices = np.arange(max(edge, 1), count - max(edge, 1) + 1)
    if not indices.size:
        return 0, 0.0
    sums = np.cumsum(centroid)
    before = sums[indices - 1] / indices
    after = (sums[-1] - sums[indices - 1]) / (count - indices)
    step = after - before
    total = float(np.square(centroid - centroid.mean()).sum())
    explained = step * step * indices * (count - indices) / count
    error = np.sqrt(np.maximum(total - explained, 0.0) / count)
    ratio = step / np.maximum(error, _NOISELESS)
    best = int(np.argmax(np.abs(ratio)))
    return int(indices[best]), float(ratio[best])


@dataclass(frozen=True, slots=True)
class _Criteria:
    """What makes a cluster interesting."""

    edge: int
    floor: float
    interesting: float
    minimum_members: int
    rule: Rule | None
    compatible: bool

    def step(self, centroid: NDArray[np.float32]) -> tuple[int, float]:
        """Return the index of the step of ``centroid``, 0 for none, and size / error there."""
        if not self.compatible:
            return _best_step(centroid.astype(np.float64), self.edge)
        fit = fit_as_skia(centroid[None, :], "original", 0.0, floor=self.floor)
        return (fit.middle, float(fit.value[0])) if fit.defined[0] else (0, 0.0)

    def judge_step(
        self, centroid: NDArray[np.float32], index: int, regression: float
    ) -> tuple[float, bool, tuple[Check, ...]]:
        """Return the signed strength of the step at ``index``, whether it counts, and the checks that say why.

        A rule looks at as many commits before ``index`` as from it on, or at all of them as Skia does. Where there
        are too few commits for a step, none counts.
        """
        strength = Check("step / error of the fit", abs(regression))
        if not index:
            return regression, False, (Check("places for a step", 0.0, ">=", 1.0, passed=False), strength)
        if self.rule is None:
            passed = abs(regression) >= self.interesting
            return regression, passed, (replace(strength, relation=">=", bound=self.interesting, passed=passed),)
        if self.compatible:
            result = apply_rule_as_skia(centroid[None, :], self.rule, floor=self.floor)
            regression = result.value(0) if result.decisive[0] >= 0 else regression
        else:
            reach = min(index, centroid.size - index)
            around = centroid[index - reach : index + reach].astype(np.float64)
            result = apply_rule(HalfWindows(around, reach), self.rule, floor=self.floor)
        return regression, bool(result.movement[0]), (*explain_window(self.rule, result, 0), strength)


def _rule_of(text: str, *, compatible: bool) -> Rule | None:
    if not text:
        return None
    rule = read_rule(text)
    shares = [simple.kind for simple in simple_rules(rule) if simple.kind.startswith("percent")]
    if shares and not compatible:
        raise InputError(
            f"{shares[0]} divides by a level, and that of a centroid is 0",
            where="rule",
            remedy="Use cohen, absolute (in standard deviations), stepiness or mann_whitney_u.",
        )
    return rule


def _build_cluster(
    rows: NDArray[np.int64],
    distances: NDArray[np.float64],
    centroid: NDArray[np.float32],
    keys: Sequence[str],
    criteria: _Criteria,
) -> Cluster:
    """Build the cluster whose members are ``rows``, at ``distances`` from the ``centroid``."""
    order = np.lexsort((rows, distances))
    members = tuple(rows[order].tolist())
    member_keys = tuple(keys[row] for row in members) if keys else ()
    index, regression = criteria.step(centroid)
    regression, counts, checks = criteria.judge_step(centroid, index, regression)
    enough = len(members) >= criteria.minimum_members
    evidence = (*checks, Check("traces", float(len(members)), ">=", float(criteria.minimum_members), passed=enough))
    step = None
    if index:
        step = build_step(
            centroid.astype(np.float64), index, method="cluster", score=abs(regression), evidence=evidence
        )
    return Cluster(
        centroid=centroid,
        members=members,
        distances=tuple(distances[order].tolist()),
        keys=member_keys,
        step=step,
        regression=regression,
        interesting=step is not None and counts and enough,
        evidence=evidence,
    )


def _k_means(
    shapes: NDArray[np.float32], k: int, seed: int, threads: int, *, compatible: bool
) -> tuple[NDArray[np.float32], NDArray[np.int32], NDArray[np.float64]]:
    """Return the centroids, the label of each row, and its distance to its centroid."""
    if compatible:
        centroids = skia_iterations(shapes, random_start(shapes, k, seed))[-1].centroids
        found = lloyd(shapes, centroids, iterations=0, threads=threads)
    else:
        found = k_means(shapes, k, seed, threads=threads)
    return found.centroids, found.labels, found.distances


def _values_and_keys(
    frame: ArrayLike | Frame, keys: Iterable[str] | None
) -> tuple[NDArray[np.floating], Sequence[str]]:
    """Return the matrix of ``frame``, and the trace keys of its rows, none where there are none."""
    values = as_matrix(frame.values if isinstance(frame, Frame) else frame)
    if keys is None:
        return values, [trace.key for trace in frame.traces] if isinstance(frame, Frame) else []
    names = list(keys)
    if len(names) != len(values):
        raise InputError(f"there are {len(names)} keys for {len(values)} traces", remedy="Give one key for each row.")
    return values, names


def _check_parameters(
    *,
    k: int,
    seed: int,
    interesting: float,
    minimum_members: int,
    minimum_measured: float,
    edge: int,
    floor: float,
    threads: int | None,
) -> None:
    """Raise ``InputError`` where a number is out of its range."""
    if threads is not None and threads < 1:
        raise InputError(f"threads is {threads}", remedy="Give 1 or more, or leave it out to use every core.")
    if seed < 0 or not (interesting >= 0 and floor >= 0 and 0 <= minimum_measured <= 1):
        raise InputError(
            f"seed is {seed}, interesting {interesting:g}, floor {floor:g} and minimum_measured {minimum_measured:g}",
            remedy="Give numbers of 0 or more, and minimum_measured up to 1.",
        )
    if k < 0 or edge < 1 or minimum_members < 1:
        raise InputError(
            f"k is {k}, edge {edge} and minimum_members {minimum_members}",
            remedy="Give k of 0 or more, and edge and minimum_members of 1 or more.",
        )


def detect_cluster(
    frame: ArrayLike | Frame,
    keys: Iterable[str] | None = None,
    *,
    k: int = 0,
    seed: int = 0,
    interesting: float = 4.0,
    rule: str = "",
    minimum_members: int = 1,
    minimum_measured: float = 0.5,
    edge: int = 5,
    floor: float = 1e-4,
    threads: int | None = None,
    compatible: bool = False,
) -> list[Cluster]:
    """Return the clusters of traces of one shape, those with the strongest step first.

    Args:
        frame: traces x commits, ``nan`` for missing.
        keys: the trace keys of the rows, for the summary of params; those of the frame by default.
        k: how many clusters to look for, 0 to choose by the number of traces (:func:`automatic_k`).
            Fewer come back when fewer shapes differ, or a cluster loses all its members.
        seed: of the starting centroids; the same seed gives the same clusters.
        interesting: smallest |step / error of the fit| of the centroid that counts as a step.
        rule: kinds of step fit joined by ``and`` and ``or``, which the centroid has to pass instead of ``interesting``.
        minimum_members: smallest number of traces that have to move together.
        minimum_measured: traces with a smaller share of measured commits belong to no cluster.
        edge: commits at either end in which no step is looked for.
        floor: a standard deviation below this share of the level counts as no noise.
        threads: how many to use, None for every core; the answer is the same.
        compatible: start, stop and fit as Skia Perf does; ``floor`` is then absolute, a value beyond single precision
            is missing, and traces whose middle value is missing, or more than half of one side, belong to no cluster.

    Raises:
        SeriesError: not a matrix of finite or missing numbers.
        InputError: the number of keys is not that of the traces, or a parameter is out of its range.
    """
    _check_parameters(
        k=k,
        seed=seed,
        interesting=interesting,
        minimum_members=minimum_members,
        minimum_measured=minimum_measured,
        edge=edge,
        floor=floor,
        threads=threads,
    )
    criteria = _Criteria(edge, floor, interesting, minimum_members, _rule_of(rule, compatible=compatible), compatible)
    values, names = _values_and_keys(frame, keys)
    # Shapes: every trace with mean 0 and standard deviation 1.
    if compatible:
        beyond = (np.abs(values) > np.finfo(np.float32).max) & ~np.isinf(values)
        values = np.where(beyond, np.nan, values)
    shapes = normalise(values, floor=floor, compatible=compatible, threads=threads or available_threads())
    if not shapes.size:
        return []
    # Traces with enough measured commits take part.
    measured_enough = np.count_nonzero(~np.isnan(values), axis=1) >= minimum_measured * values.shape[1]
    if compatible:
        measured_enough &= ~too_much_missing(values, compatible=True)
    rows = np.flatnonzero(measured_enough).astype(np.int64)
    if not rows.size:
        return []
    # Groups of one shape, and a step for the centroid of each.
    wanted = min(k or automatic_k(len(rows), compatible=compatible), len(rows))
    centroids, labels, distances = _k_means(
        shapes if rows.size == len(shapes) else shapes[rows],
        wanted,
        seed,
        threads or available_threads(),
        compatible=compatible,
    )
    report_progress(Stage.FITTING)
    by_label = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[by_label], np.arange(len(centroids) + 1))
    clusters = [
        _build_cluster(rows[part], distances[part], centroids[label], names, criteria)
        for label in range(len(centroids))
        if (part := by_label[bounds[label] : bounds[label + 1]]).size
    ]
    return sorted(clusters, key=lambda cluster: (-abs(cluster.regression), cluster.members[0]))


METHOD: Final = Method("cluster", MethodKind.GROUP, detect_cluster, presets=PRESETS)
