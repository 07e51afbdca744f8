"""Pack matrices once for all passes over their rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.choice import choose
from knickpoint.native.kmeans import reference

__all__ = ["BLOCK", "Packed", "pack"]

pack = choose(reference.pack)

BLOCK: Final = 2048
"""Rows that a thread takes at a time, a multiple of the rows that lie side by side when packed; sums are added in the order of the blocks."""


@dataclass(frozen=True, eq=False, slots=True)
class Packed:
    """Hold a matrix of float32 without ``nan``, and a second, packed copy of it that the kernels read."""

    rows: NDArray[np.float32]
    form: NDArray[np.float32]

    @classmethod
    def of(cls, rows: NDArray[np.float32] | Packed) -> Packed:
        """Pack ``rows``, unless they are."""
        if isinstance(rows, Packed):
            return rows
        matrix = np.ascontiguousarray(rows, dtype=np.float32)
        return cls(matrix, pack(matrix))
