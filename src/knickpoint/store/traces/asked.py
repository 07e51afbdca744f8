"""What results ask of the catalogue, the rows of identities that may answer, and the traces that were found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.unit import Better
from knickpoint.store.traces.key_digests import digest_each
from knickpoint.store.traces.units import StoredUnit

__all__ = ["BETTERS", "UNKNOWN", "Asked", "Found", "IdentityRows"]

BETTERS: Final = tuple(Better)
"""Directions by their code."""
UNKNOWN: Final = BETTERS.index(Better.UNKNOWN)


@dataclass(frozen=True, slots=True)
class Found:
    """Say which trace each result belongs to: ids and the traces' units, both of the results' length."""

    ids: NDArray[np.int64]
    units: NDArray[np.int64]
    new: NDArray[np.int64]


@dataclass(frozen=True)
class Asked:
    """The results that need a trace each, as columns of one length.

    ``betters`` are codes of ``list(Better)``; ``measured`` is false for results that failed or were skipped.
    """

    keys: Sequence[str]
    units: Sequence[StoredUnit]
    betters: NDArray[np.integer[Any]]
    measured: NDArray[np.bool_]

    @property
    def digests(self) -> NDArray[np.int64]:
        """The digests of the keys, computed at each call."""
        return digest_each(self.keys)

    def facts(self, places: NDArray[np.integer[Any]] | Sequence[int]) -> NDArray[np.int64]:
        """Return unit, dimension and stated direction of traces that begin with the results ``places``, a row each."""
        rows = np.asarray(places, dtype=np.int64)
        units = [self.units[place] for place in rows.tolist()]
        found = np.array([(unit.id, unit.dimension) for unit in units], dtype=np.int64).reshape(-1, 2)
        found[~self.measured[rows]] = 0
        return np.column_stack([found, self.stated[rows]])

    @cached_property
    def stated(self) -> NDArray[np.int64]:
        """The directions where they are others than the units say, UNKNOWN elsewhere.

        Only these are stored: what a unit says is looked up when a trace is read, so that it can be learned later.
        """
        codes = self.betters.astype(np.int64)
        known = {id(unit): BETTERS.index(unit.unit.better) for unit in self.units}
        implied = np.array([known[id(unit)] for unit in self.units], dtype=np.int64)
        return np.where(self.measured & (codes == implied), UNKNOWN, codes)


@dataclass(frozen=True, slots=True)
class IdentityRows:
    """Hold rows of the identity table as columns, sorted by high."""

    high: NDArray[np.int64]
    low: NDArray[np.int64]
    dimension: NDArray[np.int64]
    trace: NDArray[np.int64]
    unit: NDArray[np.int64]
    better: NDArray[np.int64]

    def match(self, digests: NDArray[np.int64], dimensions: NDArray[np.int64] | None) -> NDArray[np.int64]:
        """Return the row of each digest (and dimension, where given), -1 for none; of many, the oldest trace."""
        found = np.full(len(digests), -1, dtype=np.int64)
        if not len(self.high):
            return found
        first = np.searchsorted(self.high, digests[:, 0], "left")
        many = np.searchsorted(self.high, digests[:, 0], "right") - first
        for step in range(int(many.max(initial=0)) - 1, -1, -1):
            place = np.minimum(first + step, len(self.high) - 1)
            good = (step < many) & (self.low[place] == digests[:, 1])
            if dimensions is not None:
                good &= self.dimension[place] == dimensions
            found[good] = place[good]
        return found
