"""Canaries: one value judged against those of its machine before, and warnings when a machine changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import numpy as np

from knickpoint.detect import judge
from knickpoint.detect.region_noise import rare_share
from knickpoint.model.change_point import ChangePoint
from knickpoint.model.commit import Repository
from knickpoint.model.frame import Trace
from knickpoint.model.judged_benchmark import Judgement
from knickpoint.model.query import parse_query
from knickpoint.model.statement import Change
from knickpoint.model.step import Verdict
from knickpoint.store import Store
from knickpoint.watch.lines import Lines

# Warn when a machine changed: canaries are benchmarks that no commit should change.
#
# When a canary changes, the test system changed, and findings of other benchmarks at the same commits are in doubt.


_CALM = frozenset({Verdict.UNCHANGED, Verdict.NO_DATA})


@dataclass(frozen=True, slots=True)
class CanaryWarning:
    """A canary that changed at ``slot``: by a step that an alert found, or by its newest value.

    Exactly one of ``point`` and ``judgement`` is given.
    """

    trace: Trace
    line: str
    slot: int
    point: ChangePoint | None = None
    judgement: Judgement | None = None


def canary_warnings(store: Store, repository: Repository, query: str, *, line: str = "") -> list[CanaryWarning]:
    """Return the changes of the traces that ``query`` matches, by trace and commit.

    Steps are those that the alerts found. The newest value of each trace is judged against the values
    before it, since no method can find a step there yet.

    Raises:
        QueryError: the query cannot be read.
        HistoryError: there is no such line.
    """
    chosen = store.commits.line(repository, line)
    ids = store.traces.select(repository, parse_query(query))
    points = store.findings.of_traces(ids.tolist())
    warnings: list[CanaryWarning] = []
    for frame in store.frames.blocks(chosen, ids):
        for row, trace in enumerate(frame.traces):
            warnings += [
                CanaryWarning(trace, chosen.name, point.suspect_range.slot, point=point)
                for point in points.get(trace.id, [])
            ]
            values = np.asarray(frame.values[row], dtype=np.float64)
            measured = np.flatnonzero(~np.isnan(values))
            if not measured.size:
                continue
            last = int(measured[-1])
            slot = int(frame.slots[last])
            judgement = judge(values[:last], values[last], better=trace.better)
            known = any(point.suspect_range.slot == slot for point in points.get(trace.id, []))
            if judgement.verdict not in _CALM and not known:
                warnings.append(CanaryWarning(trace, chosen.name, slot, judgement=judgement))
    return warnings


def in_doubt(
    store: Store, repository: Repository, changes: Sequence[Change], warnings: Sequence[CanaryWarning]
) -> dict[int, list[CanaryWarning]]:
    """Return the changes in whose suspect range a canary moved, by id, with the warnings about it.

    A change of canaries alone is not in doubt.
    """
    lines = Lines(store, repository)
    canaries = {warning.trace.id for warning in warnings}
    found: dict[int, list[CanaryWarning]] = {}
    for change in changes:
        interval, positions = lines.interval(change.suspect_range), lines.line(change.suspect_range.line).positions
        nearby = [warning for warning in warnings if interval and positions.get(warning.slot, -1) in interval]
        if nearby and any(member.trace_id not in canaries for member in change.members):
            found[change.id] = nearby
    return found


# Judge one value of a canary against the values that the machine had before.


FEWEST: Final = 8
"""Values that a machine must have of a canary before it can move: with fewer, its noise is not known."""

NEAREST: Final = 60
"""Values that a value is compared with: the newest at the present level of the machine."""

_ALPHA: Final = 0.002
"""Probability of a false sign where all is well: a canary is asked at each commit, and each sign takes results out."""

_RARE_STRAY: Final = 0.003
"""Share of the commits at which a canary strays beyond its reach."""

_RARE_RUN: Final = 0.001
"""Share of the commits that begin a run of strays which is long enough to be a move."""

_TAIL: Final = 0.1
"""Share of the distances that the tail is fitted to."""

_FEWEST_IN_TAIL: Final = 10
"""Distances that a tail is fitted to at least: fewer do not say how heavy it is."""

_HEAVIEST: Final = 0.5
"""Largest exponent of a tail. Noise with 3 degrees of freedom has a third; with a half, its variance is infinite."""

_FEWEST_FOR_TAIL: Final = 20
"""Distances that a tail needs; with fewer, it is one of two values."""

_LONGEST_RUN: Final = 4
"""Strays in a row that are a move whatever the canary does."""

_MOVED: Final = frozenset({Verdict.REGRESSED, Verdict.IMPROVED})


def canary_move(level: Sequence[float], value: float, minimum_effect: float) -> Judgement | None:
    """Return the verdict on ``value`` where it lies off the values of ``level``, None where it does not.

    Most values are unremarkable, which counting decides; only the others are judged in full.
    """
    region = np.asarray(level[-NEAREST:], dtype=np.float64)
    if region.size < FEWEST:
        return None
    most = rare_share(region.size) * region.size
    if min(int((region >= value).sum()), int((region <= value).sum())) > most:
        return None
    judgement = judge(region, value, alpha=_ALPHA, minimum_effect=minimum_effect, ordered=False)
    return judgement if judgement.verdict in _MOVED else None


def usual_reach(level: Sequence[float], strays: Sequence[float]) -> float:
    """Return the distance that a canary strays from its level at three commits in a thousand, by the tail of its past.

    0 for too few values.

    The largest distances continue as a power law, so the logarithms of what they exceed the others by are exponential.
    For r of these with the sum S, the next one is beyond y with the probability (1 + y / S)^-r: this counts that the
    exponent is only known from r of them (Hill 1975; the predictive distribution as in Lawless 1971). The largest
    distance counts as far out as the one before it, as lifetimes that are not over do, and the exponent has a limit: a
    single disturbance must not hide smaller ones after it. ``strays`` are the distances of values that are not part of
    ``level``.
    """
    values = np.asarray(level, dtype=np.float64)
    if values.size + len(strays) < _FEWEST_FOR_TAIL:
        return 0.0
    near = np.abs(values - np.median(values[-NEAREST:]))
    distances = np.sort(np.concatenate([near, np.asarray(strays, dtype=np.float64)]))
    beyond = max(_FEWEST_IN_TAIL, round(distances.size * _TAIL))
    begin = distances[-beyond - 1]
    if not begin > 0:
        return 0.0
    known = beyond - 1
    excesses = np.log(distances[-beyond:-1] / begin)
    total = min(float(excesses.sum() + excesses[-1]), known * _HEAVIEST)
    exponent = total * ((beyond / distances.size / _RARE_STRAY) ** (1 / known) - 1)
    return float(begin * np.exp(exponent))


def least_run(strays: int, judged: int) -> int:
    """Return the strays in a row, the same way, that make a move of a canary with ``strays`` in ``judged`` commits.

    Independent noise makes such a run at one commit in a thousand at most; a single stray never is one.
    """
    share = strays / judged if judged else 0.0
    run = 2
    while run < _LONGEST_RUN and share**run > _RARE_RUN:
        run += 1
    return run


def noise_of(level: Sequence[float]) -> float:
    """Return the distance of values from their median as a share of it, in four cases of five.

    Nan for too few values.
    """
    region = np.asarray(level[-NEAREST:], dtype=np.float64)
    centre = float(np.median(region)) if region.size >= FEWEST else 0.0
    return float(np.quantile(np.abs(region - centre), 0.8) / abs(centre)) if centre else float("nan")


# What quarantine goes by: which traces are canaries, which facts count, and how long it waits.


MACHINE_FACTS = ("machine", "host", "hostname", "node")
"""Facts of a run, else params of its canaries, that name its machine; the first of them that is there counts."""

WATCHED_FACTS = ("kernel", "cpu", "cpu_governor", "governor", "microcode", "compiler", "os")
"""Facts of a machine whose change makes its results suspect where no canary was measured."""


@dataclass(frozen=True, slots=True)
class Canary:
    """Traces that no commit should change: a section of the configuration, or an alert of the kind ``canary``."""

    name: str
    query: str
    repository: str = ""


@dataclass(frozen=True, slots=True)
class QuarantineRule:
    """How quarantine decides.

    Attributes:
        canaries: which traces are canaries.
        machine: facts that name the machine of a run; the first that it states counts.
        facts: facts whose change makes results suspect where no canary was measured.
        minimum_effect: canaries that move by less, as a share of their level, have not moved.
        wait: after this time without an outcome, results count.
        stays: so many commits in a row with a moved canary are a new level of the machine.
        facts_stay: the same for changed facts without canaries.
    """

    canaries: tuple[Canary, ...] = ()
    machine: tuple[str, ...] = MACHINE_FACTS
    facts: tuple[str, ...] = WATCHED_FACTS
    minimum_effect: float = 0.02
    wait: timedelta = timedelta(hours=48)
    stays: int = 5
    facts_stay: int = 3
