"""E-Divisive: split where the two sides are furthest apart in energy distance, as long as that is significant.

After Matteson and James, "A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data"
(JASA 109, 2014), for one dimension. Energy distance compares whole distributions, so the method assumes no shape of the
noise. ``split`` has the scan for the best split, and ``permutation_test``, ``rank_test`` and ``t_test`` decide which
splits are steps. The guide page ``detect/e_divisive`` has the mathematics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from knickpoint.detect.measured_series import drop_missing, safe_unit
from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.methods.e_divisive.permutation_test import (
    PermutationSettings,
    check_permutations,
    split_by_permutation,
)
from knickpoint.detect.methods.e_divisive.split import (
    ExaminedSplit,
    SearchSettings,
    check_settings,
    describe_splits,
    refuse_parameter,
    rescaled,
)
from knickpoint.detect.steps import build_steps
from knickpoint.model.step import Detection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

    from knickpoint.detect.measured_series import MeasuredSeries
    from knickpoint.detect.method import Value

_NAME: Final = "e_divisive"

_ONLY_FOR_T: Final[dict[str, Value]] = {
    "sliding": 0,
    "minimum_magnitude": 0.0,
    "divisor": "sample",
    "neighbours": "fresh",
}
"""Parameters that only ``test="t"`` uses, with their defaults."""

PRESETS: Final[dict[str, dict[str, Value]]] = {
    "ecp": {"minimum_segment": 30, "p": 0.05, "permutations": 199, "seed": 3},
    "mongodb": {
        "counting": "others",
        "form": "V",
        "minimum_segment": 1,
        "p": 0.05,
        "permutations": 100,
        "scan": "tau",
        "seed": 4,
    },
    "otava": {
        "divisor": "population",
        "minimum_segment": 1,
        "neighbours": "stale",
        "p": 0.001,
        "sliding": 50,
        "test": "t",
    },
}
"""The defaults of R's ecp 3.1.6 (``ecp``), signal-processing-algorithms 2.1.6 (``mongodb``) and Apache Otava 0.8.0.

With these seeds, candidates at the edge of significance come out as in the published runs of the packages, too.
"""


def _check_window(*, sliding: int, window: int | None, minimum_magnitude: float) -> None:
    if window is not None and window < 1:
        refuse_parameter(_NAME, f"window is {window}", "Give the number of measured values to look at, or none.")
    if not minimum_magnitude >= 0:
        refuse_parameter(_NAME, f"minimum_magnitude is {minimum_magnitude:g}", "Give a share of 0 or more.")
    if sliding < 0 or sliding == 1:
        refuse_parameter(_NAME, f"sliding is {sliding}", "Give a window of 2 values or more, or 0 for none.")


def _check_test(settings: SearchSettings, test: str, for_t: Mapping[str, Value]) -> None:
    """Raise ``InputError`` where a parameter does not go with the ``test``."""
    if test == "rank" and settings.alpha != 1:
        refuse_parameter(
            _NAME, "the rank test has a table for alpha 1 only", "Leave alpha at 1, or give test=permutation."
        )
    if test == "t" and not settings.vary_end:
        refuse_parameter(_NAME, "the t-test goes with scan=tau_kappa", "Leave scan out, or give test=permutation.")
    for name, given in for_t.items():
        if test != "t" and given != _ONLY_FOR_T[name]:
            refuse_parameter(_NAME, f"{name} goes with test=t", f"Give {name}={_ONLY_FOR_T[name]}, or test=t.")


def _start(series: MeasuredSeries, window: int | None, known: tuple[int, ...]) -> int:
    """Return the first measured value to look at: ``window`` from the end, or the known step that lies before."""
    outside = next((index for index in known if not 0 <= index < series.length), None)
    if outside is not None:
        refuse_parameter(
            _NAME, f"the known step {outside} is not a row of the {series.length}", "Give rows of the series, from 0."
        )
    rows = series.rows
    if window is None or rows.size <= window:
        return 0
    nominal = int(rows[rows.size - window])
    before = [index for index in known if index <= nominal]
    return int(np.searchsorted(rows, max(before))) if before else rows.size - window


def detect_e_divisive(
    values: ArrayLike,
    *,
    alpha: float = 1.0,
    form: Literal["U", "V"] = "U",
    scan: Literal["tau_kappa", "tau"] = "tau_kappa",
    test: Literal["permutation", "rank", "t", "none"] = "permutation",
    p: float = 0.01,
    permutations: int = 199,
    counting: Literal["observed", "others"] = "observed",
    minimum_segment: int = 3,
    maximum_steps: int | None = None,
    seed: int = 0,
    window: int | None = None,
    known: tuple[int, ...] = (),
    sliding: int = 0,
    minimum_magnitude: float = 0.0,
    divisor: Literal["sample", "population"] = "sample",
    neighbours: Literal["fresh", "stale"] = "fresh",
    candidates: bool = True,
) -> Detection:
    """Find steps by E-Divisive; by default as Matteson and James do, with a permutation test at 1 %.

    Args:
        values: One series, ``nan`` for missing.
        alpha: Power of the distance, in (0, 2]. Other than 1 takes O(T^2) time for ``scan="tau"``, too.
        form: ``U`` averages inner distances over pairs, ``V`` over points squared (MongoDB since 2.0).
        scan: ``tau_kappa`` also varies where the right block ends, and so finds a change that is soon reverted, in
            O(T^2) time; ``tau`` lets it reach to the end, in O(T log T) time. Both take O(T) memory.
        test: ``permutation`` shuffles inside the clusters; ``rank`` compares Q of the ranks with its null law,
            one test a segment; ``t`` is a pooled t-test at the split, whose p is too small because the
            split was chosen, so steps carry none; ``none`` accepts the best splits up to ``maximum_steps``.
        p: Level of the test. For ``t`` splits are searched at ten times ``p`` and then merged at ``p``.
        permutations: How many; counting stops when the candidate is rejected.
        counting: ``observed`` counts the observed order among them, p = (1 + k) / (1 + R); ``others`` does not,
            p = k / (1 + R), which can be 0.
        minimum_segment: Points that a block has at least.
        maximum_steps: Stop after so many; None does not.
        seed: Of the permutations.
        window: Look at the last so many measured values only, but reach back to the last of ``known`` before.
        known: Rows of known steps, for use with ``window``.
        sliding: Width of the windows that ``t`` slides over the series by half a width; 0 is one window.
        minimum_magnitude: For ``t``: smallest relative change, of either mean to the other, that is kept.
        divisor: Of the variances in the t-test; ``population`` is Otava's.
        neighbours: ``stale`` decides as Otava 0.8 does, which keeps the statistics of the step before a merged one.
            The reported statistics are always fresh.
        candidates: Whether to return the candidates, which takes more time.

    Raises:
        SeriesError: ``values`` is not one series of finite or missing numbers.
        InputError: a parameter out of its range, or two that exclude each other.
    """
    settings = SearchSettings(alpha, form == "V", scan == "tau_kappa", minimum_segment, p, maximum_steps)
    shuffles = PermutationSettings(permutations, seed, others_only=counting == "others")
    check_settings(_NAME, settings, test)
    check_permutations(_NAME, settings, shuffles, used=test == "permutation")
    _check_window(sliding=sliding, window=window, minimum_magnitude=minimum_magnitude)
    for_t: dict[str, Value] = {
        "sliding": sliding,
        "minimum_magnitude": minimum_magnitude,
        "divisor": divisor,
        "neighbours": neighbours,
    }
    _check_test(settings, test, for_t)
    # The part to look at, in a unit in which squares are floats.
    series = drop_missing(values)
    start = _start(series, window, known)
    unit = safe_unit(series.values)
    part = series.values[start:] / unit
    # Search and test.
    if test in {"permutation", "none"}:
        examined = split_by_permutation(part, settings, shuffles if test == "permutation" else None)
    elif test == "rank":
        from knickpoint.detect.methods.e_divisive.rank_test import split_by_rank

        examined = split_by_rank(part, settings)
    else:
        from knickpoint.detect.methods.e_divisive.t_test import split_by_t

        examined = split_by_t(
            part,
            settings,
            sliding=sliding,
            minimum_magnitude=minimum_magnitude,
            population=divisor == "population",
            stale=neighbours == "stale",
            with_rejected=candidates,
        )
    # Q in the unit of the series; Q of ranks has none.
    if test != "rank":
        examined = [rescaled(split, unit, alpha) for split in examined]
    return _detection(values, series, start, examined, candidates=candidates)


def _detection(
    values: ArrayLike, series: MeasuredSeries, start: int, examined: list[ExaminedSplit], *, candidates: bool
) -> Detection:
    """Build the detection from splits of the measured values from ``start`` on."""
    accepted = [split for split in examined if split.accepted]
    rows = series.rows[start:]
    steps = build_steps(
        np.asarray(values, dtype=np.float64),
        rows[[split.index for split in accepted]].tolist(),
        method=_NAME,
        scores=[split.score for split in accepted],
        p_values=[split.p_value for split in accepted],
        evidence=[split.checks for split in accepted],
        first=int(rows[0]) if rows.size else 0,
    )
    facts = {"measured values": float(series.values.size), "values looked at": float(rows.size)}
    return Detection(_NAME, {}, steps, describe_splits(examined, rows.tolist()) if candidates else (), facts)


METHOD: Final = Method(
    "e_divisive",
    MethodKind.SERIES,
    detect_e_divisive,
    presets=PRESETS,
    releases_gil=True,
    fewest=lambda found: 2 * int(found["minimum_segment"]),
)
