"""Quarantined results: results of a machine and run that moved themselves, and not because of a commit.

A *canary* is a benchmark that no commit should change. Where it moves, or where a fact of the machine changes (kernel,
CPU, compiler), the other results of that run are suspect. They are *quarantined*: they take no part in levels, and
findings at that place are *held*, until an outcome is known. See
``docs/decisions/missing-data-quarantine-canaries.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from knickpoint.model.quantity_text import figure_text


class QuarantineState(Enum):
    """What is known about quarantined results.

    QUARANTINED: no outcome yet; findings at that place are held. KEPT_OUT: the machine is as before again, so the
    results stay out of levels for good. ENVIRONMENT_CHANGED: the machine stays as it is now, so the results count.
    NOT_CONFIRMED: no outcome arrived in time, so the results count. LIFTED: a person says that they count. UNFOUNDED:
    with the data of today there is no reason, so they count.
    """

    QUARANTINED = "quarantined"
    KEPT_OUT = "kept-out"
    ENVIRONMENT_CHANGED = "environment-changed"
    NOT_CONFIRMED = "not-confirmed"
    LIFTED = "lifted"
    UNFOUNDED = "unfounded"

    @property
    def holds(self) -> bool:
        """Whether findings at that place are held."""
        return self is QuarantineState.QUARANTINED

    @property
    def withholds(self) -> bool:
        """Whether the results take no part in levels."""
        return self in {QuarantineState.QUARANTINED, QuarantineState.KEPT_OUT}


@dataclass(frozen=True, slots=True)
class CanaryMove:
    """A canary that moved in a run: its ``value`` lies outside ``low`` to ``high``, the noise around its ``level``.

    ``canary`` is the name of the canary in the configuration, or of the alert of the kind ``canary``.
    """

    canary: str
    trace_id: int
    trace_key: str
    unit: str
    value: float
    level: float
    low: float
    high: float

    @property
    def relative_size(self) -> float:
        """The value less the level, over |level|; 0 where the level is 0."""
        return (self.value - self.level) / abs(self.level) if self.level else 0.0

    def __str__(self) -> str:
        """Name the canary that moved, and the size."""
        noise = max(self.high - self.level, self.level - self.low) / abs(self.level) if self.level else 0.0
        return (
            f"canary {self.canary} moved by {figure_text(self.relative_size, '+.1%')} (its noise is "
            f"±{figure_text(noise, '.1%')})"
        )


@dataclass(frozen=True, slots=True)
class FactChange:
    """A fact of a machine that changed: what it was, and what it is in the run."""

    name: str
    before: str
    after: str

    def __str__(self) -> str:
        """Describe the change."""
        return f"{self.name} changed from {self.before} to {self.after}"


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The quarantine of the results of one run.

    Attributes:
        id: number in the store.
        repository_id: the repository of the run.
        identity: the identity of the run; one run has one quarantine at most.
        run_id: the run.
        slot: the commit that the run measured.
        machine: the machine of the run, "" where it names none.
        state: what is known.
        since: when the results became suspect: when the run ran, or was imported where it does not state the time.
        until: without an outcome, they count from then on.
        moves: the canaries that moved.
        facts: the facts of the machine that changed.
        traces: how many traces the run measured, canaries not counted.
        outcome: why the quarantine ended, "" while it has not.
        who: the person who lifted it, "" for none.
    """

    id: int
    repository_id: int
    identity: str
    run_id: int
    slot: int
    machine: str
    state: QuarantineState
    since: datetime
    until: datetime
    moves: tuple[CanaryMove, ...] = ()
    facts: tuple[FactChange, ...] = ()
    traces: int = 0
    outcome: str = ""
    who: str = ""

    @property
    def reason(self) -> str:
        """Why the results are suspect, in words."""
        parts = [str(each) for each in (*self.moves, *self.facts)]
        return "; ".join(parts) + (f" on {self.machine}" if self.machine and parts else "")
