"""E-Divisive with a t-test at each split, in one window or in sliding ones, as Hunter and Apache Otava do it.

Splits are searched at a lenient level, so that weak ones can shape the windows after them. Then the least significant
split is merged, again and again, until all are significant at ``p`` and large enough (Fleming and others, "Hunter",
2023). The kernel ``split_windows`` does both and reports what became of each split.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from knickpoint.detect.methods.e_divisive.split import ExaminedSplit, SearchSettings
from knickpoint.model.step import Check
from knickpoint.native.windows import Note, NoteKind, split_windows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def _first_p(p: float) -> float:
    """Return the lenient level at which windows are split."""
    if p < 0.05:
        return 10 * p
    return 2 * p if p < 0.5 else p


def _rejected(note: Note, settings: SearchSettings, first_p: float, minimum_magnitude: float) -> ExaminedSplit:
    """Describe a split that was refused at once or merged later."""
    kind, index, q, p, magnitude = note
    strength = Check("q_hat", q)
    if kind is NoteKind.REFUSED:
        likely = Check("p of the t-test", p, "<=", first_p, passed=False)
        reason = f"the t-test at the split gives p {p:.3g}, more than {first_p:g}"
        return ExaminedSplit(index, q, None, accepted=False, checks=(strength, likely), reason=reason)
    likely = Check("p of the t-test", p, "<", settings.p, passed=p < settings.p)
    large = Check("magnitude", magnitude, ">", minimum_magnitude, passed=magnitude > minimum_magnitude)
    if kind is NoteKind.INSIGNIFICANT:
        reason = f"merged: between its neighbours the t-test gives p {p:.3g}, not below {settings.p:g}"
    else:
        reason = f"merged: its magnitude {magnitude:.3g} is not above {minimum_magnitude:g}"
    return ExaminedSplit(index, q, None, accepted=False, checks=(strength, likely, large), reason=reason)


def _kept(note: Note, settings: SearchSettings, minimum_magnitude: float) -> ExaminedSplit:
    """Describe a split that stays."""
    _, index, q, p, magnitude = note
    checks = (
        Check("q_hat", q),
        Check("p of the t-test", p, "<", settings.p, passed=p < settings.p),
        Check("magnitude", magnitude, ">", minimum_magnitude, passed=magnitude > minimum_magnitude),
    )
    return ExaminedSplit(index, q, None, accepted=True, checks=checks, reason="")


def split_by_t(
    values: NDArray[np.float64],
    settings: SearchSettings,
    *,
    sliding: int,
    minimum_magnitude: float,
    population: bool,
    stale: bool,
    with_rejected: bool,
) -> list[ExaminedSplit]:
    """Return the splits examined, in the order of the examination; those that stay come last, the strongest first.

    Without ``with_rejected`` only those that stay.
    """
    # Split and merge.
    window = sliding or max(values.size, 1)
    first_p = _first_p(settings.p)
    notes = split_windows(
        values,
        settings.alpha,
        v_form=settings.v_form,
        least=settings.minimum_segment,
        window=window,
        stride=window // 2 if sliding else window,
        first_p=first_p,
        max_p=settings.p,
        least_magnitude=minimum_magnitude,
        population=population,
        stale=stale,
        refused=with_rejected,
    )
    rejected = [
        _rejected(note, settings, first_p, minimum_magnitude)
        for note in notes
        if note.kind not in {NoteKind.SPLIT, NoteKind.STAYS}
    ]
    kept = [_kept(note, settings, minimum_magnitude) for note in notes if note.kind is NoteKind.STAYS]
    # The strongest stay, if the number of steps is limited.
    kept.sort(key=lambda split: -split.score)
    most = settings.maximum_steps
    if most is not None:
        reason = f"weaker than the {most} steps asked for"
        for stronger, split in enumerate(kept[most:], start=most):
            rank = Check("stronger steps", float(stronger), "<", float(most), passed=False)
            rejected.append(replace(split, accepted=False, checks=(*split.checks, rank), reason=reason))
        kept = kept[:most]
    return rejected + kept
