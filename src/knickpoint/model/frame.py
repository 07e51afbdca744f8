"""Frames: traces × commits of a line as one matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.commit import Line
from knickpoint.model.unit_names import Better


@dataclass(frozen=True, slots=True)
class Trace:
    """What names a series in an instance.

    ``key`` is its trace key, ``unit`` the unit of its first point; a key that also came with an
    incompatible unit is another trace with another ``dimension``.
    """

    id: int
    key: str
    unit: str
    dimension: str
    better: Better


@dataclass(frozen=True)
class Frame:
    """Values of ``traces`` at consecutive positions ``first .. first + columns - 1`` of ``line``.

    ``values`` has shape (traces, columns), float32 or float64, NaN for missing. ``slots`` are the slots of
    the columns.
    """

    traces: Sequence[Trace]
    line: Line
    first: int
    slots: NDArray[np.int64]
    values: NDArray[np.floating]

    @property
    def columns(self) -> int:
        """Number of commits."""
        return int(self.values.shape[1])


# Renames of benchmarks: a new trace that continues an old one.


@dataclass(frozen=True, slots=True)
class TraceRename:
    """A rename that a person accepted: the trace ``new`` continues the trace ``old``, both by id."""

    old: int
    new: int
    who: str
    time: datetime
