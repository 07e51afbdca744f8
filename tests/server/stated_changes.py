"""An instance with a change of every sort, built from generated data: a table says what each is."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from typing import Final

import numpy as np
from tests.detect.flipping import flip
from tests.server.story import commit_hash

from knickpoint.instance import Instance, create_instance, open_instance
from knickpoint.instance.alert_round import rank_new_suspects
from knickpoint.model.bisection import BisectionState
from knickpoint.model.change_point import ChangePoint, Status, SuspectRange
from knickpoint.model.commit import Commit, Repository
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.model.settlement import Certainty, FindingKind
from knickpoint.model.statement import Basis, Change, ChangeCondition, ChangeDirection
from knickpoint.model.suspects import Suspect
from knickpoint.model.unit_names import Better
from knickpoint.store import RunWrite, Store
from knickpoint.store.bisections import BisectionAnswer, BisectionRequest
from knickpoint.store.findings.tickets import Ticket
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.bisections import put_on_finding
from knickpoint.watch.triage.decisions import Targets, decide, merge, split
from knickpoint.watch.triage.history_boundary import set_boundary
from knickpoint.watch.triage.tickets import put_tickets

REPOSITORY: Final = "engine"
_AHEAD: Final = 24
"""Measured commits before a change, and from it on."""
_LATER: Final = 12
"""Where the values of a later phase begin, after a change."""
_FIRST: Final = 250
_WOBBLE: Final = (0.0, 0.3, -0.2, 0.1, -0.3, 0.2, -0.1)

_ALERTS: Final = """
[alerts.steps]
query = "kind=plain"

[alerts.spread]
query = "kind=spread"
parameters = { noise = true }

[alerts.together]
query = "kind=together"
method = "cluster"
parameters = { k = 1 }

[alerts.aside]
query = "kind=aside"
kind = "informational"

[alerts.patient]
query = "kind=new"
settle_least = 12
"""


@dataclass(frozen=True)
class Series:
    """The values of one trace by their distance from the commit of its case.

    ``later`` are measured in a later phase.
    """

    values: Mapping[int, float]
    unit: str = "ms"
    kind: str = "plain"
    better: Better = Better.UNKNOWN
    later: Mapping[int, float] = field(default_factory=dict)
    machines: tuple[str, str] | None = None


@dataclass(frozen=True)
class Said:
    """What is to be said of a change; ``likely`` and ``undone`` are distances from the commit of its case."""

    headline: str
    direction: ChangeDirection
    counts: tuple[int, int, int]
    likely: tuple[Basis, int] | None = (Basis.ONLY, 0)
    condition: ChangeCondition = ChangeCondition.PRESENT
    undone: int | None = None
    kind: FindingKind = FindingKind.STEP
    certainty: Certainty = Certainty.SETTLED
    decision: Status = Status.NEW
    ticket: str = ""
    machine: bool = False
    held: str = ""


@dataclass(frozen=True)
class Case:
    """A change of one sort, at a commit of its own: its data, what people and tools do to it, and what is to be said of it."""

    name: str
    series: Mapping[str, Series]
    said: Said
    early: Act | None = None
    """Done before the last values come."""
    late: Act | None = None
    """Done after them."""
    place: int = 0
    room: int = 30
    """Commits up to the place of the next case."""

    @property
    def commit(self) -> str:
        """The hash of the first commit with the new level."""
        return commit_hash(self.place)


Act = Callable[["World", Case], None]


# Data


def _values(
    level: Callable[[int], float], *, wobble: float = 0.01, first: int = -_AHEAD, last: int = _AHEAD
) -> dict[int, float]:
    return {at: level(at) * (1 + wobble * _WOBBLE[at % 7]) for at in range(first, last)}


def _step(
    before: float,
    after: float,
    unit: str = "ms",
    *,
    kind: str = "plain",
    better: Better = Better.UNKNOWN,
    wobble: float = 0.01,
    back: bool = False,
    missing: Sequence[int] = (),
    machines: tuple[str, str] | None = None,
) -> Series:
    """Return values that step once; with ``back``, they return later. Some commits may be ``missing``."""
    values = _values(lambda at: before if at < 0 or (back and at >= _LATER) else after, wobble=wobble)
    kept = {at: value for at, value in values.items() if at not in missing}
    early = {at: value for at, value in kept.items() if at < _LATER}
    return Series(early, unit, kind, better, {at: kept[at] for at in kept.keys() - early.keys()}, machines)


def _drift() -> Series:
    return Series(_values(lambda at: 100 + 0.5 * max(0, at + 1), first=-24, last=44))


def _noise(ratio: float) -> Series:
    drawn = random.Random(3)
    return Series({at: 100 + drawn.gauss(0, 1) * (ratio if at >= 0 else 1) for at in range(-100, 100)}, kind="spread")


def _flipping() -> Series:
    """Return values that jump between two levels, and between three from the change on."""
    values = np.concatenate([flip(5, 200), flip(14, 200, levels=(100, 105, 112))])
    first = int(np.argmax(values > 109))
    return Series({number - first: float(value) for number, value in enumerate(values)})


def _several(count: int, before: float, after: float, unit: str = "ms", *, kind: str = "plain") -> dict[str, Series]:
    return {f"{unit}{number}": _step(before, after + number, unit, kind=kind) for number in range(count)}


# What people and tools do


class World:
    """The instance while it is made."""

    def __init__(self, instance: Instance) -> None:
        self.instance, self.store = instance, instance.store
        self.repository: Repository = self.store.commits.repository(REPOSITORY)
        self.slots = self.store.commits.line(self.repository).slots

    def change(self, case: Case, name: str = "") -> Change:
        """Return the change of a case, which has the trace ``name``, or the first one."""
        return self.store.findings.change(self.point(case, name).change_id)

    def point(self, case: Case, name: str = "") -> ChangePoint:
        """Return the first change point of a trace of a case at its commit or near."""
        trace = self.trace(case, name)
        points = self.store.findings.change_points(trace, gone=True)
        return min(points, key=lambda point: abs(self.slots.index(point.suspect_range.slot) - case.place))

    def trace(self, case: Case, name: str = "") -> int:
        """Return the id of a trace of a case."""
        chosen = name or next(iter(case.series))
        return self.store.traces.find(
            self.repository, f",benchmark={case.name}-{chosen},kind={case.series[chosen].kind},"
        )[0].id

    def measure(self, case: Case, name: str, values: Mapping[int, float]) -> None:
        """Put one run of a trace for each of ``values``; a second one at the same commit is a correction."""
        series, writes = case.series[name], []
        for at, value in values.items():
            params = {"benchmark": f"{case.name}-{name}", "kind": series.kind}
            table = ResultTable.of([Result(params, (value,), series.unit, series.better)])
            machine = {} if series.machines is None else {"cpu": series.machines[at >= 0]}
            identity = f"{case.name} {name} {at}"
            run = RunReport(table, identity=identity, environment=machine)
            content = hashlib.sha256(repr(value).encode()).hexdigest()
            writes.append(RunWrite(self.slots[case.place + at], run, identity, content, "test"))
        self.store.runs.write(self.repository, writes)

    def feed(self, chosen: Callable[[Series], Mapping[int, float]]) -> None:
        """Put a part of the values of all cases, and judge them."""
        with self.store.transaction():
            for each in CASES:
                for name, series in each.series.items():
                    self.measure(each, name, chosen(series))
        self.run()

    def act(self, chosen: Callable[[Case], Act | None]) -> None:
        """Do what is done about each case."""
        for each in CASES:
            act = chosen(each)
            if act is not None:
                act(self, each)

    def run(self) -> None:
        """Judge what came."""
        run_alerts(self.store, self.instance.alerts, as_work=True)


def _decide(
    status: Status | None = None, *, note: str | None = None, ticket: str | None = None, assignee: str | None = None
) -> Act:
    def act(world: World, case: Case) -> None:
        targets = Targets((world.change(case).id,))
        decide(world.store, targets, who="ann", status=status, note=note, ticket=ticket, assignee=assignee)

    return act


def _decide_one(name: str, status: Status) -> Act:
    def act(world: World, case: Case) -> None:
        decide(world.store, Targets(points=(world.point(case, name).id,)), who="ann", status=status)

    return act


def _match_ticket(world: World, case: Case) -> None:
    query = f"benchmark={case.name}-*"
    put_tickets(
        world.store, world.repository, [Ticket("PERF-8", query, world.slots[case.place], "https://t.example.org/8")]
    )


def _bisect(culprit: int, previous: int) -> Act:
    """Return what ends a bisection with a commit, or with the range behind ``previous`` up to it."""

    def act(world: World, case: Case) -> None:
        store, slots, change, point = world.store, world.slots, world.change(case), world.point(case)
        now = datetime(2026, 4, 1, tzinfo=UTC)
        request = BisectionRequest(
            repository_id=world.repository.id,
            line="main",
            slots=tuple(slots[case.place - 6 : case.place + 1]),
            recipe="unit",
            digest="d" * 40,
            who="ann",
            asked=now,
            change_id=change.id,
            trace_id=point.trace_id,
            trace_key=point.key,
            facts={"movement": 1, "before": [100.0, 0.4, 20]},
        )
        asked = store.bisections.ask(request)
        store.bisections.claim("worker", now, 60.0)
        first, last = case.place + previous, case.place + culprit
        whole = last - first == 1
        answer = BisectionAnswer(
            BisectionState.CULPRIT if whole else BisectionState.RANGE,
            "found",
            culprits=tuple(slots[first + 1 : last + 1]),
            suspect_range=SuspectRange("main", slots[first], slots[last]),
            probability=0.98,
        )
        put_on_finding(store, asked, answer, "worker", now=now)

    return act


def _rank(*probabilities: float) -> Act:
    def act(world: World, case: Case) -> None:
        change = world.change(case)
        known = world.store.findings.suspects.get(change.id)
        assert known is not None
        ranked = tuple(Suspect(world.slots[case.place - back], each, ()) for back, each in enumerate(probabilities))
        (stale,) = [
            each
            for each in world.store.findings.suspects.stale(world.repository, everything=True)
            if each.id == change.id
        ]
        world.store.findings.suspects.put({stale: replace(known, none=0.1, suspects=ranked)})

    return act


def _measure(name: str, values: Mapping[int, float]) -> Act:
    def act(world: World, case: Case) -> None:
        world.measure(case, name, values)
        world.run()

    return act


def _unmake(world: World, case: Case) -> None:
    """Correct the values after the change, as if there had been none."""
    world.measure(case, "a", {at: 10 * (1 + 0.01 * _WOBBLE[at % 7]) for at in range(_AHEAD)})
    world.run()


def _split(world: World, case: Case) -> None:
    split(world.store, Targets(points=(world.point(case, "b").id,)), who="ann")


def _merge(world: World, case: Case) -> None:
    changes = {world.change(case, name).id for name in case.series}
    merge(world.store, Targets(tuple(sorted(changes))), who="ann")


def _hold(world: World, case: Case) -> None:
    world.store.quarantines.hold(world.repository, {world.point(case).id: "the machine was hot"})


def _make_history(world: World, case: Case) -> None:
    set_boundary(world.store, world.repository, case.commit, who="ann")


# The table

WORSE, BETTER = ChangeDirection.REGRESSION, ChangeDirection.IMPROVEMENT
MIXED, CHANGED = ChangeDirection.MIXED, ChangeDirection.UNKNOWN

_FASTER: Final = {f"f{number}": _step(100, 60 - 3 * number) for number in range(6)}
_GAP: Final = (-4, -3, -2, -1)


def _cases() -> list[Case]:
    slower = {"a": _step(10, 12)}
    one = (1, 0, 0)
    cases = [
        Case("history", slower, Said("20 % slower", WORSE, one)),
        Case(
            "history-mixed",
            {"a": _step(10, 12), "b": _step(10, 8)},
            Said("1 slower by 20 %; 1 faster by 20 %", MIXED, (1, 1, 0)),
            late=_make_history,
        ),
        Case("slower", slower, Said("20 % slower", WORSE, one)),
        Case("faster", {"a": _step(10, 8)}, Said("20 % faster", BETTER, (0, 1, 0))),
        Case("larger", {"a": _step(1000, 1300, "bytes")}, Said("30 % larger", WORSE, one)),
        Case("smaller", {"a": _step(1000, 600, "bytes")}, Said("40 % smaller", BETTER, (0, 1, 0))),
        Case("rate-falls", {"a": _step(50, 40, "MB/s")}, Said("20 % slower", WORSE, one)),
        Case("rate-rises", {"a": _step(50, 60, "MB/s")}, Said("20 % faster", BETTER, (0, 1, 0))),
        Case("hits-fall", {"a": _step(95, 76, "hits", better=Better.HIGHER)}, Said("20 % lower", WORSE, one)),
        Case("hits-rise", {"a": _step(60, 75, "hits", better=Better.HIGHER)}, Said("25 % higher", BETTER, (0, 1, 0))),
        Case("no-direction", {"a": _step(10, 15, "points")}, Said("50 % higher", CHANGED, (0, 0, 1))),
        Case("no-direction-several", _several(3, 100, 80, "points"), Said("3 lower by up to 20 %", CHANGED, (0, 0, 3))),
        Case(
            "no-direction-and-worse",
            {"a": _step(10, 14, "points"), "b": _step(10, 12)},
            Said("1 slower by 20 %; 1 higher by 40 %", WORSE, (1, 0, 1)),
        ),
        Case("one-value", {"a": _step(100, 101, "bytes", wobble=0)}, Said("1 % larger", WORSE, one)),
        Case("from-nothing", {"a": _step(0, 5, wobble=0)}, Said("slower, from 0", WORSE, one)),
        Case("to-nothing", {"a": _step(5, 0, wobble=0)}, Said("100 % faster", BETTER, (0, 1, 0))),
        Case("many-times", {"a": _step(10, 50)}, Said("5× the time", WORSE, one)),
        Case("drift", {"a": _drift()}, Said("22 % slower", WORSE, one, kind=FindingKind.DRIFT), room=90),
        Case("mode", {"a": _flipping()}, Said("3.8 % slower", WORSE, one, kind=FindingKind.MODE), room=90),
        Case("noisier", {"a": _noise(3.0)}, Said("190 % noisier", WORSE, one, kind=FindingKind.NOISE)),
        Case("less-noisy", {"a": _noise(1 / 3)}, Said("68 % less noisy", BETTER, (0, 1, 0), kind=FindingKind.NOISE)),
        Case(
            "mixed",
            _FASTER | {"binary": _step(100_000, 100_490, "bytes", wobble=0.001)},
            Said("6 faster by up to 55 %; 1 larger by 0.49 %", MIXED, (1, 6, 0)),
        ),
        Case(
            "mixed-worse",
            {"a": _step(10, 15), "b": _step(10, 14), "c": _step(10, 8)},
            Said("2 slower by up to 50 %; 1 faster by 20 %", MIXED, (2, 1, 0)),
        ),
        Case("improving-only", _several(4, 100, 70), Said("4 faster by up to 30 %", BETTER, (0, 4, 0))),
        Case("several-worse", _several(5, 100, 120), Said("5 slower by up to 24 %", WORSE, (5, 0, 0))),
        Case(
            "several-units",
            {"a": _step(10, 12), "b": _step(1000, 1500, "bytes")},
            Said("2 worse by up to 50 %", WORSE, (2, 0, 0)),
        ),
        Case(
            "recovered",
            {"draw": _step(100, 250, back=True)},
            Said("150 % slower", WORSE, one, condition=ChangeCondition.RECOVERED, undone=_LATER),
        ),
        Case(
            "fixed",
            {"a": _step(10, 12, back=True)},
            Said(
                "20 % slower",
                WORSE,
                one,
                condition=ChangeCondition.FIXED,
                undone=_LATER,
                decision=Status.ACKNOWLEDGED,
            ),
            early=_decide(Status.ACKNOWLEDGED),
        ),
        Case(
            "partly-recovered",
            {"a": _step(10, 12, back=True), "b": _step(10, 12)},
            Said("2 slower by up to 20 %", WORSE, (2, 0, 0), undone=_LATER),
        ),
        Case(
            "gone",
            {"a": _step(10, 12)},
            Said("20 % slower", WORSE, one, condition=ChangeCondition.GONE),
            late=_unmake,
        ),
        Case(
            "returned",
            {"a": _step(10, 12)},
            Said("20 % slower", WORSE, one),
            early=_unmake,
            late=_measure("a", {at: 12 * (1 + 0.01 * _WOBBLE[at % 7]) for at in range(_AHEAD)}),
        ),
        Case(
            "moved",
            {"a": _step(10, 12, missing=_GAP)},
            Said("20 % slower", WORSE, one, likely=(Basis.ONLY, -2)),
            late=_measure("a", {-4: 10.0, -3: 10.02, -2: 12.0, -1: 12.03}),
        ),
        Case(
            "bisected",
            {"pack": _step(100, 120, missing=_GAP)},
            Said("20 % slower", WORSE, one, likely=(Basis.BISECTED, -2)),
            late=_bisect(-2, -3),
        ),
        Case(
            "bisected-mixed",
            {"a": _step(10, 12, missing=_GAP), "b": _step(10, 8, missing=_GAP)},
            Said("1 slower by 20 %; 1 faster by 20 %", MIXED, (1, 1, 0), likely=(Basis.BISECTED, -3)),
            late=_bisect(-3, -4),
        ),
        Case(
            "narrowed",
            {"a": _step(10, 12, missing=_GAP)},
            Said("20 % slower", WORSE, one, likely=None),
            late=_bisect(-1, -4),
        ),
        Case(
            "unmeasured",
            {"a": _step(10, 12, missing=_GAP)},
            Said("20 % slower", WORSE, one, likely=None),
            late=_rank(0.2, 0.2, 0.2, 0.2, 0.1),
        ),
        Case(
            "stands-out",
            {"a": _step(10, 12, missing=_GAP)},
            Said("20 % slower", WORSE, one, likely=(Basis.SUSPECT, 0)),
            late=_rank(0.37, 0.1, 0.1, 0.1, 0.1),
        ),
        Case(
            "cluster",
            _several(6, 20, 26, kind="together"),
            Said("6 slower by up to 55 %", WORSE, (6, 0, 0)),
        ),
        Case(
            "machine",
            {"a": _step(20, 25, machines=("A", "B"))},
            Said("25 % slower; probably the machine", WORSE, one, likely=None, machine=True),
        ),
        Case(
            "merged",
            {"a": _step(10, 12), "b": _shifted(_step(10, 13), 8)},
            Said("2 slower by up to 30 %", WORSE, (2, 0, 0), likely=None),
            late=_merge,
        ),
        Case(
            "split",
            {"a": _step(10, 12), "b": _step(10, 8)},
            Said("20 % slower", WORSE, one),
            late=_split,
        ),
        Case(
            "ticket",
            slower,
            Said("20 % slower", WORSE, one, decision=Status.TICKET, ticket="PERF-7"),
            late=_decide(ticket="PERF-7"),
        ),
        Case(
            "matched-ticket",
            _several(3, 100, 120),
            Said("3 slower by up to 22 %", WORSE, (3, 0, 0), decision=Status.TICKET, ticket="PERF-8"),
            late=_match_ticket,
        ),
        Case(
            "acknowledged",
            slower,
            Said("20 % slower", WORSE, one, decision=Status.ACKNOWLEDGED),
            late=_decide(Status.ACKNOWLEDGED, note="known"),
        ),
        Case("hidden", slower, Said("20 % slower", WORSE, one, decision=Status.HIDDEN), late=_decide(Status.HIDDEN)),
        Case(
            "partly-decided",
            {"a": _step(10, 15), "b": _step(10, 8)},
            Said("20 % faster", MIXED, (1, 1, 0)),
            late=_decide_one("a", Status.ACKNOWLEDGED),
        ),
        Case(
            "joined",
            {"a": _step(10, 12), "b": Series({}, later=_step(10, 8).values)},
            Said("20 % faster", MIXED, (1, 1, 0)),
            early=_decide(Status.ACKNOWLEDGED),
        ),
        Case("assigned", slower, Said("20 % slower", WORSE, one), late=_decide(assignee="bob")),
        Case(
            "held",
            slower,
            Said("20 % slower", WORSE, one, certainty=Certainty.PROVISIONAL, held="the machine was hot"),
            late=_hold,
        ),
        Case("informational", {"a": _step(10, 12, kind="aside")}, Said("20 % slower", WORSE, one)),
        Case(
            "provisional",
            {"a": Series(_values(lambda at: 12.0 if at >= 0 else 10.0, last=4), kind="new")},
            Said("20 % slower", WORSE, one, certainty=Certainty.PROVISIONAL),
        ),
    ]
    places = accumulate((case.room for case in cases), initial=_FIRST)
    return [replace(case, place=place) for case, place in zip(cases, places, strict=False)]


def _shifted(series: Series, by: int) -> Series:
    return replace(
        series,
        values={at + by: value for at, value in series.values.items()},
        later={at + by: value for at, value in series.later.items()},
    )


CASES: Final = _cases()
COMMITS: Final = CASES[-1].place + 200


def case(name: str) -> Case:
    """Return the case of a name."""
    (found,) = [each for each in CASES if each.name == name]
    return found


def make_stated_changes(directory: Path) -> None:
    """Make the instance in ``directory``: values up to each change, from there on, and later ones, each judged when they came."""
    create_instance(directory, repositories={REPOSITORY: ""}, as_work=True).close()
    with (directory / "knickpoint.toml").open("a", encoding="utf-8") as file:
        file.write(_ALERTS)
    with open_instance(directory) as instance:
        _add_commits(instance.store)
        world = World(instance)
        world.feed(lambda series: {at: value for at, value in series.values.items() if at < 0})
        world.feed(lambda series: {at: value for at, value in series.values.items() if at >= 0})
        world.act(lambda case: case.early)
        world.feed(lambda series: series.later)
        rank_new_suspects(instance)
        world.act(lambda case: case.late)
        rank_new_suspects(instance)
        instance.store.seal(everything=True)


def _add_commits(store: Store) -> None:
    begin = datetime(2026, 1, 1, 9, tzinfo=UTC)
    commits = [
        Commit(commit_hash(number), "Ada", "", begin + timedelta(hours=number), f"Change number {number}")
        for number in range(COMMITS)
    ]
    repository = store.commits.add_repository(REPOSITORY)
    store.commits.add(repository, commits)
    store.commits.set_line(repository, "main", range(COMMITS))
