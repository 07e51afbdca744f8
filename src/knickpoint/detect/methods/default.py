"""The default method: robust segmentation, and a learnt judgement of each candidate.

Candidates come from two cheapest paths over levels with bounded loss, one stiff and one loose. Each is described by
numbers that outliers, changing noise and autocorrelation do not fool, and a small forest of decision trees, learnt on
real histories with known changes (``benchmarks/train_default.py``), gives the log-odds that it is a change of level.
The weakest candidate is dropped and its neighbours are described anew until all that are left reach the bound. The
guide page ``default.md`` tells the whole of it.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect.regions import build_steps
from knickpoint.detect.series import read_series
from knickpoint.model.errors import InputError
from knickpoint.model.step import Candidate, Check, Detection
from knickpoint.native.segmentation import Forest, Segmentation, segment

__all__ = ["FALSE_ALARMS", "THREADS", "default_bound", "detect_default"]

THREADS: Final = True

FALSE_ALARMS: Final = 0.4
"""False alarms per 1,000 commits without a change that the default accepts."""

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
    data = json.loads((files("knickpoint.detect") / "data" / "default.json").read_text())
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


def _checks(model: _Model, found: Segmentation, row: int, bound: float) -> tuple[Check, ...]:
    """Return the score with its bound, and what it is the sum of: the strongest features, the others, the start."""
    score = float(found.scores[row])
    numbers, parts = found.features[row].tolist(), found.parts[row].tolist()
    checks = [Check("log-odds of a change", score, ">=", bound, score >= bound)]
    rest = score - model.start
    for feature in sorted(range(len(parts)), key=lambda feature: -abs(parts[feature]))[:_REASONS]:
        name, added = model.names[feature]
        checks.append(Check(name, numbers[feature]))
        checks.append(Check(added, parts[feature]))
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


def default_bound(false_alarms: float = FALSE_ALARMS) -> float:
    """Return the log-odds that a candidate needs at a rate of false alarms per 1,000 commits."""
    return _model().bound(false_alarms)


def detect_default(
    values: NDArray[np.float64], *, false_alarms: float = FALSE_ALARMS, candidates: bool = True
) -> Detection:
    """Find changes of level in a series; this is the method to use when in doubt.

    ``false_alarms`` is how many false alarms per 1,000 commits you accept in a series without change, as measured on
    real benchmark histories. More finds smaller changes; whatever a smaller number finds, a larger one finds, too. A
    level shorter than 3 measured values is never reported, so a lone spike is not a finding. ``candidates`` says
    whether to give the candidates, too; without them it takes less time.

    The score of a step is the log-odds that it is a change; it is no p-value. Time is linear in the length.

    Raises:
        SeriesError: the values are not one series of finite or missing numbers.
        InputError: ``false_alarms`` is not positive.
    """
    if not false_alarms > 0 or math.isinf(false_alarms):
        raise InputError(
            f"false_alarms is {false_alarms}",
            remedy="Give how many false alarms per 1,000 commits are bearable, a positive number such as 0.4.",
        )
    series = read_series(values)
    model = _model()
    bound = model.bound(false_alarms)
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
