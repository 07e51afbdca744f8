"""The default method: robust segmentation, and a forest of decision trees that judges each candidate.

Candidates come from two cheapest piecewise constant paths through the values, one stiff and one loose, with a loss that is
bounded so that no outlier is worth a change. Each candidate is described by features that outliers, changing noise and
autocorrelation do not distort. Decision trees, learnt on real noise with known changes, turn the features into the log-odds
that this is a change of level. Changes that are certain without the trees have a head start that no tree can undo. The
weakest candidate is dropped and its neighbours are described again, until all that are left reach the bound.

:mod:`knickpoint.native.segmentation` does the search, ``model`` has the trees and the bounds, and ``evidence`` explains a
score. The guide page ``docs/guide/detect/default.md`` describes the method in full.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import drop_missing
from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.methods.default.evidence import candidate_checks, rejection_reason
from knickpoint.detect.methods.default.model import FALSE_ALARMS, default_bound, load_model
from knickpoint.detect.steps import build_steps
from knickpoint.model.errors import InputError
from knickpoint.model.step import Candidate, Detection
from knickpoint.native.segmentation import segment

__all__ = ["METHOD", "detect_default"]


def detect_default(
    values: NDArray[np.float64], *, false_alarms: float = FALSE_ALARMS, candidates: bool = True
) -> Detection:
    """Find changes of level in a series; this is the method to use when in doubt.

    ``false_alarms`` is how many false alarms per 1,000 commits you accept in a series without change, as measured on
    real benchmark histories. A larger number finds smaller changes, and everything that a smaller number finds. A
    level shorter than 3 measured values is never reported, so a lone spike is not a finding. A level of 3 or more that
    lies too far from both neighbours to be there by chance is always reported. ``candidates`` says whether to return
    the candidates, which takes more time.

    The score of a step is the log-odds that it is a change; it is no p-value. The check "interval of location" is the
    half width of the interval in which the step lies, in measured values. Time is linear in the length.

    Raises:
        SeriesError: the values are not one series of finite or missing numbers.
        InputError: ``false_alarms`` is not above 0 and at most 1,000.
    """
    if not 0 < false_alarms <= 1000:
        raise InputError(
            f"false_alarms is {false_alarms}",
            remedy=f"Give how many false alarms per 1,000 commits are bearable, above 0 and at most 1,000, such as {FALSE_ALARMS:g}.",
        )
    # Search: candidates, pruned until all that are left reach the bound.
    series = drop_missing(values)
    model = load_model()
    bound = default_bound(false_alarms)
    found = segment(series.values, model.forest, bound)
    rows = series.rows[found.indices].tolist()
    scores = found.scores.tolist()
    kept = np.flatnonzero(found.rounds < 0).tolist()
    # Evidence: of the steps, and of the rejected candidates where they are asked for.
    described = range(len(rows)) if candidates else kept
    evidence = {number: candidate_checks(model, found, number, bound) for number in described}
    # Steps, the strongest first.
    strongest = sorted(kept, key=lambda number: -scores[number])
    steps = build_steps(
        values,
        [rows[number] for number in strongest],
        method="default",
        scores=[scores[number] for number in strongest],
        evidence=[evidence[number] for number in strongest],
    )
    accepted = set(kept)
    listed = [
        Candidate(
            rows[number],
            number in accepted,
            checks,
            "" if number in accepted else rejection_reason(scores[number], bound, false_alarms),
        )
        for number, checks in evidence.items()
        if candidates
    ]
    scale, phi, square, tail = found.facts
    return Detection(
        method="default",
        parameters={},
        steps=steps,
        candidates=tuple(sorted(listed, key=lambda candidate: candidate.index)),
        facts={
            "noise (standard deviation)": scale,
            "autocorrelation at lag 1": phi,
            "mean square of the noise": square,
            "share beyond 4 standard deviations": tail,
            "candidates": float(len(rows)),
        },
    )


METHOD: Final = Method("default", MethodKind.SERIES, detect_default, releases_gil=True)
