"""The default method: robust segmentation, and a learnt judgement of each candidate.

Candidates come from two cheapest paths over levels with bounded loss, one stiff and one loose. Each is described by
numbers that outliers, changing noise and autocorrelation do not fool, and decision trees, learnt on real noise with known
changes (``benchmarks/train_default.py``), give the log-odds that it is a change of level. What is certain without the trees
has a lead that no doubt of the trees undoes. The weakest candidate is dropped and its neighbours are described anew until
all that are left reach the bound. The guide page ``default.md`` tells the whole of it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.measured_series import drop_missing
from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.steps import build_steps
from knickpoint.model.errors import InputError
from knickpoint.model.step import Candidate, Check, Detection
from knickpoint.native.forest import Forest, take_parts
from knickpoint.native.segmentation import BARS, CERTAIN, Segmentation, segment

__all__ = ["FALSE_ALARMS", "METHOD", "default_bound", "detect_default"]

FALSE_ALARMS: Final = 0.08
"""False alarms per 1,000 commits without a change that the default accepts."""

_MODEL: Final = Path(__file__).parent / "forest.json"

_REASONS: Final = 8
"""How many features a candidate names as its reasons; the others are summed up."""


@dataclass(frozen=True, slots=True)
class _Model:
    """Hold the forest, its score before any feature, each one's name and that of its part, and the bound for each rate of false alarms."""

    forest: Forest
    start: float
    names: tuple[tuple[str, str], ...]
    rates: tuple[float, ...]
    bounds: tuple[float, ...]

    def bound(self, false_alarms: float) -> float:
        """Return the log-odds that a candidate needs, falling as the rate of false alarms grows."""
        logs = [math.log(rate) for rate in self.rates]
        wanted = math.log(false_alarms)
        place = min(max(int(np.searchsorted(logs, wanted)) - 1, 0), len(logs) - 2)
        slope = (self.bounds[place + 1] - self.bounds[place]) / (logs[place + 1] - logs[place])
        return self.bounds[place] + slope * (wanted - logs[place])


@cache
def _model() -> _Model:
    data = json.loads(_MODEL.read_bytes())
    nodes = data["nodes"]
    forest = Forest(
        base=data["base"],
        root=np.array(data["root"], np.int32),
        feature=np.array(nodes["feature"], np.int32),
        below=np.array(nodes["below"], np.int32),
        above=np.array(nodes["above"], np.int32),
        bound=np.array(nodes["bound"]),
        value=np.array(nodes["value"]),
    )
    rates, bounds = zip(*data["calibration"], strict=True)
    start = forest.base + float(forest.value[forest.root].sum())
    names = tuple((name, f"{name}: adds to the log-odds") for name in data["features"])
    return _Model(forest, start, names, rates, bounds)


def _certainty(proof: tuple[float, ...], *, accepted: bool) -> tuple[Check, ...]:
    """Return whether the change is certain whatever the trees say, why, and how sure its place is.

    What the trees alone accepted needs no certainty, so its numbers stand beside no bound.
    """
    jump, agree, chance, interval = proof
    reached = [bar for bar in BARS if jump >= bar[0] and chance <= bar[1]]
    least, most = reached[0] if reached else BARS[0]
    wide, rare = "jump of the medians / noise around it", "runs like it by chance per 1,000 values"
    bare = accepted and not reached
    return (
        Check(wide, jump) if bare else Check(wide, jump, ">=", least, jump >= least),
        Check("values of the shorter level that agree", agree),
        Check(rare, chance) if bare else Check(rare, chance, "<=", most, chance <= most),
        Check("certain by these: adds to the log-odds", CERTAIN if reached else 0.0),
        Check("interval of location", interval),
    )


def _checks(model: _Model, found: Segmentation, row: int, bound: float) -> tuple[Check, ...]:
    """Return the score with its bound, and what it is the sum of: certainty, the strongest features, the others, the start."""
    score = float(found.scores[row])
    added = take_parts(model.forest, found.features[row])
    strongest = np.argsort(-np.abs(added), kind="stable")[:_REASONS].tolist()
    numbers, parts = found.features[row].tolist(), added.tolist()
    certainty = _certainty(tuple(found.proofs[row].tolist()), accepted=score >= bound)
    checks = [Check("log-odds of a change", score, ">=", bound, score >= bound), *certainty]
    rest = score - model.start - sum(check.value for check in certainty if "log-odds" in check.name)
    for feature in strongest:
        name, part = model.names[feature]
        checks.append(Check(name, numbers[feature]))
        checks.append(Check(part, parts[feature]))
        rest -= parts[feature]
    checks.append(Check("all other features: add to the log-odds", rest))
    checks.append(Check("log-odds before any feature", model.start))
    return tuple(checks)


def _reason(score: float, bound: float, false_alarms: float) -> str:
    chance = 1 / (1 + math.exp(-score))
    needed = 1 / (1 + math.exp(-bound))
    return (
        f"the chance of a change is {chance:.2g}, below the {needed:.2g} that keeps false alarms at "
        f"{false_alarms:g} per 1,000 commits"
    )


@lru_cache(maxsize=64)
def default_bound(false_alarms: float = FALSE_ALARMS) -> float:
    """Return the log-odds that a candidate needs at a rate of false alarms per 1,000 commits."""
    return _model().bound(false_alarms)


def detect_default(
    values: NDArray[np.float64], *, false_alarms: float = FALSE_ALARMS, candidates: bool = True
) -> Detection:
    """Find changes of level in a series; this is the method to use when in doubt.

    ``false_alarms`` is how many false alarms per 1,000 commits you accept in a series without change, as measured on
    real benchmark histories. More finds smaller changes; whatever a smaller number finds, a larger one finds, too. A
    level shorter than 3 measured values is never reported, so a lone spike is not a finding. A level of 3 or more that
    lies so far from both neighbours that chance does not put it there is always reported. ``candidates`` says whether
    to give the candidates, too; without them it takes less time.

    The score of a step is the log-odds that it is a change; it is no p-value. Its evidence has the half width of its
    interval of location in measured values, as "interval of location". Time is linear in the length.

    Raises:
        SeriesError: the values are not one series of finite or missing numbers.
        InputError: ``false_alarms`` is not above 0 and at most 1,000.
    """
    if not 0 < false_alarms <= 1000:
        raise InputError(
            f"false_alarms is {false_alarms}",
            remedy=f"Give how many false alarms per 1,000 commits are bearable, above 0 and at most 1,000, such as {FALSE_ALARMS:g}.",
        )
    series = drop_missing(values)
    model = _model()
    bound = default_bound(false_alarms)
    found = segment(series.values, model.forest, bound)
    rows = series.rows[found.indices].tolist()
    scores = found.scores.tolist()
    stays = np.flatnonzero(found.rounds < 0).tolist()
    evidence = {row: _checks(model, found, row, bound) for row in (range(len(rows)) if candidates else stays)}
    strongest = sorted(stays, key=lambda row: -scores[row])
    steps = build_steps(
        values,
        [rows[row] for row in strongest],
        method="default",
        scores=[scores[row] for row in strongest],
        evidence=[evidence[row] for row in strongest],
    )
    described: list[Candidate] = []
    if candidates:
        kept = set(stays)
        described = [
            Candidate(rows[row], row in kept, checks, "" if row in kept else _reason(scores[row], bound, false_alarms))
            for row, checks in evidence.items()
        ]
        described.sort(key=lambda candidate: candidate.index)
    scale, phi, square, tail = found.facts
    return Detection(
        method="default",
        parameters={"false_alarms": false_alarms},
        steps=steps,
        candidates=tuple(described),
        facts={
            "noise (standard deviation)": scale,
            "autocorrelation at lag 1": phi,
            "mean square of the noise": square,
            "share beyond 4 standard deviations": tail,
            "candidates": float(len(rows)),
        },
    )


METHOD: Final = Method("default", MethodKind.SERIES, detect_default, releases_gil=True)
