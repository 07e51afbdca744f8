"""What all tests of E-Divisive share: the settings of the search, the best split of one block, and examined splits.

E-Divisive finds the split that puts the two sides furthest apart in energy distance, tests it, and goes on inside
both sides. The tests differ in how they decide; :func:`best_split` is the same for all.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from knickpoint.model.errors import InputError
from knickpoint.model.step import Candidate, Check
from knickpoint.native.q_hat import TIED, q_hat, scan_both

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """What all tests of a split share.

    Attributes:
        alpha: power of the distance.
        v_form: whether inner distances are averaged over points squared, as in the V form of Q, not over pairs (U
            form).
        vary_end: whether the right block may end before the end of its cluster: a scan over (tau, kappa).
        minimum_segment: values that a block has at least.
        p: level of the test.
        maximum_steps: when to stop, None for never.
    """

    alpha: float
    v_form: bool
    vary_end: bool
    minimum_segment: int
    p: float
    maximum_steps: int | None


@dataclass(frozen=True, slots=True)
class ExaminedSplit:
    """A split that was examined.

    ``index`` counts measured values, ``score`` is Q, ``p_value`` None where it has no meaning.
    """

    index: int
    score: float
    p_value: float | None
    accepted: bool
    checks: tuple[Check, ...]
    reason: str


def best_split(values: NDArray[np.float64], settings: SearchSettings) -> tuple[int, float]:
    """Return the index of the largest Q in ``values`` and that Q.

    Index 0 when all are equal, or too few for two blocks.

    A Q that differs from the largest by rounding counts as equal; the first of them wins.
    """
    least = settings.minimum_segment
    if values.size < 2 * least or values.min() == values.max():
        return 0, 0.0
    if settings.vary_end:
        index, _, q = scan_both(values, settings.alpha, least, v_form=settings.v_form)
        return (index, q) if q > 0 else (0, 0.0)
    curve = q_hat(values, settings.alpha, v_form=settings.v_form)
    inside = curve[least : values.size - least + 1]
    q = float(inside.max())
    return (int(np.argmax(inside >= q * (1 - TIED))) + least, q) if q > 0 else (0, 0.0)


def refuse_parameter(method: str, message: str, remedy: str) -> NoReturn:
    """Raise ``InputError`` for a parameter of ``method``."""
    raise InputError(message, where=method, remedy=remedy)


def check_settings(method: str, settings: SearchSettings, test: str) -> None:
    """Raise ``InputError`` where a number is out of its range, or where nothing would end the settings."""
    if not 0 < settings.alpha <= 2:
        refuse_parameter(method, f"alpha is {settings.alpha:g}", "Give a power above 0 and at most 2.")
    if not 0 < settings.p < 1:
        refuse_parameter(method, f"p is {settings.p:g}", "Give a probability between 0 and 1.")
    if settings.minimum_segment < 1:
        refuse_parameter(method, f"minimum_segment is {settings.minimum_segment}", "Give 1 or more.")
    if settings.maximum_steps is not None and settings.maximum_steps < 0:
        refuse_parameter(method, f"maximum_steps is {settings.maximum_steps}", "Give 0 or more, or none.")
    if test == "none" and settings.maximum_steps is None:
        refuse_parameter(method, "without a test the splits never end", "Give maximum_steps, too.")


def rescaled(split: ExaminedSplit, unit: float, alpha: float) -> ExaminedSplit:
    """Return a split of values divided by ``unit`` with the Q of the values themselves, at most the largest float."""
    if unit == 1:
        return split
    with np.errstate(over="ignore"):
        factor = np.float64(unit) ** alpha
        score = float(min(split.score * factor, sys.float_info.max))
    checks = tuple(replace(check, value=score) if check.name == "q_hat" else check for check in split.checks)
    return replace(split, score=score, checks=checks)


def describe_splits(examined: Sequence[ExaminedSplit], rows: Sequence[int]) -> tuple[Candidate, ...]:
    """Return the examined splits as candidates, sorted by index; ``rows`` are those of the measured values."""
    candidates = [Candidate(rows[split.index], split.accepted, split.checks, split.reason) for split in examined]
    return tuple(sorted(candidates, key=lambda candidate: candidate.index))
