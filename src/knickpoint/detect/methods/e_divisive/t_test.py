"""E-Divisive with a t-test at each split, in one window or in sliding ones, as Hunter and Apache Otava do it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from knickpoint.detect.methods.e_divisive.split import ExaminedSplit, SearchSettings
from knickpoint.model.step import Check
from knickpoint.native.windows import NoteKind, split_windows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["split_by_t"]


def _first_p(p: float) -> float:
    """Return the level at which windows are split, so that weak points can still shape the windows after them."""
    if p < 0.05:
        return 10 * p
    return 2 * p if p < 0.5 else p


def split_by_t(
    values: NDArray[np.float64],
    search: SearchSettings,
    *,
    sliding: int,
    least_magnitude: float,
    population: bool,
    stale: bool,
    refused: bool,
) -> list[ExaminedSplit]:
    """Return the places examined, in the order of the examination; those that stay come last, by strength.

    Without ``refused`` only those that stay.
    """
    window = sliding or max(values.size, 1)
    first_p = _first_p(search.p)
    notes = split_windows(
        values,
        search.alpha,
        v_form=search.v_form,
        least=search.least,
        window=window,
        stride=window // 2 if sliding else window,
        first_p=first_p,
        max_p=search.p,
        least_magnitude=least_magnitude,
        population=population,
        stale=stale,
        refused=refused,
    )
    gone: list[ExaminedSplit] = []
    kept: list[ExaminedSplit] = []
    for kind, index, q, p, magnitude in notes:
        if kind is NoteKind.SPLIT:
            continue
        strength = Check("q_hat", q)
        large = Check("magnitude", magnitude, ">", least_magnitude, passed=magnitude > least_magnitude)
        if kind is NoteKind.STAYS:
            likely = Check("p of the t-test", p, "<", search.p, passed=p < search.p)
            kept.append(ExaminedSplit(index, q, None, accepted=True, checks=(strength, likely, large), reason=""))
        elif kind is NoteKind.REFUSED:
            likely = Check("p of the t-test", p, "<=", first_p, passed=False)
            reason = f"the t-test at the split gives p {p:.3g}, more than {first_p:g}"
            gone.append(ExaminedSplit(index, q, None, accepted=False, checks=(strength, likely), reason=reason))
        else:
            likely = Check("p of the t-test", p, "<", search.p, passed=p < search.p)
            if kind is NoteKind.INSIGNIFICANT:
                reason = f"merged: between its neighbours the t-test gives p {p:.3g}, not below {search.p:g}"
            else:
                reason = f"merged: its magnitude {magnitude:.3g} is not above {least_magnitude:g}"
            gone.append(ExaminedSplit(index, q, None, accepted=False, checks=(strength, likely, large), reason=reason))
    kept.sort(key=lambda place: -place.score)
    if search.most is not None:
        reason = f"weaker than the {search.most} steps asked for"
        for place, found in enumerate(kept[search.most :], start=search.most):
            stronger = Check("stronger steps", float(place), "<", float(search.most), passed=False)
            gone.append(replace(found, accepted=False, checks=(*found.checks, stronger), reason=reason))
        kept = kept[: search.most]
    return gone + kept
