"""E-Divisive with permutations: a split counts when shuffled clusters rarely have a Q as large.

After Matteson and James: the best split of all clusters is the candidate. Its Q is compared with the largest Q after
the values inside each cluster were shuffled, many times. If few shuffles reach it, its cluster is split in two and the
search goes on; the first candidate that is not significant ends it.
"""

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

_MOST_PERMUTATIONS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class PermutationSettings:
    """How a candidate is tested.

    Attributes:
        count: how many permutations.
        seed: of the permutations.
        others_only: whether the observed order is left out of the count, which makes a p of 0 possible.
    """

    count: int
    seed: int
    others_only: bool


def check_permutations(method: str, settings: SearchSettings, permutations: PermutationSettings, *, used: bool) -> None:
    """Raise ``InputError`` where a number is out of its range or, when ``used``, no p can be small enough."""
    count = permutations.count
    if not 1 <= count <= _MOST_PERMUTATIONS:
        refuse_parameter(method, f"permutations is {count}", f"Give 1 to {_MOST_PERMUTATIONS}.")
    if not 0 <= permutations.seed < 1 << 64:
        refuse_parameter(
            method, f"seed is {permutations.seed}", "Give a whole number from 0, below 2 to the power of 64."
        )
    if used and not permutations.others_only and settings.p * (count + 1) < 1 - 1e-9:
        refuse_parameter(
            method,
            f"{count} permutations cannot give a p of {settings.p:g}",
            f"Give at least {math.ceil(1 / settings.p) - 1} permutations.",
        )


class Splittable(Protocol):
    """What can be split and shuffled: values, or points of several dimensions, in the order of the commits."""

    @property
    def count(self) -> int:
        """How many values or points there are."""

    def best_split(self, first: int, stop: int) -> tuple[int, float]:
        """Return the index of the largest Q inside ``[first, stop)``, from ``first``, and that Q; index 0 for none."""

    def count_extreme(
        self, bounds: list[int], q: float, allowed: int, permutations: PermutationSettings
    ) -> tuple[int, int]:
        """Count the permutations inside the clusters between ``bounds`` whose largest Q is at least ``q``.

        Counting stops when there are more than ``allowed``. Returns how many there are, and how many permutations were
        judged.
        """


def _order_seed(values: NDArray[np.float64]) -> int:
    """Return 64 bits that the order of ``values`` decides.

    Two series of noise are much alike when sorted. If all series of a length were shuffled alike, one draw would make
    all of them too easy or too hard to reject, at a level that is not ``p``.
    """
    order = np.argsort(values, kind="stable").astype("<i8")
    return int.from_bytes(blake2b(order.tobytes(), digest_size=8).digest(), "little")


def _upward(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``values`` or their negative: the one whose smallest value comes first.

    Both have the same distances. Shuffled alike they have the same p-value, so a step down is found like a step up.
    """
    return values if np.argmin(values) <= np.argmax(values) else -values


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of one series, as something to split."""

    values: NDArray[np.float64]
    settings: SearchSettings

    @property
    def count(self) -> int:
        return self.values.size

    def best_split(self, first: int, stop: int) -> tuple[int, float]:
        return best_split(self.values[first:stop], self.settings)

    def count_extreme(
        self, bounds: list[int], q: float, allowed: int, permutations: PermutationSettings
    ) -> tuple[int, int]:
        # The order inside a cluster does not matter for its permutations. Sorted clusters make the answer independent
        # of it, but for the seed.
        values = _upward(self.values)
        counted: tuple[int, int] = permute(
            np.concatenate([np.sort(values[first:stop]) for first, stop in pairwise(bounds)]),
            np.array(bounds, dtype=np.int64),
            self.settings.alpha,
            v_form=self.settings.v_form,
            both=self.settings.vary_end,
            least=self.settings.minimum_segment,
            seed=permutations.seed ^ _order_seed(values),
            turn=len(bounds) - 2,
            count=permutations.count,
            reach=q,
            allowed=allowed,
        )
        return counted


def _examine(
    index: int,
    q: float,
    bounds: list[int],
    *,
    data: Splittable,
    settings: SearchSettings,
    permutations: PermutationSettings | None,
) -> ExaminedSplit:
    """Test a candidate against permutations inside the clusters between ``bounds``; without them it is accepted."""
    if permutations is None:
        return ExaminedSplit(index, q, None, accepted=True, checks=(Check("q_hat", q),), reason="")
    # p = (observed + extreme) / (count + 1) has to be at most the level.
    observed = 0 if permutations.others_only else 1
    allowed = math.floor(settings.p * (permutations.count + 1) + 1e-12) - observed
    extreme, judged = data.count_extreme(bounds, q * (1 - TIED), allowed, permutations)
    accepted = extreme <= allowed
    checks = (
        Check("q_hat", q),
        Check("permutations judged", judged),
        Check("permutations as extreme", extreme, "<=", allowed, passed=accepted),
    )
    reason = f"{extreme} of {judged} permutations reach its Q-hat; p <= {settings.p:g} allows {allowed}"
    return ExaminedSplit(index, q, (observed + extreme) / (1 + judged), accepted, checks, "" if accepted else reason)


def split_while_significant(
    data: Splittable, settings: SearchSettings, permutations: PermutationSettings | None
) -> list[ExaminedSplit]:
    """Split at the best candidate of all clusters, again and again, until one is not significant; None has no test."""
    bounds = [0, data.count]
    best = {(0, data.count): data.best_split(0, data.count)}
    examined: list[ExaminedSplit] = []
    while settings.maximum_steps is None or len(bounds) - 2 < settings.maximum_steps:
        # Candidate: the largest Q of all clusters; of equal ones the first cluster's.
        equal = max(q for _, q in best.values()) * (1 - TIED)
        (first, stop), (offset, q) = next(entry for entry in best.items() if entry[1][1] >= equal)
        if not offset:
            break
        # Significance: a candidate that fails ends the search.
        index = first + offset
        examined.append(_examine(index, q, bounds, data=data, settings=settings, permutations=permutations))
        if not examined[-1].accepted:
            break
        # Split: only the two new clusters need another scan.
        bounds = sorted([*bounds, index])
        best |= {cluster: data.best_split(*cluster) for cluster in ((first, index), (index, stop))}
        best = {cluster: best[cluster] for cluster in pairwise(bounds)}
    return examined


def split_by_permutation(
    values: NDArray[np.float64], settings: SearchSettings, permutations: PermutationSettings | None
) -> list[ExaminedSplit]:
    """Split ``values`` at the best candidates as long as they are significant; None has no test."""
    return split_while_significant(_Values(values, settings), settings, permutations)
