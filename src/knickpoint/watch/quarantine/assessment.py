"""Decide which runs of one machine are suspect, and which outcome is known, from its runs in the order of the line.

The runs of a machine at one commit are a *session*. The state is the level of each canary and the facts of the machine.
A session in which the machine moved waits. The next session in which the machine is as before ends the wait: the
results stay out, because the machine was off. Enough sessions in a row that stay moved end it, too: then this is the
machine now, and the results count. All of this depends on the runs alone, not on the order in which they arrived.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Final

import numpy as np

from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import figure_text
from knickpoint.model.quarantine import CanaryMove, FactChange, QuarantineState
from knickpoint.watch.quarantine.canaries import FEWEST, QuarantineRule, canary_move, least_run, noise_of, usual_reach

_MOST_EPISODES: Final = 0.1
"""A canary that moves and comes back more often than at this share of the commits says nothing about its machine."""

_FEWEST_EPISODES: Final = 3
_MOST_NOISE: Final = 0.25
"""A canary whose values stray further than this share of its level cannot show what a machine does."""

_STRAYS: Final = 2
_STRAYS_WITHIN: Final = 200
"""A canary that strayed so often within so many judged commits, each time for one commit, has not moved when it strays
no further: its noise has heavy tails, which its calm values alone do not show.
"""

_LONGEST_RUN: Final = 4
"""Commits in a row that are kept in doubt: more are asked for of no canary."""

_NEWEST: Final = 50
"""Sessions whose verdicts are never kept."""

_CHANGES_OFTEN: Final = 4
_SHARE_OF_CHANGES: Final = 3
"""A fact that changed at least four times, and more often than at every third commit, describes the execution and not
the machine."""


@dataclass(frozen=True, slots=True)
class CanaryTrace:
    """A trace that is a canary; ``canary`` is its name in the configuration."""

    canary: str
    id: int
    key: str
    unit: str


@dataclass(frozen=True, slots=True)
class MachineRun:
    """What one run says about its machine: watched facts, and the values of canaries by trace."""

    identity: str
    position: int
    facts: Mapping[str, str]
    canaries: Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Assessment:
    """Why a run is suspect, and what is known: QUARANTINED, KEPT_OUT or ENVIRONMENT_CHANGED, with the outcome."""

    moves: tuple[CanaryMove, ...]
    facts: tuple[FactChange, ...]
    state: QuarantineState
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class CanaryHealth:
    """How useful a canary is on one machine.

    ``judged`` counts the commits at which it could be judged, ``episodes`` how often it moved and came back. ``noise``
    is how far its values stray, as a share of its level. ``useless`` says why it is ignored, "" where it is not.
    """

    trace: CanaryTrace
    machine: str
    judged: int
    episodes: int
    noise: float
    useless: str


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The suspect runs of a machine by identity, and the health of its canaries."""

    runs: Mapping[str, Assessment] = field(default_factory=dict)
    health: tuple[CanaryHealth, ...] = ()


def assess_machine(
    runs: Iterable[MachineRun],
    canaries: Mapping[int, CanaryTrace],
    rule: QuarantineRule,
    *,
    machine: str,
    kept: KeptWalks | None = None,
) -> Verdicts:
    """Return the suspect ones among the ``runs`` of one machine, in whatever order they are given.

    ``machine`` is "" where the runs name none. Then they share the levels of canaries, but each run stands for itself:
    a run without canaries is not suspect, and facts do not count, because another machine may have measured it. With
    ``kept``, runs that an earlier call has passed are not judged again; the verdicts are the same.
    """
    ordered = sorted(runs, key=lambda run: (run.position, run.identity))
    sessions = [list(session) for _, session in groupby(ordered, key=lambda run: run.position)]
    facts = _telling_facts(sessions, rule.facts) if machine else frozenset()
    kept = kept if kept is not None else KeptWalks()

    # Each canary by itself: one that moves all the time must not quarantine everything.
    health, walks = [], {}
    for trace in _measured(ordered, canaries):
        begin = _Machine({trace.id: trace}, frozenset(), rule, named=bool(machine))
        walks[trace.id] = kept.walk(begin, sessions, (machine, trace.id))
        health.append(_health(trace, machine, walks[trace.id]))

    # The useful ones together, with the facts.
    useful = {each.trace.id: each.trace for each in health if not each.useless}
    if len(useful) == 1 and not facts:
        return Verdicts(walks[min(useful)].found, tuple(health))
    begin = _Machine(useful, facts, rule, named=bool(machine))
    return Verdicts(kept.walk(begin, sessions, (machine, None)).found, tuple(health))


def _measured(runs: Sequence[MachineRun], canaries: Mapping[int, CanaryTrace]) -> list[CanaryTrace]:
    return [canaries[key] for key in sorted({key for run in runs for key in run.canaries} & canaries.keys())]


def _health(trace: CanaryTrace, machine: str, walked: _Machine) -> CanaryHealth:
    noise, judged, episodes = noise_of(walked.levels[trace.id]), walked.judged, walked.episodes
    useless = ""
    if episodes >= _FEWEST_EPISODES and episodes > _MOST_EPISODES * judged:
        useless = f"it moved and came back {episodes} times in {judged} commits"
    elif noise > _MOST_NOISE:
        useless = f"its values scatter by {figure_text(noise, '.0%')} of their level"
    return CanaryHealth(trace, machine, judged, episodes, noise, useless)


def _telling_facts(sessions: Sequence[Sequence[MachineRun]], watched: Collection[str]) -> frozenset[str]:
    """Return those of the ``watched`` facts that change rarely enough to describe the machine.

    None where none changes.
    """
    telling, changed = set(), False
    for name in watched:
        stated = [run.facts[name] for session in sessions for run in session if name in run.facts]
        changes = sum(before != after for before, after in pairwise(stated))
        changed |= changes > 0
        if changes < _CHANGES_OFTEN or changes * _SHARE_OF_CHANGES <= len(stated):
            telling.add(name)
    return frozenset(telling) if changed else frozenset()


@dataclass(frozen=True, slots=True)
class _Suspicion:
    """Why a run is suspect at the present state of the machine.

    ``judged`` says that canaries were asked. ``strayed`` are those that lay off their level, but no further than they
    stray by themselves now and then.
    """

    run: MachineRun
    moves: tuple[CanaryMove, ...]
    facts: tuple[FactChange, ...]
    judged: bool
    strayed: tuple[CanaryMove, ...] = ()

    @property
    def by_canary(self) -> bool:
        return bool(self.moves)

    @property
    def suspect(self) -> bool:
        return bool(self.moves) or (not self.judged and bool(self.facts))

    @property
    def confirmed(self) -> _Suspicion:
        """The same where what strayed has moved."""
        return replace(self, moves=(*self.moves, *self.strayed), strayed=())


def _same_way(first: CanaryMove, second: CanaryMove) -> bool:
    return (first.value - first.level) * (second.value - second.level) > 0


def _run_before(sessions: Sequence[tuple[_Suspicion, ...]], move: CanaryMove) -> int:
    """Return in how many of the last ``sessions``, one after the other, the canary of ``move`` strayed the same way."""
    count = 0
    for session in reversed(sessions):
        if not any(each.trace_id == move.trace_id and _same_way(each, move) for run in session for each in run.moves):
            break
        count += 1
    return count


@dataclass
class _Machine:
    """The state of one machine while its sessions pass by in order."""

    canaries: Mapping[int, CanaryTrace]
    telling: frozenset[str]
    rule: QuarantineRule
    named: bool
    levels: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    facts: dict[str, str] = field(default_factory=dict)
    waiting: list[_Suspicion] = field(default_factory=list)
    sessions_waiting: int = 0
    judged: int = 0
    episodes: int = 0
    off_before: bool = False
    """Whether the canaries had moved at the commit before, too, which was measured again: both are one move."""
    strays: dict[int, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))
    doubtful: list[tuple[_Suspicion, ...]] = field(default_factory=list)
    found: dict[str, Assessment] = field(default_factory=dict)

    def begins_as(self, other: _Machine) -> bool:
        """Return True if both walk by the same canaries, facts and rule."""
        mine = (self.canaries, self.telling, self.rule, self.named)
        return mine == (other.canaries, other.telling, other.rule, other.named)

    def copy(self) -> _Machine:
        """Return the same state; the copy goes its own way."""
        levels = defaultdict(list, {key: values[-_STRAYS_WITHIN:] for key, values in self.levels.items()})
        strays = defaultdict(list, {key: list(values) for key, values in self.strays.items()})
        facts, waiting, found = dict(self.facts), list(self.waiting), dict(self.found)
        doubtful = list(self.doubtful)
        return replace(self, levels=levels, strays=strays, doubtful=doubtful, facts=facts, waiting=waiting, found=found)

    def walk(self, sessions: Sequence[Sequence[MachineRun]]) -> None:
        """Let sessions pass by."""
        for session in sessions:
            self._pass(session)

    def end(self) -> _Machine:
        """Decide that what still waits is quarantined; no session passes by after that."""
        for each in self.waiting:
            self._decide(each, QuarantineState.QUARANTINED, "")
        self.episodes += bool(self.waiting)
        return self

    def _pass(self, session: Sequence[MachineRun]) -> None:
        judged = [self._judge(run) for run in session]
        asked = [each for each in judged if each.judged]
        self.judged += bool(asked)
        suspect = [each for each in judged if each.suspect]
        calm = [each for each in (asked or judged) if not each.suspect]
        before, self.doubtful = self.doubtful, [] if asked else self.doubtful
        strayed: list[_Suspicion] = []
        if suspect and asked and not calm and self.named:
            suspect = self._with_unasked(judged, suspect)
        if calm and (asked or self._facts_decide(calm)):
            self._as_before(suspect, calm)
            if all(each.strayed for each in calm):
                confirmed = [each.confirmed for each in judged]
                strayed = [each for each in confirmed if each.moves]
                strayed = self._with_unasked(confirmed, strayed) if self.named else strayed
        elif suspect:
            before = self._confirm(before, suspect)
            self._wait(suspect)
        if strayed:
            before = [*before, tuple(strayed)]
            before, self.doubtful = before[:-_LONGEST_RUN], before[-_LONGEST_RUN:]
        if asked:
            self._keep_strays([each for session in before for each in session])

    def _facts_decide(self, calm: Sequence[_Suspicion]) -> bool:
        """Return True if runs that asked no canary show that the machine is as before: not while a canary is off."""
        if any(each.by_canary for each in self.waiting):
            return False
        return not self.waiting or any(self.facts.keys() & each.run.facts.keys() for each in calm)

    def _judge(self, run: MachineRun) -> _Suspicion:
        """Compare a run with the present state of the machine."""
        moves: list[CanaryMove] = []
        strayed: list[CanaryMove] = []
        judged = False
        for key in sorted(run.canaries.keys() & self.canaries.keys()):
            level = self.levels[key]
            judged |= len(level) >= FEWEST
            verdict = canary_move(level, run.canaries[key], self.rule.minimum_effect)
            if verdict is not None:
                trace = self.canaries[key]
                numbers = (run.canaries[key], verdict.centre, verdict.low, verdict.high)
                move = CanaryMove(trace.canary, key, trace.key, trace.unit, *numbers)
                (strayed if self._strays_so(move) else moves).append(move)
        changed = tuple(
            FactChange(name, self.facts[name], run.facts[name])
            for name in sorted(self.telling & run.facts.keys() & self.facts.keys())
            if self.facts[name] != run.facts[name]
        )
        return _Suspicion(run, tuple(moves), changed, judged, tuple(strayed))

    def _strays_so(self, move: CanaryMove) -> bool:
        """Return True if the canary strays as far by itself now and then, and not so often the same way in a row.

        While results wait because it moved, it has moved as far as it lies off its level the same way.
        """
        if _run_before([tuple(self.waiting)], move):
            return False
        recent = self._recent_strays(move.trace_id)
        judged = len(recent) + len(self.levels[move.trace_id][-_STRAYS_WITHIN:])
        if _run_before(self.doubtful, move) + 1 >= least_run(len(recent), judged):
            return False
        distance = abs(move.value - move.level)
        if sum(size >= distance for size in recent) >= _STRAYS:
            return True
        return distance <= usual_reach(self.levels[move.trace_id][-_STRAYS_WITHIN:], recent)

    def _recent_strays(self, trace_id: int) -> list[float]:
        return [size for at, size in self.strays[trace_id] if at > self.judged - _STRAYS_WITHIN]

    def _keep_strays(self, suspicions: Iterable[_Suspicion]) -> None:
        """Keep how far canaries strayed in what turned out to be no move."""
        for move in (move for each in suspicions for move in each.moves):
            kept = [(at, size) for at, size in self.strays[move.trace_id] if at > self.judged - _STRAYS_WITHIN]
            self.strays[move.trace_id] = [*kept, (self.judged, abs(move.value - move.level))]

    def _with_unasked(self, judged: Sequence[_Suspicion], suspect: Sequence[_Suspicion]) -> list[_Suspicion]:
        """Return the suspect runs with those of the same machine and commit that measured no canary."""
        first = next(each for each in suspect if each.moves)
        return [
            each if each.suspect else _Suspicion(each.run, first.moves, each.facts, judged=False)
            for each in judged
            if each.suspect or not each.judged
        ]

    def _as_before(self, suspect: Sequence[_Suspicion], calm: Sequence[_Suspicion]) -> None:
        """End the wait: the machine is as before, which runs of this commit show."""
        back = all(not each.facts for each in calm)
        if self.sessions_waiting == 1:
            self._keep_strays(self.waiting)
        for each in self.waiting:
            if each.by_canary or back:
                self._decide(each, QuarantineState.KEPT_OUT, "the machine was as before again in a later run")
            else:
                self._decide(each, QuarantineState.ENVIRONMENT_CHANGED, "the canaries are at their levels")
        for each in suspect:
            self._decide(each, QuarantineState.KEPT_OUT, "another run of the same commit shows the machine as before")
        measured_again = any(each.by_canary for each in suspect)
        moved = measured_again or any(each.by_canary for each in self.waiting)
        self.episodes += any(each.strayed for each in calm) or (moved and not self.off_before)
        self.off_before = measured_again
        self._begin_anew()
        usual = [each for each in calm if not each.strayed]
        for key in sorted({key for each in usual for key in each.run.canaries}):
            values = [each.run.canaries[key] for each in usual if key in each.run.canaries]
            self.levels[key].append(values[0] if len(values) == 1 else float(np.median(values)))
        self._take_facts(calm)

    def _confirm(
        self, doubtful: Sequence[tuple[_Suspicion, ...]], suspect: Sequence[_Suspicion]
    ) -> list[tuple[_Suspicion, ...]]:
        """Let the results of the commits before wait as well whose canaries strayed the way that they have now moved.

        Returns the sessions of ``doubtful`` that have nothing to do with it.
        """
        moves = [move for each in suspect for move in each.moves]
        count = max((_run_before(doubtful, move) for move in moves), default=0)
        for session in doubtful[len(doubtful) - count :]:
            self.waiting += session
            self.sessions_waiting += 1
            self.episodes -= 1
        return list(doubtful[: len(doubtful) - count])

    def _wait(self, suspect: Sequence[_Suspicion]) -> None:
        """Wait for an outcome, unless the machine has been like this for long enough."""
        self.waiting += suspect
        self.sessions_waiting += 1
        by_canary = any(each.by_canary for each in self.waiting)
        if self.sessions_waiting < (self.rule.stays if by_canary else self.rule.facts_stay):
            return
        outcome = f"the machine stayed like this for {counted(self.sessions_waiting, 'commit')}"
        values: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
        for each in self.waiting:
            self._decide(each, QuarantineState.ENVIRONMENT_CHANGED, outcome)
            for key, value in each.run.canaries.items():
                values[key][each.run.position].append(value)
        for key, by_position in values.items():
            if by_canary:
                self.levels[key] = []
                self.strays.pop(key, None)
            self.levels[key] += [float(np.median(by_position[position])) for position in sorted(by_position)]
        self._take_facts(self.waiting)
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.waiting, self.sessions_waiting = [], 0

    def _take_facts(self, judged: Sequence[_Suspicion]) -> None:
        stated: dict[str, Counter[str]] = defaultdict(Counter)
        for each in judged:
            for name in self.telling & each.run.facts.keys():
                stated[name][each.run.facts[name]] += 1
        last = judged[-1].run.facts
        for name, counts in stated.items():
            most = max(counts.values())
            self.facts[name] = last[name] if name in last else min(key for key in counts if counts[key] == most)

    def _decide(self, suspicion: _Suspicion, state: QuarantineState, outcome: str) -> None:
        self.found[suspicion.run.identity] = Assessment(suspicion.moves, suspicion.facts, state, outcome)


@dataclass
class KeptWalks:
    """Results of earlier walks over the sessions of machines, for a process that assesses a line again and again.

    A walk goes on from where the sessions are the same as before. The newest are passed again each time, because
    re-runs of their commits arrive.
    """

    _walks: dict[tuple[str, int | None], tuple[Sequence[Sequence[MachineRun]], _Machine]] = field(default_factory=dict)

    def walk(self, begin: _Machine, sessions: Sequence[Sequence[MachineRun]], key: tuple[str, int | None]) -> _Machine:
        """Walk from ``begin`` over ``sessions``; ``key`` names it among those of the line."""
        passed, state = self._walks.get(key, ((), begin))
        if not state.begins_as(begin) or list(sessions[: len(passed)]) != list(passed):
            passed, state = (), begin
        machine = state.copy()
        kept = max(len(sessions) - _NEWEST, len(passed))
        machine.walk(sessions[len(passed) : kept])
        self._walks[key] = (sessions[:kept], machine.copy())
        machine.walk(sessions[kept:])
        return machine.end()
