"""Traces without the results that they should have, and renames that explain it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from pydantic import Field

from knickpoint.answers.base import Answer, Id
from knickpoint.answers.commits import CommitAnswer, commit_answer
from knickpoint.answers.traces import TraceAnswer, trace_answer
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.instance import Instance
from knickpoint.instance.notices import find_missing
from knickpoint.model.access import Permission
from knickpoint.model.commit import Repository
from knickpoint.model.frame import Trace
from knickpoint.store import Store
from knickpoint.watch.missing_data import MissingData, MissingEntry, MissingKind, accept_rename, withdraw_rename

# What should have results and has none, and renames that may explain it.


class MissingEntryAnswer(Answer):
    """A job, some series or some commits without results."""

    repository: str
    kind: MissingKind = Field(
        description="`job`: all series with some params, or of the repository; `series`: some that stopped together; "
        "`commits`: commits between measured ones."
    )
    params: list[str] = Field(description="What its series have in common, as `name=value`.")
    count: int = Field(description="Number of its series; 0 where all of the repository stopped, and for commits.")
    traces: list[TraceAnswer] = Field(description="The first 20 of them; on the command line all.")
    last: CommitAnswer = Field(description="The last commit that had results.")
    silent: int = Field(description="Number of commits without results since; of measured commits for series.")
    usual: int = Field(description="The longest recent gap between results.")
    until: CommitAnswer | None = Field(description="Of commits: the next one with results.")


class RenameAnswer(Answer):
    """A rename that may explain why a series stopped, or that a person accepted."""

    old: TraceAnswer
    new: TraceAnswer
    name_likeness: float | None = Field(description="0 to 1; null where a person accepted it.")
    value_likeness: float | None = Field(description="0 to 1, of level and noise; null where a person accepted it.")
    probability: float | None = Field(
        description="Probability of the rename, never above 0.95; null where a person accepted it."
    )
    who: str = Field(description="Who accepted it; empty where nobody did.")
    time: datetime | None = Field(description="When it was accepted; null where nobody did.")


class MissingAnswer(Answer):
    """What is missing in one repository."""

    repository: str
    entries: list[MissingEntryAnswer]
    proposed: list[RenameAnswer]
    accepted: list[RenameAnswer]


class RenameRequest(Answer):
    """A rename: the trace `new` continues `old`."""

    old: Id = Field(description="Id of the trace that stopped.")
    new: Id = Field(description="Id of the trace that continues it.")


# Build the lists of what is missing, and accept renames.


_MOST_TRACES: Final = 20

Rename = Callable[..., None]


def list_missing(
    instance: Instance, visible: VisibleRepositories, repository: str, *, traces: int | None = _MOST_TRACES
) -> list[MissingAnswer]:
    """List what is missing in a repository, or in all that the caller may read.

    Reads the values that changed since it was asked last.

    An entry has its first ``traces`` traces, all of them without a number.

    Raises:
        HistoryError: there is no such repository.
    """
    return [_missing(instance, each, traces) for each in visible.some(repository)]


def _missing(instance: Instance, repository: Repository, traces: int | None) -> MissingAnswer:
    store, name = instance.store, repository.name
    found = find_missing(instance, repository)
    commits = _commits(store, repository, found)
    return MissingAnswer(
        repository=name,
        entries=[_entry(each, name, commits, traces) for each in found.entries],
        proposed=[
            RenameAnswer.of(each, old=trace_answer(each.old, name), new=trace_answer(each.new, name), who="", time=None)
            for each in found.renames
        ],
        accepted=list(_accepted(store, repository).values()),
    )


def _commits(store: Store, repository: Repository, found: MissingData) -> dict[int, CommitAnswer]:
    slots = sorted({slot for each in found.entries for slot in (each.last, each.until) if slot >= 0})
    known = store.commits.get(repository, slots)
    return {each.slot: commit_answer(each.commit, found.line.positions.get(each.slot)) for each in known}


def _entry(
    entry: MissingEntry, repository: str, commits: dict[int, CommitAnswer], traces: int | None
) -> MissingEntryAnswer:
    return MissingEntryAnswer(
        repository=repository,
        kind=entry.kind,
        params=list(entry.params),
        count=len(entry.traces),
        traces=[trace_answer(each.trace, repository) for each in entry.traces[:traces]],
        last=commits[entry.last],
        silent=entry.silent,
        usual=entry.usual,
        until=commits.get(entry.until),
    )


def accept(visible: VisibleRepositories, request: RenameRequest) -> RenameAnswer:
    """Accept a rename.

    Raises:
        UnknownError: there is no such trace.
        ForbiddenError: the caller may not decide in the repository.
        InputError: the traces are not a rename.
    """
    repository, old, new = _chosen(visible, request.old, request.new)
    accept_rename(visible.store, repository, old, new, who=visible.caller.name)
    return _accepted(visible.store, repository)[old.id, new.id]


def withdraw(visible: VisibleRepositories, request: RenameRequest) -> RenameAnswer:
    """Take an accepted rename back, and return it as it was.

    Raises:
        UnknownError: there is no such trace.
        ForbiddenError: the caller may not decide in the repository.
        InputError: there is no such rename.
    """
    repository, old, new = _chosen(visible, request.old, request.new)
    known = _accepted(visible.store, repository)
    withdraw_rename(visible.store, repository, old, new, who=visible.caller.name)
    return known[old.id, new.id]


def _chosen(visible: VisibleRepositories, old: int, new: int) -> tuple[Repository, Trace, Trace]:
    repository, (before, after) = visible.traces([old, new])
    visible.require(Permission.DECIDE, [repository])
    return repository, before, after


def _accepted(store: Store, repository: Repository) -> dict[tuple[int, int], RenameAnswer]:
    """Return the accepted renames by the ids of both traces."""
    found = {}
    unknown = dict.fromkeys(("name_likeness", "value_likeness", "probability"))
    for each in store.traces.renames.all(repository):
        old, new = (trace_answer(trace, repository.name) for trace in store.traces.get([each.old, each.new]))
        found[each.old, each.new] = RenameAnswer.of(each, old=old, new=new, **unknown)
    return found
