"""What an explanation consists of: alerts, their candidates and steps, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass

from knickpoint.model.alert import Alert
from knickpoint.model.change_point import ChangePoint, Sighting
from knickpoint.model.commit import SlottedCommit
from knickpoint.model.frame import Trace
from knickpoint.model.quarantine import Quarantine
from knickpoint.model.statement import ChangeCondition, ChangeDirection
from knickpoint.model.step import Candidate, Check, Detection, Flipping
from knickpoint.watch.mode_causes import ModeCause

__all__ = [
    "AlertExplanation",
    "ExplainedBisection",
    "ExplainedCandidate",
    "ExplainedChange",
    "ExplainedFlipping",
    "ExplainedQuarantine",
    "ExplainedStep",
    "Explanation",
]


@dataclass(frozen=True, slots=True)
class ExplainedCandidate:
    """A possible step that the method examined: ``commit`` is the first one of the new level.

    Where the method judges traces together, it is the step of a cluster that the trace was judged for: ``note`` says what the
    trace is to the cluster, and ``point`` is its change point there, None without one.
    """

    commit: SlottedCommit
    candidate: Candidate
    note: str = ""
    point: ChangePoint | None = None


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """A step that the method accepted, and what became of it.

    ``reason`` says why the alert did not report it, "" where it did. ``point`` is its change point, None without one
    (refused, or the alert has not run since the data changed). ``evidence`` weighs the values since the step against those
    before it, which settles it while few values follow, and says what samples its levels rest on, where the alert judges them.
    ``machine`` says what changed about the machine there, "" if nothing did, and ``note`` how the distribution of the values changed, for a
    change of the noise. ``distance`` counts the measured commits from the
    commit that was asked for to its range, 0 where that is inside or none was.
    """

    sighting: Sighting
    commit: SlottedCommit
    reason: str
    point: ChangePoint | None
    evidence: tuple[Check, ...]
    machine: str = ""
    distance: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class ExplainedFlipping:
    """A stretch of the trace that flips between levels, from the commit ``first`` to ``last``, both inclusive.

    ``cause`` is the fact of the runs that explains the levels, None where none does.
    """

    first: SlottedCommit
    last: SlottedCommit
    stretch: Flipping
    cause: ModeCause | None = None


@dataclass(frozen=True, slots=True)
class AlertExplanation:
    """What one alert finds in the trace.

    ``reason`` says why the alert does not detect in it, "" where it does; then ``detection`` is None and there are no
    candidates and no steps. Where the method judges traces together, ``detection`` is None as well, and the candidates are
    the clusters that the trace was judged for in the last run. ``omitted`` counts the candidates left out because they are not near
    the commit that was asked for. ``flipping`` are the stretches that flip between levels, wherever they are.
    """

    alert: Alert
    line: str
    reason: str
    detection: Detection | None = None
    candidates: tuple[ExplainedCandidate, ...] = ()
    steps: tuple[ExplainedStep, ...] = ()
    omitted: int = 0
    flipping: tuple[ExplainedFlipping, ...] = ()


@dataclass(frozen=True, slots=True)
class ExplainedQuarantine:
    """A result of the trace at ``commit`` that takes no part in its levels."""

    commit: SlottedCommit
    quarantine: Quarantine


@dataclass(frozen=True, slots=True)
class ExplainedBisection:
    """How the newest bisection of a change of the trace stands, in words."""

    change_id: int
    text: str


@dataclass(frozen=True, slots=True)
class ExplainedChange:
    """What a change of the trace is, as its statement says; ``details`` has the counts, the likely commit and the condition."""

    change_id: int
    headline: str
    direction: ChangeDirection
    condition: ChangeCondition
    details: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that was decided about one trace.

    ``measured`` counts its values on the line. ``at`` is the commit that was asked for. ``points`` are its
    change points near there, those that are gone included. ``quarantines`` are about results of the trace that take no part
    in its levels, near there. ``changes`` are those of ``points``, and ``bisections`` the newest of each.
    """

    trace: Trace
    repository: str
    measured: int
    at: SlottedCommit | None
    alerts: tuple[AlertExplanation, ...]
    points: tuple[ChangePoint, ...]
    quarantines: tuple[ExplainedQuarantine, ...] = ()
    bisections: tuple[ExplainedBisection, ...] = ()
    changes: tuple[ExplainedChange, ...] = ()
