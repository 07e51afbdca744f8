"""Judge the siblings that moved with a shared change: a mixture of traces that moved alike and traces that did not.

The shares of both and how far the movers moved come from the traces themselves (expectation and maximisation: Dempster,
Laird and Rubin, 1977), so a trace that speaks weakly belongs where many others speak, and not where it speaks alone.
Where params carry kinship (:mod:`.kinship`), the others of a trace are first of all its relatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from knickpoint.detect.methods.default.siblings.kinship import Kinship

_WRONG: Final = 0.01
"""Share of those that belong that are expected not to have moved."""

SURE: Final = 0.97
"""Chance that each of them moved at least; where most moved, the share alone would take some along that did not."""

_LEAST, _MOST = 2.0, 5.0
"""Standard errors that movers lie from 0: fewer cannot be told from noise, and more say the same as many."""

_ROUNDS: Final = 100
_SETTLED: Final = 1e-9
"""Change of the chances from which on another round changes nothing."""


@dataclass(frozen=True, slots=True)
class Kin:
    """What the relatives of a trace say: those by ``kinship``, of which the ``share`` is expected to have moved."""

    kinship: Kinship
    share: float


@dataclass(frozen=True, slots=True)
class Membership:
    """How far the levels of each trace lie apart (standard errors), the chance that it moved, and whether it belongs.

    ``way`` is 1 where the siblings moved up and -1 where they moved down; ``separation`` is positive in that direction.
    ``kin`` has what the relatives of each trace say, None where it has none.
    """

    way: int
    separation: NDArray[np.float64]
    chance: NDArray[np.float64]
    belongs: NDArray[np.bool_]
    kin: tuple[Kin | None, ...]


def judge_siblings(apart: NDArray[np.float64], kinships: Sequence[Kinship] = ()) -> Membership:
    """Return the traces that moved, from the distance ``apart`` of their levels in standard errors, 0 if one has none.

    Of several ``kinships``, the one counts that speaks most for a trace here. None speaks against one: a change may be
    of another kind than those before.
    """
    way = 1 if np.square(np.maximum(apart, 0.0)).sum() >= np.square(np.maximum(-apart, 0.0)).sum() else -1
    separation = way * apart
    seen = np.minimum(separation, _MOST)
    moved, share = float(np.clip(seen.max(initial=0.0), _LEAST, _MOST)), 0.2
    least = 0.5 / max(1, len(seen))
    chance = np.full(len(seen), share)
    for _ in range(_ROUNDS):
        expected = expect_by_kin(chance, share, least, kinships)[0]
        odds = np.log(expected / (1 - expected)) + moved * seen - moved * moved / 2
        before, chance = chance, 1 / (1 + np.exp(-np.clip(odds, -500.0, 500.0)))
        total = float(chance.sum())
        share = min(max(total / max(1, len(seen)), least), 1 - least)
        moved = float(np.clip((chance * seen).sum() / total, _LEAST, _MOST)) if total > 0 else _LEAST
        if np.abs(chance - before).max(initial=0.0) < _SETTLED:
            break
    surest = np.argsort(-chance, kind="stable")
    wrong = np.cumsum(1 - chance[surest]) / np.arange(1, len(seen) + 1)
    belongs = np.zeros(len(seen), dtype=np.bool_)
    belongs[surest[(wrong <= _WRONG) & (chance[surest] >= SURE)]] = True
    return Membership(way, separation, chance, belongs, _kin(chance, share, least, kinships))


def expect_by_kin(
    chance: NDArray[np.float64], share: float, least: float, kinships: Sequence[Kinship]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the share expected to move with each trace, and the number of the kinship that says so, -1 for none.

    ``share`` is that of all traces, and ``least`` the least that is expected.
    """
    expected, speaker = np.full(len(chance), share), np.full(len(chance), -1, dtype=np.int64)
    most = np.zeros(len(chance))
    for number, kinship in enumerate(kinships):
        shares = np.clip(kinship.shares(chance, share), least, 1 - least)
        says = np.log(shares / (1 - shares)) - np.log(share / (1 - share))
        further = says > most
        expected[further], speaker[further], most[further] = shares[further], number, says[further]
    return expected, speaker


def _kin(
    chance: NDArray[np.float64], share: float, least: float, kinships: Sequence[Kinship]
) -> tuple[Kin | None, ...]:
    expected, speaker = expect_by_kin(chance, share, least, kinships)
    return tuple(
        Kin(kinships[number], expected_share) if number >= 0 else None
        for number, expected_share in zip(speaker.tolist(), expected.tolist(), strict=True)
    )
