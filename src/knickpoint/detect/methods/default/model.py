"""The trained model of the default method: its forest, and the bound for each rate of false alarms.

``benchmarks/train_default.py`` learns it and writes ``forest.json``.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

import numpy as np

from knickpoint.native.forest import Forest

FALSE_ALARMS: Final = 0.08
"""False alarms per 1,000 commits without a change that the default accepts."""

RARER: Final = 0.5
"""Log-odds by which the bound rises for each factor of e below the default rate, as on generated noise."""

_FILE: Final = Path(__file__).parent / "forest.json"


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """The forest, and what its numbers mean.

    Attributes:
        forest: the decision trees, whose values add up to log-odds.
        start: log-odds of a candidate before any feature counts.
        features: for each feature its name, and the name of the check that says what it added.
        rates: rates of false alarms per 1,000 commits, ascending.
        bounds: the log-odds that a candidate needs at each of the rates.
    """

    forest: Forest
    start: float
    features: tuple[tuple[str, str], ...]
    rates: tuple[float, ...]
    bounds: tuple[float, ...]

    def bound(self, false_alarms: float) -> float:
        """Return the log-odds that a candidate needs, interpolated or extrapolated in the logarithm of the rate.

        Below the default rate too few alarms are left to measure, and each factor of e costs :data:`RARER`.
        """
        if false_alarms < FALSE_ALARMS:
            return self.bound(FALSE_ALARMS) + RARER * math.log(FALSE_ALARMS / false_alarms)
        logs = [math.log(rate) for rate in self.rates]
        log_rate = math.log(false_alarms)
        below = min(max(int(np.searchsorted(logs, log_rate)) - 1, 0), len(logs) - 2)
        slope = (self.bounds[below + 1] - self.bounds[below]) / (logs[below + 1] - logs[below])
        return self.bounds[below] + slope * (log_rate - logs[below])


@cache
def load_model() -> TrainedModel:
    """Read the model; it is read once."""
    data = json.loads(_FILE.read_bytes())
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
    features = tuple((name, f"{name}: adds to the log-odds") for name in data["features"])
    return TrainedModel(forest, start, features, rates, bounds)


@lru_cache(maxsize=64)
def default_bound(false_alarms: float = FALSE_ALARMS) -> float:
    """Return the log-odds that a candidate needs at a rate of false alarms per 1,000 commits."""
    return load_model().bound(false_alarms)


def rate_of_bound(bound: float) -> float:
    """Return the rate of false alarms per 1,000 commits at which a candidate needs ``bound``, up to the default."""
    return FALSE_ALARMS * math.exp(-max(0.0, bound - default_bound()) / RARER)
