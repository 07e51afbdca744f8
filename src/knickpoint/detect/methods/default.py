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

__all__ = ["THREADS", "detect_default"]

THREADS: Final = True

_REASONS: Final = 8
"""How many features a candidate names as its reasons; the others are summed up."""


@dataclass(frozen=True, slots=True)
class _Model:
    """Hold the forest, the names of its features, and the bound for each rate of false alarms."""

    forest: Forest
    names: tuple[str, ...]
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
    return _Model(forest, tuple(data["features"]), rates, bounds)


def _checks(model: _Model, found: Segmentation, row: int, bound: float) -> tuple[Check, ...]:
    score = float(found.scores[row])
    parts = found.parts[row]
    strongest = np.argsort(-np.abs(parts), kind="stable")[:_REASONS]
    checks = [Check("log-odds of a change", score, ">=", bound, score >= bound)]
    named = 0.0
    for feature in strongest.tolist():
        part = float(parts[feature])
        named += part
        checks.append(Check(model.names[feature], float(found.features[row, feature])))
        checks.append(Check(f"{model.names[feature]}: adds to the log-odds", part))
    checks.append(Check("all other features: add to the log-odds", score - model.forest.base - named))
    checks.append(Check("log-odds before any feature", model.forest.base))
    return tuple(checks)


def _reason(score: float, bound: float, false_alarms: float) -> str:
    chance = 1 / (1 + math.exp(-score))
    needed = 1 / (1 + math.exp(-bound))
    return (
        f"the chance of a change is {chance:.2g}, below the {needed:.2g} that keeps false alarms at "
        f"{false_alarms:g} per 1,000 commits"
    )


def detect_default(values: NDArray[np.float64], *, false_alarms: float = 0.4) -> Detection:
    """Find changes of level in a series; this is the method to use when in doubt.

    ``false_alarms`` is how many false alarms per 1,000 commits you accept in a series without change, as measured on
    real benchmark histories. More finds smaller changes; whatever a smaller number finds, a larger one finds, too. A
    level shorter than 3 measured values is never reported, so a lone spike is not a finding.

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
    parameters = {"false_alarms": false_alarms}
    series = read_series(values)
    model = _model()
    bound = model.bound(false_alarms)
    found = segment(series.values, model.forest, bound)
    rows = series.rows[found.indices]
    stays = found.rounds < 0
    evidence = [_checks(model, found, row, bound) for row in range(rows.size)]
    scores = found.scores.tolist()
    candidates = tuple(
        Candidate(index, accepted, evidence[row], "" if accepted else _reason(scores[row], bound, false_alarms))
        for row, (index, accepted) in enumerate(zip(rows.tolist(), stays.tolist(), strict=True))
    )
    accepted = np.flatnonzero(stays)
    strongest = np.argsort(-found.scores[accepted], kind="stable")
    orders = np.empty(accepted.size, np.int64)
    orders[strongest] = np.arange(accepted.size)
    scale, phi, square, tail = found.facts
    return Detection(
        method="default",
        parameters=parameters,
        steps=build_steps(
            values,
            rows[accepted],
            method="default",
            scores=found.scores[accepted].tolist(),
            orders=orders.tolist(),
            evidence=[evidence[row] for row in accepted],
        ),
        candidates=tuple(sorted(candidates, key=lambda candidate: candidate.index)),
        facts={
            "noise (standard deviation)": scale,
            "autocorrelation at lag 1": phi,
            "mean square of the noise": square,
            "share beyond 4 standard deviations": tail,
            "candidates": float(rows.size),
        },
    )
