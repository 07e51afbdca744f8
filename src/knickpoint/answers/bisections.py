"""Bisections: how each stands, and requests to start and to stop them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pydantic import Field

from knickpoint.answers.base import Answer, BisectionId, ChangeId, FiniteOrNull, Text
from knickpoint.answers.commits import CommitAnswer, commit_answer
from knickpoint.answers.flame_graphs import FlameGraphAnswer, profiled_benchmarks, read_flame_graph_of_commits
from knickpoint.answers.visible_repositories import UnknownError, VisibleRepositories
from knickpoint.instance import Instance
from knickpoint.instance.bisections import fitting_recipes, request_bisection, stop_bisection
from knickpoint.model.access import Permission
from knickpoint.model.bisection import PROBE_FACT, BisectionState, ProbeOutcome, ProbePurpose
from knickpoint.model.commit import Repository
from knickpoint.model.errors import AbsentError
from knickpoint.model.posterior import Posterior
from knickpoint.model.unit import conversion, read_unit
from knickpoint.store.bisections import JournalProbe, StoredBisection
from knickpoint.store.points.environments import remeasured_points

# Bisections: the searches for the commits that made changes, and how each stands.


class BisectionStandingAnswer(Answer):
    """How the newest bisection of a change stands, for lists."""

    id: BisectionId
    state: BisectionState
    stopping: bool = Field(description="Whether a person stopped it, and its worker has not ended it yet.")
    culprits: list[CommitAnswer] = Field(description="As in a bisection.")
    probability: float = Field(description="Probability of the conclusion; 0 while there is none.")


class RemeasuredAnswer(Answer):
    """A value of a trace that a probe of a bisection measured."""

    position: int
    value: float = Field(description="In the unit of the trace.")
    bisections: list[BisectionId] = Field(description="The bisections that the probe served.")
    device: str
    time: datetime | None
    counts: bool = Field(
        description="Whether it is one of the values of its commit, whose point is the median of them all. Values of a "
        "device that measures unlike the machine of the trace do not count."
    )


class BisectionAnswer(Answer):
    """A bisection, as lists show it."""

    id: BisectionId
    repository: str
    change: ChangeId | None = Field(description="null where it is about none.")
    trace: str = Field(description="Key of the trace that is measured again; empty where probes pass or fail.")
    recipe: str
    state: BisectionState
    reason: str = Field(description="What is not decided, or why there is no culprit, in one line.")
    culprits: list[CommitAnswer] = Field(
        description="The commits that made the change: one in the state `culprit`; several, each of its own change, in "
        "the state `range`; empty where none was found."
    )
    probability: float = Field(description="Probability of the conclusion; 0 while there is none.")
    commits: int = Field(description="Number of commits of which one is searched.")
    probes: int = Field(description="Probes that ended.")
    who: str = Field(description="Who asked for it.")
    by_rule: bool = Field(description="Whether the configuration asked for it, and no person.")
    asked: datetime
    started: datetime | None
    ended: datetime | None
    stopping: bool = Field(description="Whether a person stopped it, and its worker has not ended it yet.")


class CandidateAnswer(Answer):
    """A place of the range that is searched; the first one is the good end."""

    commit: CommitAnswer
    probability: FiniteOrNull = Field(
        description="Probability that this commit made a change, alone or with others; null for the good end, and "
        "before the first probe."
    )


class KnownAnswer(Answer):
    """What a search knew after a probe."""

    left: list[int] = Field(
        description="Places that held 95 % of the probability, the likeliest first; empty if no commit made the change."
    )
    probability: FiniteOrNull = Field(description="Of the first place left; without one, that none made the change.")


class ProbeAnswer(Answer):
    """One measurement of one commit."""

    number: int
    place: int = Field(description="Counts in `candidates`.")
    device: str = Field(description="The machine that made it, or that should; empty for any.")
    purpose: ProbePurpose
    outcome: ProbeOutcome | None = Field(description="Null while it waits or runs.")
    value: FiniteOrNull = Field(description="Median of its samples; null without one.")
    samples: list[FiniteOrNull]
    seconds: float | None
    started: datetime
    reason: str = Field(description="Why there is no value, in one line.")
    output: str = Field(description="End of what the commands printed, where there is no value.")
    known: KnownAnswer | None = Field(description="After its result; null before, and where it was not kept.")


class LogLineAnswer(Answer):
    """One line of the log."""

    time: datetime
    text: str


class BisectionDetailAnswer(BisectionAnswer):
    """Everything about one bisection."""

    edition: int = Field(description="Grows with each change.")
    unit: str
    candidates: list[CandidateAnswer]
    none: FiniteOrNull = Field(description="Probability that none of the commits made the change.")
    several: FiniteOrNull = Field(description="Probability that several of them did.")
    probe_list: list[ProbeAnswer]
    log: list[LogLineAnswer] = Field(description="The newest 200 lines.")
    devices: list[str] = Field(description="The machines that take its probes now.")
    queue: int = Field(description="Bisections that run or wait before this one.")
    seconds_left: float | None = Field(description="An estimate; null where there is none.")
    profiled: list[str] = Field(
        description="Benchmarks with profiles of the culprit and of the commit before it; none for callers who may not "
        "read profiles."
    )


class BisectionRequest(Answer):
    """Which recipe of the configuration is to be used; nothing else of a request is ever run."""

    recipe: Text = Field(
        default="", max_length=200, description="Name of the recipe; empty for the only one that fits."
    )


# Build the answers about bisections, ask for them and stop them.


_MOST_LINES = 200
_MOST_SAMPLES = 50
_OPEN = frozenset({BisectionState.WAITING, BisectionState.RUNNING})


def list_bisections(
    visible: VisibleRepositories, repository: str, states: Sequence[BisectionState], change: int, limit: int
) -> list[BisectionAnswer]:
    """List bisections, the newest first."""
    repositories = visible.some(repository)
    found = visible.store.bisections.newest(repositories, states=states, of=change, limit=limit)
    known = {each.id: each for each in repositories}
    return [_answer(visible, known[each.request.repository_id], each) for each in found]


def list_remeasured(visible: VisibleRepositories, key: int, line_name: str) -> list[RemeasuredAnswer]:
    """List the values of the trace ``key`` that probes of bisections measured, in the order of a line.

    Raises:
        UnknownError: there is no such trace.
        HistoryError: there is no such line.
    """
    store = visible.store
    repository, trace = visible.trace(key)
    line = store.commits.line(repository, line_name)
    points = remeasured_points(store.runs, line, key)
    counting = [
        RemeasuredAnswer(
            position=line.positions[point.run.slot],
            value=point.value,
            bisections=[int(name.removeprefix("B")) for name in point.run.environment[PROBE_FACT].split()],
            device=point.run.environment.get("device", ""),
            time=point.run.time,
            counts=True,
        )
        for point in points
    ]
    beside = [
        RemeasuredAnswer(
            position=line.positions[found.slot],
            value=found.value * factor,
            bisections=list(found.bisections),
            device=found.device,
            time=found.started,
            counts=False,
        )
        for found in store.bisections.values_of(key)
        if found.slot in line.positions
        and not any(point.run.identity.startswith(f"id:{found.run} ") for point in points)
        and (factor := _factor(found.unit, trace.unit)) is not None
    ]
    return sorted([*counting, *beside], key=lambda each: each.position)


def _factor(unit: str, wanted: str) -> float | None:
    """Return the factor from values of one unit to another, None for units of other dimensions."""
    if unit == wanted or not unit:
        return 1.0
    source, target = read_unit(unit), read_unit(wanted)
    return conversion(source, target) if source.dimension == target.dimension else None


def find_bisection(visible: VisibleRepositories, key: int) -> BisectionDetailAnswer:
    """Return everything about one bisection.

    Raises:
        UnknownError: there is none that the caller may see.
    """
    repository, found = _visible(visible, key)
    return _detail(visible, repository, found)


def list_recipes(visible: VisibleRepositories, instance: Instance, change: int) -> list[str]:
    """List the recipes that can bisect a change.

    Raises:
        UnknownError: there is no such change.
    """
    visible.of_change(change)
    return fitting_recipes(instance, change)


def ask(visible: VisibleRepositories, instance: Instance, change: int, recipe: str) -> BisectionDetailAnswer:
    """Ask for a bisection of a change with a recipe of the configuration.

    Raises:
        UnknownError: there is no such change.
        ForbiddenError: the caller may not measure in its repository.
        InputError: there is no such recipe, or it does not measure the change.
    """
    repository = visible.of_change(change)
    visible.require(Permission.MEASURE, [repository])
    asked = request_bisection(instance, change, recipe, who=visible.caller.name)
    return _detail(visible, repository, asked)


def stop(visible: VisibleRepositories, instance: Instance, key: int) -> BisectionDetailAnswer:
    """Stop a bisection.

    Raises:
        UnknownError: there is none that the caller may see.
        ForbiddenError: the caller may not measure in its repository.
        InputError: it ended already.
    """
    repository, _ = _visible(visible, key)
    visible.require(Permission.MEASURE, [repository])
    return _detail(visible, repository, stop_bisection(instance, key, who=visible.caller.name))


def _visible(visible: VisibleRepositories, key: int) -> tuple[Repository, StoredBisection]:
    try:
        found = visible.store.bisections.get(key)
        repository = next(each for each in visible.all() if each.id == found.request.repository_id)
    except (AbsentError, StopIteration):
        raise UnknownError(
            f"there is no bisection {key}",
            where=f"bisection {key}",
            remedy="GET /api/v1/bisections lists them.",
        ) from None
    return repository, found


def _commits(visible: VisibleRepositories, repository: Repository, found: StoredBisection) -> dict[int, CommitAnswer]:
    store, slots = visible.store, found.request.slots
    positions = store.commits.line(repository, found.request.line).positions
    return {
        each.slot: commit_answer(each.commit, positions.get(each.slot)) for each in store.commits.get(repository, slots)
    }


def _answer(visible: VisibleRepositories, repository: Repository, found: StoredBisection) -> BisectionAnswer:
    asked, answer = found.request, found.answer
    commits = _commits(visible, repository, found) if answer.culprits else {}
    probes = visible.store.bisections.journal(found.id).probes()
    return BisectionAnswer.of(
        found,
        asked,
        answer,
        repository=repository.name,
        change=asked.change_id or None,
        trace=asked.trace_key,
        culprits=[commits[slot] for slot in answer.culprits if slot in commits],
        commits=len(asked.slots) - 1,
        probes=sum(each.result is not None for each in probes),
    )


def _detail(visible: VisibleRepositories, repository: Repository, found: StoredBisection) -> BisectionDetailAnswer:
    journal = visible.store.bisections.journal(found.id)
    probes = journal.probes()
    commits = _commits(visible, repository, found)
    known = found.posterior
    shares = [None, *(known.marginal.tolist() if known is not None else [None] * (len(found.request.slots) - 1))]
    before = visible.store.bisections.newest(states=_OPEN, before=found.id, limit=1000)
    return BisectionDetailAnswer(
        **_answer(visible, repository, found).model_dump(),
        edition=found.edition,
        unit=next((unit for each in probes if (unit := _unit(each, found.request.trace_key))), ""),
        candidates=[
            CandidateAnswer(commit=commits[slot], probability=share)
            for slot, share in zip(found.request.slots, shares, strict=True)
            if slot in commits
        ],
        none=known.none if known else None,
        several=known.several if known else None,
        probe_list=[_probe(each, found.request.trace_key) for each in probes],
        log=[LogLineAnswer(time=line.time, text=line.text) for line in journal.lines(last=_MOST_LINES)],
        devices=list(found.devices),
        queue=0 if found.state.ended else len(before),
        seconds_left=found.seconds_left,
        profiled=profiled_benchmarks(visible, repository, ends) if (ends := _found_ends(found)) else [],
    )


def read_found_flame_graph(
    visible: VisibleRepositories, instance: Instance, key: int, benchmark: str = ""
) -> FlameGraphAnswer:
    """Return the differential flame graph of the commit that a bisection found, against the one before it.

    Raises:
        FormatError: a profile is damaged.
        NotSignedInError: the caller may not read profiles.
        UnknownError: the caller can see no such bisection, it found no commit, or there are no profiles
            of the benchmark at both commits.
    """
    repository, found = _visible(visible, key)
    ends = _found_ends(found)
    if ends is None:
        raise UnknownError(f"the bisection {found.name} found no commit", where=found.name, remedy="Wait for its end.")
    return read_flame_graph_of_commits(visible, instance, repository, ends, benchmark)


def _found_ends(found: StoredBisection) -> tuple[int, int] | None:
    """Return the slots of the commit before the first culprit and of the culprit, None where none was found."""
    slots = found.request.slots
    places = [slots.index(slot) for slot in found.answer.culprits if slot in slots[1:]]
    return (slots[min(places) - 1], slots[min(places)]) if places else None


def _unit(probe: JournalProbe, trace: str) -> str:
    measured = probe.result.measured.get(trace) if probe.result else None
    return measured.unit if measured else ""


def _probe(probe: JournalProbe, trace: str) -> ProbeAnswer:
    result = probe.result
    measured = result.measured.get(trace) if result else None
    failed = result is not None and result.outcome is not ProbeOutcome.MEASURED
    return ProbeAnswer(
        number=probe.number,
        place=probe.place,
        device=result.device if result else probe.device,
        purpose=probe.purpose,
        outcome=result.outcome if result else None,
        value=measured.value if measured else None,
        samples=list(measured.samples[:_MOST_SAMPLES]) if measured else [],
        seconds=result.seconds if result else None,
        started=result.started if result else probe.begun,
        reason=result.reason if result else "",
        output=result.output if result and failed else "",
        known=_known(probe.known) if probe.known else None,
    )


def _known(posterior: Posterior) -> KnownAnswer:
    left = posterior.left
    probability = float(posterior.marginal[left[0]]) if left else posterior.none
    return KnownAnswer(left=[candidate + 1 for candidate in left], probability=probability)
