"""Steps and the evidence for them: the results of every detection method."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from operator import attrgetter
from typing import Any, Final, Self

from knickpoint.model.settlement import FindingKind

LOCATION_INTERVAL: Final = "interval of location"
"""Name of the check in which a method says how many measured commits its step may be off."""


class Movement(Enum):
    """Which way the values moved; whether that is good depends on the trace."""

    UP = "up"
    DOWN = "down"

    @classmethod
    def of(cls, difference: float) -> Movement:
        """Return the movement of values that differ by ``difference``, which is not 0."""
        return cls.UP if difference > 0 else cls.DOWN


class Verdict(Enum):
    """The verdict on new samples, a patch, a canary, or one device against another."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    UNCHANGED = "unchanged"
    UNSTABLE = "unstable"
    NO_DATA = "no data"


@dataclass(frozen=True, slots=True)
class StableRegion:
    """The values of one level.

    ``first`` and ``last`` are 0-based indices into the series, both inclusive; missing values in between
    are not counted in ``count`` and take no part in the statistics. ``variance`` is the sample variance
    (divisor ``count - 1``), 0 for a single value.
    """

    first: int
    last: int
    count: int
    minimum: float
    maximum: float
    median: float
    mean: float
    variance: float


@dataclass(frozen=True, slots=True)
class Check:
    """One number that a method compared with a bound, and whether it passed.

    ``relation`` is the comparison that passes: ``">="``, ``">"``, ``"<="``, ``"<"``. A check without a
    bound (``relation == ""``) only reports a number and always passes.
    """

    name: str
    value: float
    relation: str = ""
    bound: float | None = None
    passed: bool = True


@dataclass(frozen=True, slots=True)
class SizeEstimate:
    """How large a change is, from robust levels on both sides, and how well that is known.

    ``before`` and ``after`` are the levels right before and right after a step, or at the start and at the end of a
    drift. The size is their difference; it lies between ``low`` and ``high`` with 95 %. ``sign`` is the chance that it
    has the right sign; these three are nan where there are too few values. ``slope`` is how much the level moves from
    one measured value to the next around a step, or along a drift. ``deviation`` is that of single values around the
    levels.
    """

    before: float
    after: float
    low: float
    high: float
    sign: float
    slope: float
    deviation: float


@dataclass(frozen=True, slots=True)
class Candidate:
    """An index at which a method considered a step, with its checks in the order in which they were made.

    ``accepted`` is true if it became a step. ``reason`` is why it was rejected, in plain words; "" if it was accepted.
    """

    index: int
    accepted: bool
    checks: tuple[Check, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """A change of level, or what ``kind`` names.

    ``index`` is the 0-based first point of the new level and ``previous`` the last measured point before it: the change
    lies in (previous, index]. ``size`` is mean after - mean before, ``relative_size`` is size / |mean before| (``inf``
    or ``-inf`` where that is 0), ``hazard`` = log(mean before / mean after) is ``nan`` where a mean is not positive.
    Where there is an ``estimate``, its levels take the place of the means: a step on top of a drift is as large as its
    jump.

    The levels and the size of a finding of the kind NOISE are standard deviations around the level. A drift begins at
    ``index`` and goes on to the last point of ``after``; its size is what it moved in all. ``score`` is the strength by
    the method, larger is stronger; ``p_value`` is None for a method without a probability. ``order`` counts from 0 in
    the order of detection. ``label`` is the entry at ``index`` of the index that the values came with, such as that of
    a pandas series.
    """

    index: int
    previous: int
    before: StableRegion
    after: StableRegion
    size: float
    relative_size: float
    hazard: float
    score: float
    p_value: float | None
    order: int
    method: str
    evidence: tuple[Check, ...] = ()
    kind: FindingKind = FindingKind.STEP
    estimate: SizeEstimate | None = None
    label: object = None

    @property
    def movement(self) -> Movement:
        """Which way the values moved."""
        return Movement.UP if self.size > 0 else Movement.DOWN


class _Late:
    """A slot that may hold a function instead of its value, which is made when it is read for the first time."""

    def __init__(self, slot: Any) -> None:
        self._slot = slot

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        """Return the value."""
        value = self._slot.__get__(owner, kind)
        if owner is not None and callable(value):
            value = value()
            self._slot.__set__(owner, value)
        return value

    def __set__(self, owner: object, value: object) -> None:
        """Set the value, or the function that makes it."""
        self._slot.__set__(owner, value)


Step.evidence = _Late(Step.evidence)  # type: ignore[assignment, misc]

_fields_of: Final = attrgetter(*(field.name for field in fields(Step) if field.name != "evidence"))
_EVIDENCE: Final = [field.name for field in fields(Step)].index("evidence")


def with_late_evidence(step: Step, make: Callable[[], tuple[Check, ...]]) -> Step:
    """Return ``step`` with the evidence that ``make`` returns; it is called when somebody reads the evidence."""
    values: list[Any] = [*_fields_of(step)]
    values.insert(_EVIDENCE, make)
    return Step(*values)


@dataclass(frozen=True, slots=True)
class Flipping:
    """A stretch of a series that flips between levels, its modes.

    ``first`` and ``last`` are 0-based indices into the series, both inclusive. ``levels`` are the medians of the modes,
    ascending, and ``shares`` the shares of the measured values at each, which sum to 1.
    """

    first: int
    last: int
    levels: tuple[float, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Detection:
    """All decisions of a method about one series: enough to replay and explain them.

    ``steps`` are sorted by index, ``candidates`` by index and then in the order of examination, including rejected
    ones. ``parameters`` are the effective parameters of the method, including defaults. ``facts`` are its estimates
    about the whole series (noise, autocorrelation, number of modes), by name. ``flipping`` are the stretches in which
    the series flips between levels, ascending, where the method recognises that.
    """

    method: str
    parameters: Mapping[str, float | int | str | bool | None]
    steps: tuple[Step, ...]
    candidates: tuple[Candidate, ...]
    facts: Mapping[str, float]
    flipping: tuple[Flipping, ...] = ()

    @classmethod
    def nothing(cls, method: str, parameters: Mapping[str, float | int | str | bool | None]) -> Self:
        """Return the detection of a series that has too few points to judge."""
        return cls(method, parameters, (), (), {})
