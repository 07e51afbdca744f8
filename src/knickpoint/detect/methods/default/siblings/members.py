"""Tell which siblings moved with a shared change: a mixture of traces that moved alike and traces that did not.

The shares of both and how far the movers moved come from the traces themselves (expectation and maximisation: Dempster, Laird
and Rubin, 1977), so a trace that speaks weakly belongs where many others speak, and not where it speaks alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SURE", "Membership", "judge_siblings"]

_WRONG: Final = 0.01
"""Share of those that belong that are expected not to have moved."""

SURE: Final = 0.97
"""Chance that each of them moved at least; where most moved, the share alone would take some along that did not."""

_LEAST, _MOST = 2.0, 5.0
"""Standard errors that movers lie from 0: fewer cannot be told from noise, and more say the same as many."""

_ROUNDS: Final = 100


@dataclass(frozen=True, slots=True)
class Membership:
    """For each trace how far its levels lie apart, in standard errors, the chance that it moved, and whether it belongs.

    ``way`` is 1 where the siblings moved up and -1 where they moved down; ``separation`` is positive in that direction.
    """

    way: int
    separation: NDArray[np.float64]
    chance: NDArray[np.float64]
    belongs: NDArray[np.bool_]


def judge_siblings(apart: NDArray[np.float64]) -> Membership:
    """Return which traces moved, from how far their levels lie ``apart`` in standard errors, 0 where one has none."""
    way = 1 if np.square(np.maximum(apart, 0.0)).sum() >= np.square(np.maximum(-apart, 0.0)).sum() else -1
    separation = way * apart
    seen = np.minimum(separation, _MOST)
    moved, share = float(np.clip(seen.max(initial=0.0), _LEAST, _MOST)), 0.2
    least = 0.5 / max(1, len(seen))
    chance = np.zeros(len(seen))
    for _ in range(_ROUNDS):
        odds = np.log(share / (1 - share)) + moved * seen - moved * moved / 2
        chance = 1 / (1 + np.exp(-np.clip(odds, -500.0, 500.0)))
        total = float(chance.sum())
        share = min(max(total / max(1, len(seen)), least), 1 - least)
        moved = float(np.clip((chance * seen).sum() / total, _LEAST, _MOST)) if total > 0 else _LEAST
    surest = np.argsort(-chance, kind="stable")
    wrong = np.cumsum(1 - chance[surest]) / np.arange(1, len(seen) + 1)
    belongs = np.zeros(len(seen), dtype=np.bool_)
    belongs[surest[(wrong <= _WRONG) & (chance[surest] >= SURE)]] = True
    return Membership(way, separation, chance, belongs)
