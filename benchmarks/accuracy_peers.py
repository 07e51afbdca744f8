"""Run one peer on many series, in the peer's own environment: values as JSON lines in, places as JSON lines out.

``python accuracy_peers.py PEER``; nothing of ours is imported here. The settings named "tuned" are the best found for
each peer on the labelled series.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

__all__: list[str] = []


def _pelt() -> Callable[[list[float]], list[int]]:
    pelt = import_module("ruptures").Pelt

    def detect(values: list[float]) -> list[int]:
        if len(values) < 10 or np.ptp(values) == 0:
            return []
        return [int(p) for p in pelt(model="rbf", min_size=5, jump=1).fit(np.array(values)).predict(pen=4)[:-1]]

    return detect


def _otava(**options: Any) -> Callable[[list[float]], list[int]]:
    compute_change_points = import_module("otava.analysis").compute_change_points

    def detect(values: list[float]) -> list[int]:
        return [int(point.index) for point in compute_change_points(values, **options)[0]]

    return detect


def main() -> None:
    """Serve one peer until the input ends."""
    makers: dict[str, Callable[[], Callable[[list[float]], list[int]]]] = {
        "pelt": _pelt,
        "otava": _otava,
        "otava-tuned": lambda: _otava(window_len=100, max_pvalue=1e-4, min_magnitude=0.0),
    }
    detect = makers[sys.argv[1]]()
    for line in sys.stdin:
        print(json.dumps(detect(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
