"""Quarantined results, and the end of their quarantine."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from pydantic import Field

from knickpoint.answers.base import Answer, FiniteOrNull, QuarantineId, Text
from knickpoint.answers.commits import CommitAnswer, commit_answer
from knickpoint.answers.runs import FactAnswer
from knickpoint.answers.visible_repositories import UnknownError, VisibleRepositories
from knickpoint.model.access import Permission
from knickpoint.model.commit import Repository
from knickpoint.model.quarantine import Quarantine, QuarantineState
from knickpoint.store import Store
from knickpoint.watch.quarantine.update import lift_quarantine

# Quarantined results, and lifting their quarantine.


class CanaryMoveAnswer(Answer):
    """A canary that moved in a run."""

    canary: str = Field(description="Name of its section in knickpoint.toml, or of the alert of the kind `canary`.")
    trace_id: int
    trace_key: str
    unit: str
    value: float
    level: float = Field(description="Its level on this machine before.")
    low: float = Field(description="Values from low to high are within its noise.")
    high: float
    relative_size: float


class QuarantineAnswer(Answer):
    """The quarantine of the results of one run."""

    id: QuarantineId
    repository: str
    commit: CommitAnswer
    run: str = Field(description="Identity of the run.")
    machine: str = Field(description="Empty where the run names none.")
    state: QuarantineState = Field(
        description="`quarantined`: no outcome yet; `kept-out`: the machine is as before again, and the results stay "
        "out of levels; the results count again: `environment-changed`, `not-confirmed` in time, `lifted` by a person, "
        "`unfounded` with the data of today."
    )
    reason: str = Field(description="Why the results are suspect, in words.")
    moves: list[CanaryMoveAnswer]
    facts: list[FactAnswer]
    traces: int = Field(description="Number of traces that the run measured, without canaries.")
    since: datetime
    until: datetime = Field(description="Without an outcome, the results count from then on.")
    outcome: str = Field(description="Why the quarantine ended; empty while it has not.")
    who: str = Field(description="Who lifted it; empty where no person did.")


class QuarantinedValueAnswer(Answer):
    """A value of a trace that takes no part in its levels."""

    position: int
    value: FiniteOrNull
    unit: str = Field(description="The unit of the trace.")
    quarantine: QuarantineAnswer


class LiftRequest(Answer):
    """Why quarantined results count after all."""

    reason: Text = Field(min_length=1, max_length=2000)


# Build the answers about quarantined results, and lift their quarantine.


_OUT = frozenset(state for state in QuarantineState if state.withholds)


def list_quarantines(
    visible: VisibleRepositories, repository: str, states: Collection[QuarantineState], limit: int | None
) -> list[QuarantineAnswer]:
    """List the newest ``limit`` quarantines of each repository, of all or of some ``states``, newest commits first."""
    answers = []
    for each in visible.some(repository):
        answers += quarantine_answers(visible.store, each, visible.store.quarantines.all(each, states=states))[:limit]
    return answers[:limit]


def list_quarantined_values(visible: VisibleRepositories, key: int, line_name: str) -> list[QuarantinedValueAnswer]:
    """List the values of the trace ``key`` that take no part in its levels, in the order of a line.

    Raises:
        UnknownError: there is no such trace.
        HistoryError: there is no such line.
    """
    store = visible.store
    repository, trace = visible.trace(key)
    line = store.commits.line(repository, line_name)
    concerned = [
        stored.quarantine
        for stored in store.quarantines.stored(repository, states=_OUT)
        if stored.quarantine.slot in line.positions and key in stored.trace_ids
    ]
    answers = {answer.id: answer for answer in quarantine_answers(store, repository, concerned)}
    found = []
    for each in concerned:
        point = next((point for point in store.runs.points(key, each.slot) if point.run.id == each.run_id), None)
        if point is not None and each.id in answers:
            position = line.positions[each.slot]
            answer = answers[each.id]
            found.append(
                QuarantinedValueAnswer(position=position, value=point.value, unit=trace.unit, quarantine=answer)
            )
    return sorted(found, key=lambda value: (value.position, value.quarantine.id))


def lift(visible: VisibleRepositories, key: int, reason: str) -> QuarantineAnswer:
    """Let the results of a quarantine count, because the caller says so.

    Raises:
        UnknownError: there is no such quarantine.
        ForbiddenError: the caller may not decide in its repository.
        InputError: its results count already.
    """
    for repository in visible.all():
        if any(each.id == key for each in visible.store.quarantines.all(repository)):
            visible.require(Permission.DECIDE, [repository])
            lifted = lift_quarantine(visible.store, repository, key, who=visible.caller.name, reason=reason)
            return quarantine_answers(visible.store, repository, [lifted])[0]
    raise UnknownError(
        f"there is no quarantine {key}",
        where=f"quarantine {key}",
        remedy="GET /api/v1/quarantines lists them.",
    )


def quarantine_answers(
    store: Store, repository: Repository, quarantines: Sequence[Quarantine]
) -> list[QuarantineAnswer]:
    """Return the answers for quarantines of one repository, the newest commits first."""
    positions = store.commits.line(repository).positions
    commits = {each.slot: each.commit for each in store.commits.get(repository, sorted({q.slot for q in quarantines}))}
    return [
        QuarantineAnswer.of(
            each,
            repository=repository.name,
            commit=commit_answer(commits[each.slot], positions.get(each.slot)),
            run=each.identity,
        )
        for each in sorted(quarantines, key=lambda each: (-positions.get(each.slot, -1), each.id))
        if each.slot in commits
    ]
