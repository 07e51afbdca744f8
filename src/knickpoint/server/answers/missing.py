"""Build the lists of what is missing, and accept renames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from knickpoint.instance import Instance
from knickpoint.instance.missing import find_missing
from knickpoint.model.access import Permission
from knickpoint.model.commit import Repository
from knickpoint.model.frame import Trace
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.answers.traces import trace_answer
from knickpoint.server.schemas.commits import CommitAnswer
from knickpoint.server.schemas.missing import (
    MissingAnswer,
    MissingEntryAnswer,
    RenameAnswer,
    RenameRequest,
)
from knickpoint.server.visible_repositories import VisibleRepositories
from knickpoint.store import Store
from knickpoint.watch.absence.missing_data import MissingData, MissingEntry
from knickpoint.watch.absence.renames import accept_rename, withdraw_rename

__all__ = ["accept", "list_missing", "withdraw"]

_MOST_TRACES: Final = 20

Rename = Callable[..., None]


def list_missing(
    instance: Instance, visible: VisibleRepositories, repository: str, *, traces: int | None = _MOST_TRACES
) -> list[MissingAnswer]:
    """List what is missing in a repository, or in all that the caller may read. Reads the values that changed since it was asked last.

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
        InputError: the traces are no rename.
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
