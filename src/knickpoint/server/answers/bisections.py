"""Build the answers about bisections, ask for them and stop them."""

from __future__ import annotations

from collections.abc import Sequence

from knickpoint.instance import Instance
from knickpoint.instance.bisections import fitting_recipes, request_bisection, stop_bisection
from knickpoint.model.access import Permission
from knickpoint.model.bisection import PROBE_FACT, BisectionState, ProbeOutcome
from knickpoint.model.commit import Repository
from knickpoint.model.errors import AbsentError
from knickpoint.model.unit import conversion, read_unit
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.errors import UnknownError
from knickpoint.server.schemas.bisections import (
    BisectionAnswer,
    BisectionDetailAnswer,
    CandidateAnswer,
    LogLineAnswer,
    ProbeAnswer,
    RemeasuredAnswer,
)
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store.bisections import JournalProbe, StoredBisection
from knickpoint.store.points.remeasured import remeasured_points

__all__ = [
    "ask",
    "find_bisection",
    "list_bisections",
    "list_recipes",
    "list_remeasured",
    "stop",
]

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
    """Return what turns values of one unit into another, None for units of other dimensions."""
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
        ForbiddenError: the caller may not decide in its repository.
        InputError: there is no such recipe, or it does not measure the change.
    """
    repository = visible.of_change(change)
    visible.require(Permission.DECIDE, [repository])
    asked = request_bisection(instance, change, recipe, who=visible.caller.name)
    return _detail(visible, repository, asked)


def stop(visible: VisibleRepositories, instance: Instance, key: int) -> BisectionDetailAnswer:
    """Stop a bisection.

    Raises:
        UnknownError: there is none that the caller may see.
        ForbiddenError: the caller may not decide in its repository.
        InputError: it ended already.
    """
    repository, _ = _visible(visible, key)
    visible.require(Permission.DECIDE, [repository])
    return _detail(visible, repository, stop_bisection(instance, key, who=visible.caller.name))


def _visible(visible: VisibleRepositories, key: int) -> tuple[Repository, StoredBisection]:
    try:
        found = visible.store.bisections.get(key)
        repository = next(each for each in visible.all() if each.id == found.request.repository_id)
    except (AbsentError, StopIteration):
        raise UnknownError(
            f"there is no bisection {key}",
            where=f"bisection {key}",
            remedy="List what there is with /api/v1/bisections.",
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
    )


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
    )
