"""Remember where a series had steps, for as long as the series that it has become may be compared with it.

To settle a step, detection looks at a series without its newest values. Where results arrive commit by commit, that is the series of
an earlier commit, in which detection ran then. The record is ``docs/decisions/0374-a-worker-remembers-views.md``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.step import Step
from knickpoint.watch.detection.sightings import location_interval

__all__ = ["FoundPlace", "SeenViews", "ViewMemory", "place_of"]

_MOST: Final = 500_000
"""Series that are remembered, of about 160 bytes each: the newest half of them in any case, the others until these are as many."""

_PLACE: Final = struct.Struct("<iibi")


class FoundPlace(NamedTuple):
    """Where a step lies in its series, as far as another view of it is compared.

    ``previous`` and ``first`` are rows of the series: the change lies in (previous, first]. ``movement`` is +1 or -1, and
    ``interval`` is how many measured commits the method may be off.
    """

    previous: int
    first: int
    movement: int
    interval: int


def place_of(step: Step) -> FoundPlace:
    """Return where ``step`` lies."""
    return FoundPlace(step.previous, step.index, 1 if step.size > 0 else -1, location_interval(step))


class ViewMemory:
    """The places of the steps of series that were seen.

    A series is known by a digest of its values up to the last measured one and of the method with its parameters, on which the
    steps alone depend. So an answer from memory is the answer that detection gives. One thread at a time may use it.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._half = max(1, most // 2)
        self._newer: dict[bytes, bytes] = {}
        self._older: dict[bytes, bytes] = {}

    def __len__(self) -> int:
        """Return how many series are remembered."""
        return len(self._newer) + len(self._older)

    def of(self, method: str, parameters: Mapping[str, float | int | str | bool]) -> SeenViews:
        """Return what is remembered of a method with its parameters."""
        named = repr((method, sorted(parameters.items())))
        return SeenViews(self, blake2b(named.encode(), digest_size=32).digest())

    def recall(self, key: bytes) -> bytes | None:
        """Return what was remembered under a key, None for nothing."""
        found = self._newer.get(key)
        return self._older.get(key) if found is None else found

    def remember(self, key: bytes, places: bytes) -> None:
        """Remember something; what is older than half of all goes when as much is new."""
        if len(self._newer) >= self._half:
            self._newer, self._older = {}, self._newer
        self._newer[key] = places


class SeenViews:
    """What a memory holds of one method with its parameters."""

    def __init__(self, memory: ViewMemory, method: bytes) -> None:
        self._memory = memory
        self._method = method

    def places(self, series: NDArray[np.floating[Any]]) -> tuple[FoundPlace, ...] | None:
        """Return the steps of a series that ends with a measured value, None where it is not remembered."""
        found = self._memory.recall(self._key(series))
        return None if found is None else tuple(map(FoundPlace._make, _PLACE.iter_unpack(found)))

    def remember(self, series: NDArray[np.floating[Any]], places: Sequence[FoundPlace]) -> None:
        """Remember the steps of a series that ends with a measured value."""
        self._memory.remember(self._key(series), b"".join(_PLACE.pack(*place) for place in places))

    def _key(self, series: NDArray[np.floating[Any]]) -> bytes:
        return blake2b(series.astype(np.float64).tobytes(), digest_size=16, key=self._method).digest()
