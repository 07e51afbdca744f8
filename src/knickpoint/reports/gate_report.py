"""What a check found, ready for people: one row a benchmark, what decides, and what was accepted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from knickpoint.model.step import Verdict

__all__ = ["Acceptance", "GateReport", "GateRow", "RowKind", "Standing"]


class RowKind(Enum):
    """What happened to a benchmark, in the order in which it matters."""

    FAILED = "failed"
    VANISHED = "vanished"
    REGRESSED = "regressed"
    UNSTABLE = "unstable"
    NO_DATA = "no data"
    IMPROVED = "improved"
    UNCHANGED = "unchanged"


class Standing(Enum):
    """What a check makes of a row: ``TOLERATED`` is a regression where ``--fail-on`` leaves regressions out."""

    FAILS = "fails"
    TOLERATED = "tolerated"
    ACCEPTED = "accepted"
    PASSES = "passes"


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A commit of the branch accepts that ``benchmark`` is worse, for a reason that its author gives."""

    benchmark: str
    reason: str
    commit: str
    author: str


@dataclass(frozen=True, slots=True)
class GateRow:
    """What happened to one benchmark.

    ``name`` names it for people and ``params`` says where it was measured; ``key`` is its trace key. ``before`` and ``after``
    are levels in ``unit``, ``relative`` the change over |before| and ``margin`` the half-width of its 95 % interval;
    ``detectable`` is the smallest relative change that would have been found in four cases of five. Unknown numbers are nan.
    ``decides`` is false for a statistic beside the main value, and ``canary`` is true for what no commit should change.
    ``address`` is the page of the trace and ``picture`` that of its plot, "" for none.
    """

    key: str
    name: str
    params: str
    kind: RowKind
    verdict: Verdict
    reason: str
    unit: str = ""
    before: float = math.nan
    after: float = math.nan
    relative: float = math.nan
    margin: float = math.nan
    detectable: float = math.nan
    samples: int = 0
    conditional: bool = False
    decides: bool = True
    canary: bool = False
    accepted: Acceptance | None = None
    address: str = ""
    picture: str = ""

    @property
    def order(self) -> tuple[int, float, str]:
        """Sort the worst first: by kind, then by the size of the change."""
        size = abs(self.relative)
        return list(RowKind).index(self.kind), 0.0 if math.isnan(size) else -size, self.key


@dataclass(frozen=True)
class GateReport:
    """The verdict on new results: may they be merged?

    ``base`` is a sentence about what they are compared with. ``fail_on`` are the verdicts that fail the check. Exit code,
    headline and every form of report go by :meth:`standing`.
    ``false_positives`` is the share of unchanged pull requests that fail, set from ``replayed`` past commits. Without ``complete``, measurements that
    were to come are missing, and nothing can be said to have not regressed. Without ``has_history``, nothing of the repository
    is stored yet, so that nothing was compared. ``name`` tells the report from those of other jobs of the same commit, such as the
    jobs of a matrix of machines.
    """

    repository: str
    base: str
    rows: tuple[GateRow, ...]
    false_positives: float
    replayed: int
    fail_on: frozenset[Verdict] = frozenset({Verdict.REGRESSED})
    complete: bool = True
    has_history: bool = True
    name: str = ""

    @cached_property
    def worst_first(self) -> tuple[GateRow, ...]:
        """All rows, the worst first."""
        return tuple(sorted(self.rows, key=lambda row: row.order))

    @cached_property
    def deciding(self) -> tuple[GateRow, ...]:
        """The rows that decide, the worst first; canaries do not, because no commit is the reason when they move."""
        return tuple(row for row in self.worst_first if row.decides and not row.canary)

    @cached_property
    def beside(self) -> tuple[GateRow, ...]:
        """The statistics beside the main values, the worst first."""
        return tuple(row for row in self.worst_first if not row.decides and not row.canary)

    def standing(self, row: GateRow) -> Standing:
        """Return what the check makes of ``row``."""
        if not row.decides or row.canary or row.verdict not in self.fail_on | {Verdict.REGRESSED}:
            return Standing.PASSES
        if row.accepted is not None:
            return Standing.ACCEPTED
        return Standing.FAILS if row.verdict in self.fail_on else Standing.TOLERATED

    @cached_property
    def failures(self) -> tuple[GateRow, ...]:
        """The rows for which the check fails, the worst first."""
        return self._standing(Standing.FAILS)

    @cached_property
    def tolerated(self) -> tuple[GateRow, ...]:
        """The regressions that do not fail the check, because ``fail_on`` leaves them out, the worst first."""
        return self._standing(Standing.TOLERATED)

    @cached_property
    def accepted(self) -> tuple[GateRow, ...]:
        """The rows that would be failures or tolerated if no commit accepted them, the worst first."""
        return self._standing(Standing.ACCEPTED)

    def _standing(self, wanted: Standing) -> tuple[GateRow, ...]:
        return tuple(row for row in self.deciding if self.standing(row) is wanted)

    @cached_property
    def listed(self) -> tuple[GateRow, ...]:
        """The deciding rows that a report lists: those that fail, and all that are not unchanged."""
        return tuple(
            row for row in self.deciding if row.kind is not RowKind.UNCHANGED or self.standing(row) is Standing.FAILS
        )

    @property
    def worst(self) -> GateRow | None:
        """The worst regression with a size, of those that are not accepted first; None without one."""
        worse = (row for row in self.deciding if row.verdict is Verdict.REGRESSED and not math.isnan(row.relative))
        return min(worse, key=lambda row: row.accepted is not None, default=None)

    @cached_property
    def counts(self) -> Mapping[RowKind, int]:
        """How many of the rows that decide are of each kind."""
        found = Counter(row.kind for row in self.deciding)
        return {kind: found[kind] for kind in RowKind}

    @property
    def judged(self) -> bool:
        """Whether there is anything to decide by."""
        return self.complete and any(row.verdict is not Verdict.NO_DATA for row in self.deciding)
