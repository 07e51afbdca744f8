"""E-Divisive of several traces together: each commit is a point with one coordinate for each trace.

This is the method in the form of Matteson and James (2014): a change that is too small to see in any trace can be plain
in the distance of points. The search and its permutation test are those of one series. The guide page
``detect/e_divisive`` has the mathematics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from knickpoint.detect.measured_series import check_frame, safe_unit
from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.methods.e_divisive.permutation_test import (
    PermutationSettings,
    check_permutations,
    split_while_significant,
)
from knickpoint.detect.methods.e_divisive.split import SearchSettings, check_settings, describe_splits, rescaled
from knickpoint.detect.steps import build_steps
from knickpoint.model.frame import Frame
from knickpoint.model.step import Check, Detection, Step
from knickpoint.native.joint import joint_q
from knickpoint.native.permutation import draw_permutations
from knickpoint.native.q_hat import TIED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from knickpoint.detect.method import Value
    from knickpoint.detect.methods.e_divisive.split import ExaminedSplit

_NAME: Final = "e_divisive_joint"

_BATCH: Final = 32
"""Permutations that are drawn at a time."""

_MEDIAN_DISTANCE: Final = 0.9539
"""The median distance of two values drawn from a normal distribution of variance 1."""

PRESETS: Final[dict[str, dict[str, Value]]] = {
    "ecp": {"minimum_segment": 30, "p": 0.05, "permutations": 199, "scale": "none", "seed": 3},
    "mongodb": {
        "counting": "others",
        "form": "V",
        "minimum_segment": 1,
        "p": 0.05,
        "permutations": 100,
        "scale": "none",
        "scan": "tau",
        "seed": 4,
    },
}
"""The defaults of R's ecp 3.1.6 (``ecp``) and signal-processing-algorithms 2.1.6 (``mongodb``)."""


def _in_noise(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows of ``values`` over their noise, and the noise: a standard deviation that few steps change.

    The noise is estimated from the changes from commit to commit: from their median, or from their squares where most
    changes are 0.
    """
    changes = np.abs(np.diff(values))
    if not changes.size:
        return values, np.zeros((len(values), 1))
    from_median = np.median(changes, axis=1, keepdims=True) / _MEDIAN_DISTANCE
    noise = np.where(from_median > 0, from_median, np.sqrt(np.square(changes).mean(axis=1, keepdims=True) / 2))
    return values / np.where(noise > 0, noise, 1.0), noise


@dataclass(frozen=True, slots=True)
class _Points:
    """A point for each commit: ``values`` is traces x commits, and ``points`` is the same, scaled.

    ``in_noise`` says that the points are scaled by the noise. It is estimated from neighbouring commits, so every
    permutation of the commits is scaled anew.
    """

    values: NDArray[np.float64]
    points: NDArray[np.float64]
    settings: SearchSettings
    in_noise: bool

    @property
    def count(self) -> int:
        return int(self.points.shape[1])

    def _q(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Q of every split of ``points``."""
        settings = self.settings
        return joint_q(
            np.ascontiguousarray(points),
            settings.alpha,
            settings.minimum_segment,
            v_form=settings.v_form,
            both=settings.vary_end,
        )

    def best_split(self, first: int, stop: int) -> tuple[int, float]:
        curve = self._q(self.points[:, first:stop])
        q = float(curve.max(initial=0.0))
        return (int(np.argmax(curve >= q * (1 - TIED))), q) if q > 0 else (0, 0.0)

    def count_extreme(
        self, bounds: list[int], q: float, allowed: int, permutations: PermutationSettings
    ) -> tuple[int, int]:
        extreme = judged = 0
        while judged < permutations.count and extreme <= allowed:
            # Orders of all commits, shuffled inside the clusters.
            numbers = range(judged, min(judged + _BATCH, permutations.count))
            drawn = [
                first + draw_permutations(permutations.seed, len(bounds) - 2, numbers, first, stop - first)
                for first, stop in pairwise(bounds)
            ]
            for order in np.hstack(drawn):
                shuffled = self.values[:, order]
                if self.in_noise:
                    shuffled = _in_noise(shuffled)[0]
                extreme += any(
                    self._q(shuffled[:, first:stop]).max(initial=0.0) >= q for first, stop in pairwise(bounds)
                )
                judged += 1
                if extreme > allowed:
                    break
        return extreme, judged


@dataclass(frozen=True, slots=True)
class _MeasuredPoints:
    """The points that are measured in every trace.

    ``rows`` are the traces and ``columns`` the commits of the frame, ``noise`` is a standard deviation for each trace,
    and values were divided by ``unit``.
    """

    rows: list[int]
    columns: list[int]
    points: _Points
    noise: list[float]
    unit: float


def _measured_points(matrix: NDArray[np.float64], settings: SearchSettings, scale: str) -> _MeasuredPoints:
    """Return the points of the commits at which every trace is measured; a trace that never is takes no part."""
    rows = np.flatnonzero(~np.isnan(matrix).all(axis=1))
    columns = np.flatnonzero(~np.isnan(matrix[rows]).any(axis=0)) if rows.size else np.empty(0, np.int64)
    values = matrix[np.ix_(rows, columns)]
    units = np.array([safe_unit(row) for row in values]).reshape(-1, 1)
    scaled, noise = _in_noise(values / units)
    if scale == "noise":
        points, unit = _Points(values / units, scaled, settings, in_noise=True), 1.0
    else:
        unit = safe_unit(values)
        points = _Points(values / unit, values / unit, settings, in_noise=False)
    return _MeasuredPoints(rows.tolist(), columns.tolist(), points, (noise * units).ravel().tolist(), unit)


def _steps(
    values: NDArray[np.float64], noise: float, accepted: Sequence[ExaminedSplit], columns: list[int]
) -> tuple[Step, ...]:
    """Build the steps of one trace; the evidence ends with the size of each in the noise of the trace."""
    steps = build_steps(
        values,
        [columns[split.index] for split in accepted],
        method=_NAME,
        scores=[split.score for split in accepted],
        p_values=[split.p_value for split in accepted],
        evidence=[split.checks for split in accepted],
    )
    sizes = (Check("size in the noise of the trace", abs(step.size) / noise if noise else 0.0) for step in steps)
    return tuple(replace(step, evidence=(*step.evidence, size)) for step, size in zip(steps, sizes, strict=True))


def detect_e_divisive_joint(
    frame: ArrayLike | Frame,
    *,
    alpha: float = 1.0,
    form: Literal["U", "V"] = "U",
    scan: Literal["tau_kappa", "tau"] = "tau_kappa",
    test: Literal["permutation", "none"] = "permutation",
    p: float = 0.01,
    permutations: int = 199,
    counting: Literal["observed", "others"] = "observed",
    minimum_segment: int = 3,
    maximum_steps: int | None = None,
    seed: int = 0,
    scale: Literal["noise", "none"] = "noise",
) -> list[Detection]:
    """Find where several traces together change level, such as the metrics of one benchmark.

    Returns one detection for each trace: rows, Q, p and candidates are the same for all traces, levels are its own.
    Only commits at which every trace is measured count; a trace that is never measured takes no part. A scan takes
    O(traces x T^2) time and O(traces x T) memory.

    Args:
        frame: traces x commits, ``nan`` for missing.
        alpha: Power of the Euclidean distance of two commits, in (0, 2].
        form: ``U`` averages inner distances over pairs, ``V`` over points squared.
        scan: ``tau_kappa`` also varies where the right block ends; ``tau`` lets it reach to the end.
        test: ``permutation`` shuffles commits inside the clusters; ``none`` accepts up to ``maximum_steps``.
        p: Level of the test.
        permutations: How many; counting stops when the candidate is rejected.
        counting: ``observed`` counts the observed order among them, ``others`` does not.
        minimum_segment: Commits that a block has at least.
        maximum_steps: Stop after so many; None does not.
        seed: Of the permutations.
        scale: ``noise`` divides each trace by its noise, so that units do not matter; ``none`` takes values as they
            are, as the peers do.

    Raises:
        SeriesError: not a matrix of finite or missing numbers.
        InputError: a parameter out of its range, or two that exclude each other.
    """
    settings = SearchSettings(alpha, form == "V", scan == "tau_kappa", minimum_segment, p, maximum_steps)
    shuffles = PermutationSettings(permutations, seed, others_only=counting == "others")
    check_settings(_NAME, settings, test)
    check_permutations(_NAME, settings, shuffles, used=test == "permutation")
    matrix = check_frame(frame.values if isinstance(frame, Frame) else frame)
    measured = _measured_points(matrix, settings, scale)
    examined = [
        rescaled(split, measured.unit, alpha)
        for split in split_while_significant(measured.points, settings, shuffles if test == "permutation" else None)
    ]
    # Every trace has the same splits, with levels of its own.
    accepted = [split for split in examined if split.accepted]
    candidates = describe_splits(examined, measured.columns)
    facts = {"traces together": float(len(measured.rows)), "commits with all of them": float(len(measured.columns))}
    noise = dict(zip(measured.rows, measured.noise, strict=True))
    return [
        Detection(
            _NAME,
            {},
            _steps(matrix[row], noise[row], accepted, measured.columns) if row in noise else (),
            candidates,
            facts,
        )
        for row in range(len(matrix))
    ]


METHOD: Final = Method(
    "e_divisive_joint",
    MethodKind.JOINT,
    detect_e_divisive_joint,
    presets=PRESETS,
    fewest=lambda found: 2 * int(found["minimum_segment"]),
)
