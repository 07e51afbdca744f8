"""E-Divisive with permutations: a split counts when shuffled blocks rarely have one as good."""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from knickpoint.detect.methods.e_divisive.split import ExaminedSplit, SearchSettings, best_split, refuse_parameter
from knickpoint.model.step import Check
from knickpoint.native.permutation import permute
from knickpoint.native.q_hat import TIED

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PermutationSettings", "Splittable", "check_permutations", "split_by_permutation", "split_while_significant"]

_MOST_PERMUTATIONS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class PermutationSettings:
    """Hold how a candidate is tested: by so many ``permutations`` of ``seed``."""

    permutations: int
    seed: int
    others_only: bool


def check_permutations(method: str, search: SearchSettings, shuffling: PermutationSettings, *, used: bool) -> None:
    """Raise ``InputError`` where a number is out of its range, or where, when ``used``, no p can be small enough."""
    count = shuffling.permutations
    if not 1 <= count <= _MOST_PERMUTATIONS:
        refuse_parameter(method, f"permutations is {count}", f"Give 1 to {_MOST_PERMUTATIONS}.")
    if not 0 <= shuffling.seed < 1 << 64:
        refuse_parameter(method, f"seed is {shuffling.seed}", "Give a whole number from 0, below 2 to the power of 64.")
    if used and not shuffling.others_only and search.p * (count + 1) < 1 - 1e-9:
        refuse_parameter(
            method,
            f"{count} permutations cannot give a p of {search.p:g}",
            f"Give at least {math.ceil(1 / search.p) - 1} permutations.",
        )


class Splittable(Protocol):
    """What is split: values or points in the order of the commits, which can be shuffled."""

    @property
    def count(self) -> int:
        """How many there are."""

    def best_split(self, first: int, stop: int) -> tuple[int, float]:
        """Return the place of the largest Q inside ``[first, stop)``, from ``first``, and that Q; place 0 for none."""

    def reached(self, bounds: list[int], reach: float, allowed: int, shuffling: PermutationSettings) -> tuple[int, int]:
        """Shuffle inside the clusters that ``bounds`` set apart, until more than ``allowed`` have a Q of ``reach``.

        Returns how many have, and how many were judged.
        """


def _order_seed(values: NDArray[np.float64]) -> int:
    """Return 64 bits that the order of ``values`` decides.

    Sorted, the values of two series are much alike. Splittable alike, too, all series of a length would share the luck of
    one draw, and be refused or accepted at one level that is not ``p``.
    """
    places = np.argsort(values, kind="stable").astype("<i8")
    return int.from_bytes(blake2b(places.tobytes(), digest_size=8).digest(), "little")


def _upward(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``values`` or their negative, the one whose least value comes first.

    Both have the same distances, and shuffled alike they have the same luck: a step down is found like a step up.
    """
    return values if np.argmin(values) <= np.argmax(values) else -values


@dataclass(frozen=True, slots=True)
class _Values:
    values: NDArray[np.float64]
    search: SearchSettings

    @property
    def count(self) -> int:
        return self.values.size

    def best_split(self, first: int, stop: int) -> tuple[int, float]:
        return best_split(self.values[first:stop], self.search)

    def reached(self, bounds: list[int], reach: float, allowed: int, shuffling: PermutationSettings) -> tuple[int, int]:
        values = _upward(self.values)
        counted: tuple[int, int] = permute(
            np.concatenate([np.sort(values[first:stop]) for first, stop in pairwise(bounds)]),
            np.array(bounds, dtype=np.int64),
            self.search.alpha,
            v_form=self.search.v_form,
            both=self.search.both,
            least=self.search.least,
            seed=shuffling.seed ^ _order_seed(values),
            turn=len(bounds) - 2,
            count=shuffling.permutations,
            reach=reach,
            allowed=allowed,
        )
        return counted


def _judged(
    index: int,
    q: float,
    bounds: list[int],
    *,
    shuffled: Splittable,
    search: SearchSettings,
    shuffling: PermutationSettings | None,
) -> ExaminedSplit:
    """Test a candidate against permutations inside the clusters that ``bounds`` set apart; None accepts it."""
    if shuffling is None:
        return ExaminedSplit(index, q, None, accepted=True, checks=(Check("q_hat", q),), reason="")
    own = 0 if shuffling.others_only else 1
    allowed = math.floor(search.p * (shuffling.permutations + 1) + 1e-12) - own
    hits, judged = shuffled.reached(bounds, q * (1 - TIED), allowed, shuffling)
    accepted = hits <= allowed
    checks = (
        Check("q_hat", q),
        Check("permutations judged", judged),
        Check("permutations as extreme", hits, "<=", allowed, passed=accepted),
    )
    reason = f"{hits} of {judged} permutations reach its Q-hat; p <= {search.p:g} allows {allowed}"
    return ExaminedSplit(index, q, (own + hits) / (1 + judged), accepted, checks, "" if accepted else reason)


def split_while_significant(
    shuffled: Splittable, search: SearchSettings, shuffling: PermutationSettings | None
) -> list[ExaminedSplit]:
    """Split at the best candidate of all clusters, again and again, until one is not significant; None has no test."""
    bounds = [0, shuffled.count]
    best = {(0, shuffled.count): shuffled.best_split(0, shuffled.count)}
    examined: list[ExaminedSplit] = []
    while search.most is None or len(bounds) - 2 < search.most:
        equal = max(q for _, q in best.values()) * (1 - TIED)
        (first, stop), (place, q) = next(entry for entry in best.items() if entry[1][1] >= equal)
        if not place:
            break
        index = first + place
        examined.append(_judged(index, q, bounds, shuffled=shuffled, search=search, shuffling=shuffling))
        if not examined[-1].accepted:
            break
        bounds = sorted([*bounds, index])
        best |= {part: shuffled.best_split(*part) for part in ((first, index), (index, stop))}
        best = {part: best[part] for part in pairwise(bounds)}
    return examined


def split_by_permutation(
    values: NDArray[np.float64], search: SearchSettings, shuffling: PermutationSettings | None
) -> list[ExaminedSplit]:
    """Split ``values`` at the best candidates as long as they are significant; None has no test."""
    return split_while_significant(_Values(values, search), search, shuffling)
