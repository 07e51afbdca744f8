"""Cache where series had steps, for the series that they become with further values.

To settle a step, detection looks at a series without its newest values. Where results arrive commit by commit, that is the series of
an earlier commit, in which detection ran then. See ``docs/decisions/runs-of-detection.md``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.step import Step
from knickpoint.watch.detection.sightings import location_interval
from knickpoint.watch.identity.point_matching import StepLocation

__all__ = ["MethodViews", "ViewCache", "location_of"]

_MOST: Final = 500_000
"""Cached series, of about 160 bytes each: the newer half stays, and the older half goes when the newer one is full."""

_LOCATION: Final = struct.Struct("<iiibi")


def location_of(step: Step, measured: NDArray[np.int64]) -> StepLocation:
    """Return where ``step`` lies in a series with values at the positions ``measured``."""
    rank = int(np.searchsorted(measured, step.index))
    return StepLocation(step.previous, step.index, rank, 1 if step.size > 0 else -1, location_interval(step))


class ViewCache:
    """The locations of the steps of series in which a worker has detected.

    A series is known by a digest of its values up to the last measured one and of the method with its parameters, on which the
    steps alone depend. So a cached answer is the answer that detection gives. One thread at a time may use it.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._half = max(1, most // 2)
        self._newer: dict[bytes, bytes] = {}
        self._older: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        """Return how many series are cached."""
        return len(self._newer) + len(self._older)

    def of(self, method: str, parameters: Mapping[str, float | int | str | bool]) -> MethodViews:
        """Return the part of the cache for a method with its parameters."""
        named = repr((method, sorted(parameters.items())))
        return MethodViews(self, blake2b(named.encode(), digest_size=32).digest())

    def get(self, key: bytes) -> bytes | None:
        """Return what is cached under a key, None for nothing."""
        found = self._newer.get(key)
        return self._older.get(key) if found is None else found

    def put(self, key: bytes, locations: bytes) -> None:
        """Cache something; the older half goes when the newer one is full."""
        if len(self._newer) >= self._half:
            self._newer, self._older = {}, self._newer
        self._newer[key] = locations


class MethodViews:
    """The cached series of one method with its parameters."""

    def __init__(self, cache: ViewCache, method: bytes) -> None:
        self._cache = cache
        self._method = method

    def get(self, series: NDArray[np.floating[Any]]) -> tuple[StepLocation, ...] | None:
        """Return the steps of a series that ends with a measured value, None where it is not cached."""
        found = self._cache.get(self._key(series))
        return None if found is None else tuple(map(StepLocation._make, _LOCATION.iter_unpack(found)))

    def put(self, series: NDArray[np.floating[Any]], locations: Sequence[StepLocation]) -> None:
        """Cache the steps of a series that ends with a measured value."""
        self._cache.put(self._key(series), b"".join(_LOCATION.pack(*each) for each in locations))

    def _key(self, series: NDArray[np.floating[Any]]) -> bytes:
        return blake2b(series.astype(np.float64).tobytes(), digest_size=16, key=self._method).digest()
