"""The evidence of the default method: the score of a candidate, and what it is the sum of."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from knickpoint.detect.methods.default.acceptance import Acceptance
from knickpoint.detect.methods.default.model import TrainedModel
from knickpoint.model.step import LOCATION_INTERVAL, Check
from knickpoint.native.forest import take_parts
from knickpoint.native.segmentation import BARS, CERTAIN, Segmentation

__all__ = ["candidate_checks", "location_checks", "rejection_reason"]

_NAMED_FEATURES: Final = 8
"""How many features a candidate names, the strongest ones; the others are summed up."""


def _certainty_checks(proof: tuple[float, ...], *, accepted: bool) -> tuple[Check, ...]:
    """Return whether the change is certain whatever the trees say, why, and how precisely it is located.

    Where the trees alone accept a change, it needs no certainty, so its numbers have no bound.
    """
    jump, agreeing, chance, interval = proof
    reached = [bar for bar in BARS if jump >= bar[0] and chance <= bar[1]]
    least, most = reached[0] if reached else BARS[0]
    wide, rare = "jump of the medians / noise around it", "runs like it by chance per 1,000 values"
    unbounded = accepted and not reached
    return (
        Check(wide, jump) if unbounded else Check(wide, jump, ">=", least, jump >= least),
        Check("values of the shorter level that agree", agreeing),
        Check(rare, chance) if unbounded else Check(rare, chance, "<=", most, chance <= most),
        Check("certain by these: adds to the log-odds", CERTAIN if reached else 0.0),
        Check(LOCATION_INTERVAL, interval),
    )


def location_checks(found: Segmentation, number: int) -> tuple[Check, ...]:
    """Return what programs read of the evidence of candidate ``number``: how precisely it is located."""
    return (Check(LOCATION_INTERVAL, float(found.proofs[number, -1])),)


def candidate_checks(
    model: TrainedModel, found: Segmentation, number: int, acceptance: Acceptance
) -> tuple[Check, ...]:
    """Return the score of candidate ``number`` with its bound, what adds up to the score, and what to the bound.

    These are certainty, the strongest features with their values, all other features together, and the start.
    """
    score, bound = float(found.scores[number]), acceptance.bound
    added = take_parts(model.forest, found.features[number])
    strongest = np.argsort(-np.abs(added), kind="stable")[:_NAMED_FEATURES].tolist()
    values, parts = found.features[number].tolist(), added.tolist()
    certainty = _certainty_checks(tuple(found.proofs[number].tolist()), accepted=score >= bound)
    checks = [Check("log-odds of a change", score, ">=", bound, score >= bound), *certainty]
    rest = score - model.start - sum(check.value for check in certainty if "log-odds" in check.name)
    for feature in strongest:
        name, name_of_part = model.features[feature]
        checks.append(Check(name, values[feature]))
        checks.append(Check(name_of_part, parts[feature]))
        rest -= parts[feature]
    checks.append(Check("all other features: add to the log-odds", rest))
    checks.append(Check("log-odds before any feature", model.start))
    return (*checks, *acceptance.checks)


def rejection_reason(score: float, acceptance: Acceptance, false_alarms: float) -> str:
    """Return why a candidate with this score is no step."""
    chance = 1 / (1 + math.exp(-score))
    needed = 1 / (1 + math.exp(-acceptance.bound))
    return (
        f"the chance of a change is {chance:.2g}, below the {needed:.2g} that keeps false alarms at "
        f"{false_alarms:g} per 1,000 commits"
    )
