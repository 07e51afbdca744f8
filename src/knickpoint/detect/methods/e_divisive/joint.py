"""E-Divisive of several traces together: a commit is a point with a number for each, and a step moves the points.

That is the method as Matteson and James have it. The guide page ``detect/e_divisive`` has the mathematics.
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
from knickpoint.detect.methods.e_divisive.split import SearchSettings, check_search, describe, rescaled
from knickpoint.detect.steps import build_steps
from knickpoint.model.frame import Frame
from knickpoint.model.step import Check, Detection, Step
from knickpoint.native.joint import joint_q
from knickpoint.native.permutation import draw_permutations
from knickpoint.native.q_hat import TIED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from knickpoint.detect.methods.e_divisive.split import ExaminedSplit
    from knickpoint.detect.parameters import Value

__all__ = ["METHOD", "PRESETS", "detect_e_divisive_joint"]

_NAME: Final = "e_divisive_joint"

_BATCH: Final = 32
"""Permutations that are drawn at a time."""

_APART: Final = 0.9539
"""The median distance of two values drawn from a normal law of variance 1."""

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
"""What R's ecp 3.1.6 and signal-processing-algorithms 2.1.6 do by themselves."""


@dataclass(frozen=True, slots=True)
class _Points:
    """Hold a point for each commit; ``values`` is traces x commits, and ``points`` is the same, scaled.

    Noise is what values of neighbouring commits differ by, so every order of the commits is scaled anew.
    """

    values: NDArray[np.float64]
    points: NDArray[np.float64]
    search: SearchSettings
    in_noise: bool

    @property
    def count(self) -> int:
        return int(self.points.shape[1])

    def _curve(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        part, search = np.ascontiguousarray(points), self.search
        return joint_q(part, search.alpha, search.least, v_form=search.v_form, both=search.both)

    def best_split(self, first: int, stop: int) -> tuple[int, float]:
        curve = self._curve(self.points[:, first:stop])
        q = float(curve.max(initial=0.0))
        return (int(np.argmax(curve >= q * (1 - TIED))), q) if q > 0 else (0, 0.0)

    def reached(self, bounds: list[int], reach: float, allowed: int, shuffling: PermutationSettings) -> tuple[int, int]:
        hits = judged = 0
        while judged < shuffling.permutations and hits <= allowed:
            numbers = range(judged, min(judged + _BATCH, shuffling.permutations))
            drawn = [
                first + draw_permutations(shuffling.seed, len(bounds) - 2, numbers, first, stop - first)
                for first, stop in pairwise(bounds)
            ]
            for order in np.hstack(drawn):
                shuffled = self.values[:, order]
                if self.in_noise:
                    shuffled = _in_noise(shuffled)[0]
                hits += any(
                    self._curve(shuffled[:, first:stop]).max(initial=0.0) >= reach for first, stop in pairwise(bounds)
                )
                judged += 1
                if hits > allowed:
                    break
        return hits, judged


@dataclass(frozen=True, slots=True)
class _Measured:
    """Hold what is measured everywhere: the ``rows`` of traces, the ``columns`` of commits, and the points of both.

    ``noise`` is a standard deviation for each trace; values were divided by ``unit``.
    """

    rows: list[int]
    columns: list[int]
    points: _Points
    noise: list[float]
    unit: float


def _in_noise(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the rows of ``values`` over their noise, and the noise: a standard deviation that few steps change.

    It is that of the changes from commit to commit: from their median, or where most are 0 from their squares.
    """
    changes = np.abs(np.diff(values))
    if not changes.size:
        return values, np.zeros((len(values), 1))
    middle = np.median(changes, axis=1, keepdims=True) / _APART
    noise = np.where(middle > 0, middle, np.sqrt(np.square(changes).mean(axis=1, keepdims=True) / 2))
    return values / np.where(noise > 0, noise, 1.0), noise


def _read(matrix: NDArray[np.float64], search: SearchSettings, scale: str) -> _Measured:
    rows = np.flatnonzero(~np.isnan(matrix).all(axis=1))
    columns = np.flatnonzero(~np.isnan(matrix[rows]).any(axis=0)) if rows.size else np.empty(0, np.int64)
    given = matrix[np.ix_(rows, columns)]
    units = np.array([safe_unit(row) for row in given]).reshape(-1, 1)
    points, noise = _in_noise(given / units)
    if scale == "noise":
        read, unit = _Points(given / units, points, search, in_noise=True), 1.0
    else:
        unit = safe_unit(given)
        read = _Points(given / unit, given / unit, search, in_noise=False)
    return _Measured(rows.tolist(), columns.tolist(), read, (noise * units).ravel().tolist(), unit)


def _with_size(step: Step, noise: float) -> Step:
    """Return ``step`` with its size in the noise of the trace, which says what the trace had to do with it."""
    size = Check("size in the noise of the trace", abs(step.size) / noise if noise else 0.0)
    return replace(step, evidence=(*step.evidence, size))


def _steps(
    values: NDArray[np.float64], noise: float, found: Sequence[ExaminedSplit], columns: list[int]
) -> tuple[Step, ...]:
    steps = build_steps(
        values,
        [columns[place.index] for place in found],
        method=_NAME,
        scores=[place.score for place in found],
        p_values=[place.p_value for place in found],
        evidence=[place.checks for place in found],
    )
    return tuple(_with_size(step, noise) for step in steps)


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

    Returns one detection a trace: places, Q, p and candidates are of all traces, levels of its own. A commit counts
    where every trace is measured; a trace that never is takes no part. A scan takes O(traces x T^2) time and
    O(traces x T) memory.

    Args:
        frame: traces x commits, ``nan`` for missing.
        alpha: Power of the Euclidean distance of two commits, in (0, 2].
        form: ``U`` averages inner distances over pairs, ``V`` over points squared.
        scan: ``tau_kappa`` also varies where the right block ends; ``tau`` lets it reach to the end.
        test: ``permutation`` shuffles commits inside the clusters; ``none`` accepts up to ``maximum_steps``.
        p: Level of the test.
        permutations: How many; judging stops when the candidate is refused.
        counting: ``observed`` counts the observed order among them, ``others`` does not.
        minimum_segment: Commits that a block has at least.
        maximum_steps: Stop after so many; None does not.
        seed: Of the permutations.
        scale: ``noise`` measures each trace in what it changes from commit to commit, so that units do not count;
            ``none`` takes values as they are, as the peers do.

    A ``preset`` and text for values are understood as by the other methods.

    Raises:
        SeriesError: not a matrix of finite or missing numbers.
        InputError: a parameter out of its range, or two that exclude each other.
    """
    search = SearchSettings(alpha, form == "V", scan == "tau_kappa", minimum_segment, p, maximum_steps)
    shuffling = PermutationSettings(permutations, seed, others_only=counting == "others")
    check_search(_NAME, search, test)
    check_permutations(_NAME, search, shuffling, used=test == "permutation")
    matrix = check_frame(frame.values if isinstance(frame, Frame) else frame)
    measured = _read(matrix, search, scale)
    examined = [
        rescaled(found, measured.unit, alpha)
        for found in split_while_significant(measured.points, search, shuffling if test == "permutation" else None)
    ]
    accepted = [found for found in examined if found.accepted]
    facts = {"traces together": float(len(measured.rows)), "commits with all of them": float(len(measured.columns))}
    noise = dict(zip(measured.rows, measured.noise, strict=True))
    return [
        Detection(
            _NAME,
            {},
            _steps(matrix[row], noise[row], accepted, measured.columns) if row in noise else (),
            describe(examined, measured.columns),
            facts,
        )
        for row in range(len(matrix))
    ]


METHOD: Final = Method("e_divisive_joint", MethodKind.JOINT, detect_e_divisive_joint, presets=PRESETS)
