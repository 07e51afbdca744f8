"""Time one peer on one file of values, in the peer's own environment, whenever it is asked to.

``python detect_peers.py PEER FILE REPEATS [FILE…]`` prints ``{"seconds": best, "found": …}`` as a line of JSON for each
line that it reads. Of ours only the stopwatch is imported here: the environments hold the peers alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from stopwatch import fastest

__all__: list[str] = []


def _spa(values: Any, _: list[str]) -> Callable[[], Any]:
    e_divisive = import_module("signal_processing_algorithms.energy_statistics.energy_statistics").e_divisive

    def call() -> list[int]:
        np.random.seed(1234)  # noqa: NPY002 - the peer draws from the global state
        return [int(index) for index in e_divisive(values, pvalue=0.05, permutations=100)]

    return call


def _otava(values: Any, _: list[str]) -> Callable[[], Any]:
    compute_change_points = import_module("otava.analysis").compute_change_points

    many = [row[~np.isnan(row)].tolist() for row in np.atleast_2d(values)]

    def call() -> list[list[int]]:
        return [[int(point.index) for point in compute_change_points(row)[0]] for row in many]

    return call


def _pelt(values: Any, _: list[str]) -> Callable[[], Any]:
    ruptures = import_module("ruptures")

    many = np.atleast_2d(values)

    def call() -> int:
        noise = [float(np.median(np.abs(np.diff(row)))) / 0.954 for row in many]
        return sum(
            len(ruptures.Pelt(model="l2").fit(row).predict(pen=2 * spread**2 * np.log(row.size)))
            for row, spread in zip(many, noise, strict=True)
        )

    return call


def _sklearn(values: Any, files: list[str]) -> Callable[[], Any]:
    cluster = import_module("sklearn.cluster")
    threadpool_limits = import_module("threadpoolctl").threadpool_limits

    start = np.load(files[0])

    def call() -> float:
        centred = values - values.mean(axis=1, keepdims=True)
        shapes = (centred / centred.std(axis=1, keepdims=True)).astype(np.float32)
        model = cluster.KMeans(len(start), init=start, n_init=1, tol=0.0, max_iter=300, algorithm="lloyd").fit(shapes)
        for centroid in model.cluster_centers_:
            middle = centroid.size // 2
            before, after = centroid[:middle], centroid[middle:]
            error = np.sqrt(np.square(before - before.mean()).sum() + np.square(after - after.mean()).sum())
            (before.mean() - after.mean()) / max(float(error) / centroid.size, 1e-9)
        return float(model.inertia_)

    threadpool_limits(1)
    return call


def main() -> None:
    """Run the peer that the command line names, once for each line of the standard input."""
    peer, file, repeats, *rest = sys.argv[1:]
    prepare = {"otava": _otava, "pelt": _pelt, "sklearn": _sklearn, "spa": _spa}[peer]
    call = prepare(np.load(file), rest)
    for _ in sys.stdin:
        seconds, found = fastest(call, int(repeats))
        print(json.dumps({"seconds": seconds, "found": found}), flush=True)


if __name__ == "__main__":
    main()
