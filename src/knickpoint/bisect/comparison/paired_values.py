"""Collect what the rounds measured: for each benchmark the values of both sides, and their differences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.unit import Better, conversion, read_unit

__all__ = [
    "COMMAND_KEY",
    "EXACT_DIFFERENT",
    "EXACT_EQUAL",
    "MeasuredValue",
    "PairedValues",
    "note_failures",
    "pair_round",
]

COMMAND_KEY: Final = ",benchmark=command,"
"""The trace key of the time of the command itself, where it writes no results."""

EXACT_EQUAL: Final = 2
"""Counted rounds in which an exact value has to be equal to be unchanged."""

EXACT_DIFFERENT: Final = 3
"""Counted rounds in which an exact value has to be different to be changed; with the warm-up, each side has it four times."""

_MEASURED: Final = frozenset({"time", "frequency", "J", "W"})
"""Dimensions that are measured. Others count, but for rates and for units that are not known."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MeasuredValue:
    """What one run gave for one benchmark."""

    value: float
    unit: str = ""
    better: Better = Better.UNKNOWN


@dataclass
class PairedValues:
    """The values of one benchmark by round, nan for missing; those of the head are in the unit of the base.

    The failures are the messages of the runs, the warm-up included, in which it failed.
    """

    key: str
    unit: str = ""
    better: Better = Better.UNKNOWN
    base: list[float] = field(default_factory=list)
    head: list[float] = field(default_factory=list)
    warm: tuple[float, float] = (math.nan, math.nan)
    other_unit: str = ""
    base_failures: list[str] = field(default_factory=list)
    head_failures: list[str] = field(default_factory=list)

    def add(self, base: MeasuredValue | None, head: MeasuredValue | None, rounds: int, *, counted: bool) -> None:
        """Add what a round measured; ``rounds`` were counted before."""
        known = base or head
        if known is not None and not self.unit:
            self.unit = known.unit
            self.better = known.better
        values = self._value(base), self._value(head)
        if not counted:
            self.warm = values
            return
        for side, value in zip((self.base, self.head), values, strict=True):
            side.extend([math.nan] * (rounds - len(side)))
            side.append(value)

    def _value(self, measured: MeasuredValue | None) -> float:
        """Return a value in the unit of this benchmark; nan where there is none, or where it does not convert."""
        if measured is None:
            return math.nan
        if measured.unit == self.unit:
            return measured.value
        source, target = read_unit(measured.unit), read_unit(self.unit)
        if source.dimension != target.dimension:
            self.other_unit = measured.unit
            return math.nan
        return measured.value * conversion(source, target)

    @property
    def upwards(self) -> float:
        """1 where more is worse, -1 where less is, nan where that is unknown."""
        return {Better.LOWER: 1.0, Better.HIGHER: -1.0}.get(self.better, math.nan)

    @property
    def has_base(self) -> bool:
        """Whether the base has it at all."""
        return not np.isnan([*self.base, self.warm[0]]).all()

    @property
    def has_head(self) -> bool:
        """Whether the head has it at all."""
        return not np.isnan([*self.head, self.warm[1]]).all()

    @property
    def logarithmic(self) -> bool:
        """Whether the differences are those of logarithms: all values are positive."""
        values = np.array([*self.base, *self.head])
        return not bool((values <= 0).any())

    def differences(self) -> Array:
        """Return head less base of each round, of the logarithms where possible, nan where a side is missing."""
        base, head = np.array(self.base, dtype=np.float64), np.array(self.head, dtype=np.float64)
        if self.logarithmic:
            base, head = np.log(base), np.log(head)
        found: Array = head - base
        return found

    def centre(self) -> float:
        """Return the median of the base, nan without one."""
        known = [value for value in self.base if not math.isnan(value)]
        return float(np.median(known)) if known else math.nan

    def exact(self) -> bool | None:
        """Return whether an exact value is equal on both sides; None where it is no exact value, or too few rounds say so.

        An exact value is a whole number of something counted that never varies on either side, the warm-up included.
        """
        dimension = read_unit(self.unit).dimension
        if dimension in _MEASURED or dimension.startswith("?") or "/" in dimension:
            return None
        base, head = ({value, *side} for value, side in zip(self.warm, (self.base, self.head), strict=True))
        if len(base) != 1 or len(head) != 1 or len(self.base) < EXACT_EQUAL:
            return None
        (before,), (after,) = base, head
        if not (before.is_integer() and after.is_integer()):
            return None
        if before == after:
            return True
        return False if len(self.base) >= EXACT_DIFFERENT else None


def pair_round(
    known: dict[str, PairedValues],
    base: Mapping[str, MeasuredValue],
    head: Mapping[str, MeasuredValue],
    rounds: int,
    *,
    counted: bool,
) -> None:
    """Add a round to all benchmarks that are known, and to those that are new."""
    for key in [*base, *head]:
        known.setdefault(key, PairedValues(key))
    for key, values in known.items():
        values.add(base.get(key), head.get(key), rounds, counted=counted)


def note_failures(known: dict[str, PairedValues], base: Mapping[str, str], head: Mapping[str, str]) -> None:
    """Add the messages of the benchmarks that failed in a round."""
    for key in [*base, *head]:
        values = known.setdefault(key, PairedValues(key))
        if key in base:
            values.base_failures.append(base[key])
        if key in head:
            values.head_failures.append(head[key])
