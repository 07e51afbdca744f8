"""When a finding is settled: it was found again with enough of the newest values, so it rarely moves or vanishes.

A change that has just begun is *provisional*: the next values may move it or take it away. It is *settled* when
detection finds it with the newest value, and would have found it already without the last value, without the last two,
and so on: with as many of the newest values in a row as the rule asks for. This depends on the data alone, not on how
many values arrived at a time, nor in which order. See ``docs/decisions/identity-and-settling.md``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum


class FindingKind(Enum):
    """What changed in a benchmark.

    STEP is a change of level, DRIFT a slow one, MODE another share of the levels that the values jump between, and
    NOISE more noise around the same level.
    """

    STEP = "step"
    DRIFT = "drift"
    MODE = "mode"
    NOISE = "noise"

    @property
    def changes_distribution(self) -> bool:
        """Whether the distribution of the values changed, which two levels do not describe."""
        return self in {FindingKind.MODE, FindingKind.NOISE}


class Certainty(Enum):
    """Whether later values may still move a finding or take it away."""

    PROVISIONAL = "provisional"
    SETTLED = "settled"


@dataclass(frozen=True, slots=True)
class SettleRule:
    """How many of the newest values in a row must show a change before it is settled.

    Attributes:
        share: share of the values since the change. A change that detection missed for long has to be found for as much
            longer, because what is found late vanishes often.
        least: smallest number of values, whatever the share.
        most: largest number of values, whatever the share.
    """

    share: float = 0.35
    least: int = 3
    most: int = 24

    def needed(self, later: int) -> int:
        """Return the number of newest values in a row that must show a change with ``later`` values behind it."""
        return min(self.most, max(self.least, math.ceil(self.share * later)))

    def views(self, later: int) -> tuple[int, ...]:
        """Return without how many of the newest values detection must find the change, too, ascending.

        These are the powers of two below :meth:`needed`, and the last one that it asks for: a change that comes and
        goes is missing in one of them, and their number grows with the logarithm only.
        """
        last = self.needed(later) - 1
        if last < 1:
            return ()
        return (*(2**power for power in range(last.bit_length()) if 2**power < last), last)


DEFAULT_RULE = SettleRule()
"""The rule of an alert that states nothing: the record has the curve that it was chosen on."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """Whether a finding is settled, and why.

    While it is provisional, it was found with ``found_with`` of the newest values in a row, of the ``needed`` ones.
    Both are 0 once it is settled.
    """

    certainty: Certainty
    found_with: int = 0
    needed: int = 0

    @property
    def settled(self) -> bool:
        """Whether the finding is settled."""
        return self.certainty is Certainty.SETTLED

    @property
    def reason(self) -> str:
        """Why it is provisional, "" where it is settled."""
        if self.settled:
            return ""
        values = "value" if self.found_with == 1 else "values"
        return f"found with the newest {self.found_with} {values} in a row; {self.needed} settle it"


SETTLED = Settlement(Certainty.SETTLED)
