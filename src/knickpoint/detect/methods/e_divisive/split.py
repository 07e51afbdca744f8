"""E-Divisive, the part that every test shares: what is looked for, the best place to split one block, what was found."""

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

__all__ = ["ExaminedSplit", "SearchSettings", "best_split", "check_search", "describe", "refuse_parameter", "rescaled"]


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Hold what the tests of a candidate share. ``least`` is the shortest block; ``p`` the level of the test."""

    alpha: float
    v_form: bool
    both: bool
    least: int
    p: float
    most: int | None


@dataclass(slots=True)
class ExaminedSplit:
    """Hold one place that was examined, in measured values: ``score`` is Q, ``p_value`` None where it means nothing."""

    index: int
    score: float
    p_value: float | None
    accepted: bool
    checks: tuple[Check, ...]
    reason: str


def best_split(values: NDArray[np.float64], search: SearchSettings) -> tuple[int, float]:
    """Return the place of the largest Q in ``values`` and that Q; place 0 when nothing differs or fits."""
    if values.size < 2 * search.least or values.min() == values.max():
        return 0, 0.0
    if search.both:
        place, _, q = scan_both(values, search.alpha, search.least, v_form=search.v_form)
        return (place, q) if q > 0 else (0, 0.0)
    curve = q_hat(values, search.alpha, v_form=search.v_form)
    inside = curve[search.least : values.size - search.least + 1]
    q = float(inside.max())
    return (int(np.argmax(inside >= q * (1 - TIED))) + search.least, q) if q > 0 else (0, 0.0)


def refuse_parameter(method: str, what: str, remedy: str) -> NoReturn:
    """Raise the error of a parameter of ``method`` that cannot be."""
    raise InputError(what, where=method, remedy=remedy)


def check_search(method: str, search: SearchSettings, test: str) -> None:
    """Raise ``InputError`` where a number is out of its range, or nothing would end the search of ``method``."""
    if not 0 < search.alpha <= 2:
        refuse_parameter(method, f"alpha is {search.alpha:g}", "Give a power above 0 and at most 2.")
    if not 0 < search.p < 1:
        refuse_parameter(method, f"p is {search.p:g}", "Give a probability between 0 and 1.")
    if search.least < 1:
        refuse_parameter(method, f"minimum_segment is {search.least}", "Give 1 or more.")
    if search.most is not None and search.most < 0:
        refuse_parameter(method, f"maximum_steps is {search.most}", "Give 0 or more, or none.")
    if test == "none" and search.most is None:
        refuse_parameter(method, "without a test there is no end to the splits", "Give maximum_steps, too.")


def rescaled(found: ExaminedSplit, unit: float, alpha: float) -> ExaminedSplit:
    """Return what was found in values divided by ``unit`` with Q of the values themselves, as far as floats reach."""
    if unit == 1:
        return found
    with np.errstate(over="ignore"):
        factor = np.float64(unit) ** alpha
        score = float(min(found.score * factor, sys.float_info.max))
    checks = tuple(replace(check, value=score) if check.name == "q_hat" else check for check in found.checks)
    return replace(found, score=score, checks=checks)


def describe(examined: Sequence[ExaminedSplit], rows: Sequence[int]) -> tuple[Candidate, ...]:
    """Return what was examined as candidates by index; ``rows`` are those of the measured values."""
    described = [Candidate(rows[place.index], place.accepted, place.checks, place.reason) for place in examined]
    return tuple(sorted(described, key=lambda candidate: candidate.index))
