"""Split windows in C."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.native.binding import lib
from knickpoint.native.windows.reference import Note, NoteKind

_KINDS: Final = tuple(NoteKind)


def split_windows(
    values: NDArray[np.float64],
    alpha: float,
    *,
    v_form: bool,
    least: int,
    window: int,
    stride: int,
    first_p: float,
    max_p: float,
    least_magnitude: float,
    population: bool,
    stale: bool,
    refused: bool = True,
) -> list[Note]:
    """Split windows by t-test and take away the weakest; see the reference."""
    found = np.zeros(1, dtype=np.int64)
    most = 64 + values.size // 4
    while True:
        notes = np.empty((most, 5))
        used = lib.kp_windows(
            values,
            values.size,
            alpha,
            v_form,
            least,
            window,
            stride,
            first_p,
            max_p,
            least_magnitude,
            population,
            stale,
            notes,
            most,
            found,
        )
        if used < 0:
            raise MemoryError
        if used <= most:
            kept = notes[0 if refused else used - found[0] : used].tolist()
            return [Note(_KINDS[int(kind)], int(index), q, p, size) for kind, index, q, p, size in kept]
        most = used  # there were more notes than room: split again with enough
