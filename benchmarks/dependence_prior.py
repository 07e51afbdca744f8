"""Learn how likely each autocorrelation is across repositories, for the weighing of steps in short series.

One window of 60 values of each real series of the reference data, less the levels that the default method finds in it.
The shares of autocorrelations from 0 to 0.9 are those that make all windows most likely, each repository with the same
weight. Run it with ``KNICKPOINT_REFERENCE``::

    python benchmarks/dependence_prior.py
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from accuracy_series import place_of_series, read_real
from knickpoint.detect import find_steps
from knickpoint.model.distribution import MAD

_WINDOW: Final = 60
_MOST: Final = 60
"""Windows of a repository."""

_ROUNDS: Final = 200
_LEAST: Final = 1e-4
"""Share that every autocorrelation keeps."""

_PHI: Final = np.arange(0, 0.95, 0.1)

Array = NDArray[np.float64]


def _likelihood(noise: Array) -> Array:
    """Return the logarithm of the likelihood of ``noise`` for each autocorrelation, over all levels and scales."""
    free = 1 - np.square(_PHI)
    flat, seen = (
        np.concatenate([np.sqrt(free)[:, None] * each[0], each[1:] - _PHI[:, None] * each[:-1]], axis=1)
        for each in (np.ones(noise.size), noise)
    )
    of_flat, along = np.square(flat).sum(axis=1), (flat * seen).sum(axis=1)
    left = np.square(seen).sum(axis=1) - np.square(along) / of_flat
    return np.asarray(0.5 * np.log(free) - 0.5 * np.log(of_flat) - (noise.size - 1) / 2 * np.log(left))


def _around_levels(values: Array) -> Array | None:
    """Return ``values`` less their levels, in standard deviations and without outliers; None where most lie on them."""
    bounds = [0, *(step.index for step in find_steps(values)), values.size]
    around = np.concatenate([values[a:b] - np.median(values[a:b]) for a, b in pairwise(bounds)])
    scale = MAD * float(np.median(np.abs(around)))
    return np.clip(around / scale, -3, 3) if scale > 0 else None


def _windows() -> Iterator[tuple[str, Array]]:
    place = place_of_series()
    if place is None:
        raise SystemExit("no series: set KNICKPOINT_REFERENCE to a directory that holds data/dev-series")
    rng, counts = np.random.default_rng(1), dict[str, int]()
    for (repository, _), series in read_real(place).items():
        values = series[np.isfinite(series)]
        if values.size < _WINDOW or counts.get(repository, 0) >= _MOST:
            continue
        first = int(rng.integers(0, values.size - _WINDOW + 1))
        around = _around_levels(values[first : first + _WINDOW])
        if around is not None:
            counts[repository] = counts.get(repository, 0) + 1
            yield repository, around


def main() -> None:
    """Print each autocorrelation with its share."""
    found: dict[str, list[Array]] = {}
    for repository, around in _windows():
        found.setdefault(repository, []).append(_likelihood(around))
    shares = np.full(_PHI.size, 1 / _PHI.size)
    for _ in range(_ROUNDS):
        by_repository = []
        for several in found.values():
            weights = np.exp(np.array(several) - np.max(several, axis=1, keepdims=True)) * shares
            by_repository.append((weights / weights.sum(axis=1, keepdims=True)).mean(axis=0))
        shares = np.mean(by_repository, axis=0) + _LEAST
        shares /= shares.sum()
    for phi, share in zip(_PHI.tolist(), shares.tolist(), strict=True):
        print(f"{phi:.1f}  {share:.3f}")


if __name__ == "__main__":
    main()
