"""E-Divisive with permutations: a split counts when shuffled blocks rarely have one as good."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from knickpoint import native
from knickpoint.detect.methods.e_divisive_split import Found, Search, best_split
from knickpoint.model.step import Check

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Shuffling", "split_by_permutation"]


@dataclass(frozen=True, slots=True)
class Shuffling:
    """Hold how a candidate is tested: ``permutations`` of ``seed``; 0 accepts every candidate."""

    permutations: int
    seed: int
    others_only: bool


def _judged(
    index: int, q: float, ordered: NDArray[np.float64], bounds: list[int], *, search: Search, shuffling: Shuffling
) -> Found:
    """Test a candidate against permutations inside the clusters that ``bounds`` set apart."""
    if not shuffling.permutations:
        return Found(index, q, None, accepted=True, checks=(Check("q_hat", q),), reason="")
    own = 0 if shuffling.others_only else 1
    allowed = math.floor(search.p * (shuffling.permutations + 1) + 1e-12) - own
    hits, judged = native.permute(
        ordered,
        np.array(bounds, dtype=np.int64),
        search.alpha,
        v_form=search.v_form,
        both=search.both,
        least=search.least,
        seed=shuffling.seed,
        turn=len(bounds) - 2,
        count=shuffling.permutations,
        reach=q * (1 - native.TIED),
        allowed=allowed,
    )
    accepted = hits <= allowed
    checks = (
        Check("q_hat", q),
        Check("permutations judged", judged),
        Check("permutations as extreme", hits, "<=", allowed, passed=accepted),
    )
    reason = f"{hits} of {judged} permutations reach its Q-hat; p <= {search.p:g} allows {allowed}"
    return Found(index, q, (own + hits) / (1 + judged), accepted, checks, "" if accepted else reason)


def split_by_permutation(values: NDArray[np.float64], search: Search, shuffling: Shuffling) -> list[Found]:
    """Split at the best candidate of all clusters, again and again, until one is not significant."""
    bounds = [0, values.size]
    ordered = np.sort(values)
    best = {(0, values.size): best_split(values, search)}
    examined: list[Found] = []
    while search.most is None or len(bounds) - 2 < search.most:
        equal = max(q for _, q in best.values()) * (1 - native.TIED)
        (first, stop), (place, q) = next(entry for entry in best.items() if entry[1][1] >= equal)
        if not place:
            break
        index = first + place
        examined.append(_judged(index, q, ordered, bounds, search=search, shuffling=shuffling))
        if not examined[-1].accepted:
            break
        bounds = sorted([*bounds, index])
        for part in ((first, index), (index, stop)):
            ordered[slice(*part)] = np.sort(values[slice(*part)])
            best[part] = best_split(values[slice(*part)], search)
        best = {part: best[part] for part in pairwise(bounds)}
    return examined
