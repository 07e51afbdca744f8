"""E-Divisive, the part that every test shares: the best place to split one block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from knickpoint import native
from knickpoint.model.step import Check

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Found", "Search", "best_split"]


@dataclass(frozen=True, slots=True)
class Search:
    """Hold what the tests of a candidate share. ``least`` is the shortest block; ``p`` the level of the test."""

    alpha: float
    v_form: bool
    both: bool
    least: int
    p: float
    most: int | None


@dataclass(slots=True)
class Found:
    """Hold one place that was examined, in measured values: ``score`` is Q, ``p_value`` None where it means nothing."""

    index: int
    score: float
    p_value: float | None
    accepted: bool
    checks: tuple[Check, ...]
    reason: str


def best_split(values: NDArray[np.float64], search: Search) -> tuple[int, float]:
    """Return the place of the largest Q in ``values`` and that Q; place 0 when nothing differs or fits."""
    if values.size < 2 * search.least or values.min() == values.max():
        return 0, 0.0
    if search.both:
        place, _, q = native.scan_both(values, search.alpha, search.least, v_form=search.v_form)
        return (place, q) if q > 0 else (0, 0.0)
    curve = native.q_hat(values, search.alpha, v_form=search.v_form)
    inside = curve[search.least : values.size - search.least + 1]
    q = float(inside.max())
    return (int(np.argmax(inside >= q * (1 - native.TIED))) + search.least, q) if q > 0 else (0, 0.0)
