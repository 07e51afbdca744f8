"""What an explanation consists of: alerts, their candidates and steps, and what became of each."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import explain, explain_jointly, find_steps_many, judges_groups
from knickpoint.detect.samples import CommitValues, with_sample_facts
from knickpoint.model.alert import Alert
from knickpoint.model.change_point import ChangePoint, Sighting
from knickpoint.model.commit import Line, SlottedCommit
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.quarantine import Quarantine
from knickpoint.model.settlement import Settlement
from knickpoint.model.statement import ChangeCondition, ChangeDirection
from knickpoint.model.step import Candidate, Check, Detection, Flipping, Step
from knickpoint.store import Store
from knickpoint.store.points.environments import environments_at
from knickpoint.watch.detection.alert_settings import (
    blank_before_window,
    known_columns,
    method_parameters,
    watched_traces,
    whole_groups,
    window_columns,
)
from knickpoint.watch.detection.clusters import prepare_group
from knickpoint.watch.detection.commit_values import read_commit_values, with_commit_values
from knickpoint.watch.detection.sightings import settle_by_count, settle_steps

# Name what explains the modes of a trace that flips between levels: a fact of its runs, such as the machine or the
# runner.
#
# Each value belongs to the mode that is nearest to it. A fact explains the modes when knowing it removes at least half
# of the errors in guessing the mode: the measure lambda of Goodman and Kruskal, "Measures of association for cross
# classifications", JASA 49 (1954).


_LEAST_LAMBDA: Final = 0.5
"""Share of the errors that knowing a fact has to remove."""

_FEWEST: Final = 5
"""Values that each text of a fact needs on average: what is another one at every run explains everything, and nothing.
"""


@dataclass(frozen=True, slots=True)
class FactMode:
    """Values measured where a fact had a ``text``: a ``share`` of these ``count`` values lies in one ``mode``."""

    text: str
    mode: int
    count: int
    share: float


@dataclass(frozen=True, slots=True)
class ModeCause:
    """The ``fact`` that explains the modes, with the mode of each of its texts.

    A ``share`` of all values lies where it says.
    """

    fact: str
    share: float
    texts: tuple[FactMode, ...]


def modes_of(values: NDArray[np.float64], stretch: Flipping) -> NDArray[np.int64]:
    """Return the number of the nearest mode of ``stretch`` for each of ``values``."""
    distances = np.abs(values[:, None] - np.array(stretch.levels))
    return np.asarray(distances.argmin(axis=1), dtype=np.int64)


def find_mode_cause(modes: Sequence[int], facts: Sequence[Mapping[str, str]]) -> ModeCause | None:
    """Return the fact that explains ``modes`` best, None where none removes half of the errors of guessing.

    ``facts`` are those of the run of each value. Of equal facts the first by name counts.
    """
    if not modes:
        return None
    found = [each for name in sorted({name for each in facts for name in each}) if (each := _cause(name, modes, facts))]
    return max(found, key=lambda cause: cause.share, default=None)


def _cause(name: str, modes: Sequence[int], facts: Sequence[Mapping[str, str]]) -> ModeCause | None:
    by_text: dict[str, Counter[int]] = defaultdict(Counter)
    for mode, each in zip(modes, facts, strict=True):
        by_text[each.get(name, "")][mode] += 1
    if len(by_text) < 2 or len(modes) < _FEWEST * len(by_text):
        return None
    guessed = Counter(modes).most_common(1)[0][1]
    texts = []
    for text, counts in sorted(by_text.items()):
        mode, right = max(sorted(counts.items()), key=lambda pair: pair[1])
        texts.append(FactMode(text, mode, counts.total(), right / counts.total()))
    known = sum(round(each.share * each.count) for each in texts)
    errors = len(modes) - guessed
    if not errors or (known - guessed) / errors < _LEAST_LAMBDA:
        return None
    return ModeCause(name, known / len(modes), tuple(texts))


def read_mode_cause(store: Store, frame: Frame, values: NDArray[np.float64], stretch: Flipping) -> ModeCause | None:
    """Return the fact that explains the modes of a ``stretch`` of the first trace of ``frame``.

    ``values`` (nan for missing) are those that ``stretch`` counts by: the columns of the frame.
    """
    columns = np.flatnonzero(~np.isnan(values[stretch.first : stretch.last + 1])) + stretch.first
    measured = frame.slots[columns].tolist()
    facts = environments_at(store.runs, frame.line, frame.traces[0].id, measured)
    return find_mode_cause(modes_of(values[columns], stretch).tolist(), [facts.get(slot, {}) for slot in measured])


@dataclass(frozen=True, slots=True)
class ExplainedCandidate:
    """A possible step that the method examined: ``commit`` is the first one of the new level.

    Where the method judges traces together, it is the step of a cluster that the trace was judged for: ``note`` says
    what the trace is to the cluster, and ``point`` is its change point there, None without one. So it is where the
    trace was asked at the place of its family.
    """

    commit: SlottedCommit
    candidate: Candidate
    note: str = ""
    point: ChangePoint | None = None


@dataclass(frozen=True, slots=True)
class ExplainedStep:
    """A step that the method accepted, and what became of it.

    ``reason`` says why the alert did not report it, "" where it did. ``point`` is its change point, None without one
    (refused, or the alert has not run since the data changed). ``evidence`` weighs the values since the step against
    those before it, which settles it while few values follow, and says what samples its levels rest on, where the alert
    judges them. ``machine`` says what changed about the machine there, "" if nothing did, and ``note`` how the
    distribution of the values changed, for a change of the noise. ``distance`` counts the measured commits from the
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
    candidates and no steps. Where the method judges traces together, ``detection`` is None as well, and the candidates
    are the clusters that the trace was judged for in the last run. ``omitted`` counts the candidates left out because
    they are not near the commit that was asked for. ``flipping`` are the stretches that flip between levels, wherever
    they are.
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
    """What a change of the trace is, as its statement says.

    ``details`` has the counts, the likely commit and the condition, ``cause`` what the profiles around it say.
    """

    change_id: int
    headline: str
    direction: ChangeDirection
    condition: ChangeCondition
    details: str
    cause: str = ""

    @property
    def text(self) -> str:
        """All of it in a line."""
        return "; ".join(filter(None, (self.headline, self.details, self.cause)))


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that was decided about one trace.

    ``measured`` counts its values on the line. ``at`` is the commit that was asked for. ``points`` are its change
    points near there, those that are gone included. ``quarantines`` are about results of the trace that take no part in
    its levels, near there. ``changes`` are those of ``points``, and ``bisections`` the newest of each.
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


# Judge one trace as a run of an alert does, and keep what the method rejected.


@dataclass(frozen=True, slots=True)
class JudgedTrace:
    """A trace as an alert judged it: its ``frame`` of one row, and the ``values`` of it that the method got.

    ``points`` are the stored values, which differ from those of the frame where ``commits`` has values made of samples.
    The alert reports what lies after the column ``reported``. ``settlements`` says which of the steps are settled.
    """

    frame: Frame
    points: NDArray[np.floating[Any]]
    values: NDArray[np.float64]
    reported: int
    detection: Detection
    settlements: Sequence[Settlement]
    commits: CommitValues | None = None


def judge_trace(store: Store, alert: Alert, line: Line, trace: Trace) -> JudgedTrace:
    """Judge ``trace`` with ``alert``, by itself or with the other traces of its group, as the method does.

    The method makes no clusters: what those say of a trace is what the last run kept.
    """
    return (_judge_in_group if judges_groups(alert.method) else _judge_alone)(store, alert, line, trace)


def _judge_alone(store: Store, alert: Alert, line: Line, trace: Trace) -> JudgedTrace:
    frame = store.frames.read(line, [trace.id])
    known = known_columns(store, alert, line, [trace.id], first=frame.first)
    window = window_columns(~np.isnan(frame.values), alert.window, [known.get(trace.id, ())])
    commits = read_commit_values(store, alert, frame)
    judged = replace(frame, values=with_commit_values(frame, commits))
    values = np.asarray(blank_before_window(judged.values, window)[0], dtype=np.float64)
    detection = explain(values, method=alert.method, **method_parameters(alert))
    if commits:
        detection = with_sample_facts(detection, commits[0])

    def detect(views: NDArray[np.floating[Any]]) -> list[list[Step]]:
        return find_steps_many(views, method=alert.method, threads=1, **method_parameters(alert))

    (settlements,) = settle_steps(values[None, :], [detection.steps], detect, alert.settle_rule)
    return JudgedTrace(judged, frame.values[0], values, int(window.reported[0]), detection, settlements, commits.get(0))


def _judge_in_group(store: Store, alert: Alert, line: Line, trace: Trace) -> JudgedTrace:
    watched = watched_traces(store, alert, line.repository)
    continued = [rename.old for rename in store.traces.renames.all(line.repository)]
    together = whole_groups(store, alert, np.setdiff1d(watched, continued), np.array([trace.id], dtype=np.int64))
    group = prepare_group(store, alert, line, together.tolist() or [trace.id])
    row = [each.id for each in group.frame.traces].index(trace.id)
    detection = explain_jointly(group.values, group.keys, method=alert.method, **method_parameters(alert))[row]
    values = np.asarray(group.values[row], dtype=np.float64)
    settlements = settle_by_count(values, detection.steps, alert.settle_rule)
    frame = replace(group.frame, traces=[trace], values=group.frame.values[row : row + 1])
    return JudgedTrace(frame, frame.values[0], values, int(group.window.reported[row]), detection, settlements)
