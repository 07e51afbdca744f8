"""The page of one change: the change, earlier changes of its traces, and what people and messages said of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from pydantic import Field

from knickpoint.answers.base import Answer, FiniteOrNull
from knickpoint.answers.changes import ChangeAnswer, change_answers
from knickpoint.answers.visible_repositories import UnknownError, VisibleRepositories
from knickpoint.model.change_point import Action, Condition, Decision, Status
from knickpoint.model.commit import Repository
from knickpoint.model.notification import AnnouncementKind
from knickpoint.model.statement import Change
from knickpoint.store import Store
from knickpoint.store.findings.selection import Selection
from knickpoint.store.profiles import StoredCause

_MEMBERS: Final = 5
_MOST_EARLIER: Final = 5
_MOST_ENTRIES: Final = 100
_EVERYTHING: Final = Selection(conditions=frozenset(Condition), alert_kinds=None)
_LIVE: Final = Selection(alert_kinds=None)


class ChangeEntryAnswer(Answer):
    """A decision, as it was made about one or several traces of a change at once: the state after it."""

    action: Action
    status: Status
    who: str
    time: datetime
    note: str
    ticket: str
    assignee: str
    traces: int = Field(description="Number of traces that it was about.")


class ChangeAnnouncementAnswer(Answer):
    """One announcement about a change."""

    kind: AnnouncementKind
    time: datetime
    traces: int = Field(description="How many traces were concerned.")
    size_text: str = Field(description="The size of the top trace in words, as it was announced.")
    relative_size: FiniteOrNull


class FunctionCostAnswer(Answer):
    """A function that profiles name as a cause, with what it explains of the difference."""

    name: str
    file: str = Field(description="Empty where the profile names none.")
    line: int = Field(description="The line of its definition, 0 for unknown.")
    former: str = Field(description="Its name before, where it was renamed; else empty.")
    before: float
    after: float
    low: float = Field(description="The difference lies between this and `high`.")
    high: float


class ProfiledBenchmarkAnswer(Answer):
    """What the profiles of one benchmark say about a change."""

    benchmark: str
    sentence: str
    format: str = Field(description="The kind of file that the profiler wrote.")
    kind: str = Field(description="`time`, `instructions`, `bytes`, `allocations` or `count`.")
    unit: str
    before: int = Field(description="Number of profiles before the change.")
    after: int = Field(description="Number of profiles after the change.")
    shows: bool | None = Field(
        description="Whether they show the change as it was measured; null where their unit is of something else."
    )
    causes: list[FunctionCostAnswer] = Field(description="Those that explain most first, at most 10.")


class CauseAnswer(Answer):
    """What the profiles before and after a change say."""

    sentence: str
    touched: list[str] = Field(
        description="Hashes of the commits of the suspect range that touch the file of the function that leads."
    )
    benchmarks: list[ProfiledBenchmarkAnswer] = Field(
        description="The one that the sentence is about first, at most 5."
    )


class ChangePageAnswer(Answer):
    """One change, wherever it is listed, with what there is to know of it."""

    change: ChangeAnswer
    gone: bool = Field(description="Whether none of its traces shows it any more.")
    earlier: list[ChangeAnswer] = Field(
        description="Earlier changes that share traces with it, those that share most first, at most 5."
    )
    decisions: list[ChangeEntryAnswer] = Field(description="The newest 100 decisions about its traces, newest first.")
    announcements: list[ChangeAnnouncementAnswer] = Field(description="What was announced about it, newest first.")
    cause: CauseAnswer | None = Field(
        description="null where no benchmark of it has profiles on both sides, or the caller may not read profiles."
    )


def read_change_page(visible: VisibleRepositories, key: int) -> ChangePageAnswer:
    """Read one change, in whatever state it is.

    Raises:
        UnknownError: there is no such change that the caller may read.
    """
    repository, store = visible.of_change(key), visible.store
    found = _read(store, repository, _LIVE, [key])
    gone = not found
    found = found or _read(store, repository, _EVERYTHING, [key])
    if not found:  # a split or a merge left it without members
        raise UnknownError(f"the change R{key} no longer has any traces", where=f"R{key}")
    (change,) = found
    earlier = _earlier(store, repository, change)
    answer, *others = change_answers(store, [(repository, each) for each in (change, *earlier)])
    return ChangePageAnswer(
        change=answer,
        gone=gone,
        earlier=others,
        decisions=_decisions(store.findings.triage.entries(sorted(store.findings.members_of(key)))),
        announcements=[
            ChangeAnnouncementAnswer.of(each) for each in reversed(store.findings.announcements.of_change(key))
        ],
        cause=_cause(store.profiles.causes([key]).get(key)) if visible.reads_profiles else None,
    )


def _cause(found: StoredCause | None) -> CauseAnswer | None:
    if found is None or not found.sentence:
        return None
    benchmarks = [
        ProfiledBenchmarkAnswer(
            **{name: each[name] for name in ("benchmark", "sentence", "format", "kind", "unit", "shows")},
            before=len(each["before"]),
            after=len(each["after"]),
            causes=[FunctionCostAnswer(**cause) for cause in each["causes"]],
        )
        for each in found.body["benchmarks"]
    ]
    return CauseAnswer(sentence=found.sentence, touched=found.body["touched"], benchmarks=benchmarks)


def _read(store: Store, repository: Repository, selection: Selection, keys: Sequence[int]) -> list[Change]:
    return store.findings.changes(repository, selection=selection, members=_MEMBERS, only=keys)


def _earlier(store: Store, repository: Repository, change: Change) -> list[Change]:
    """Return the changes before ``change`` on its line that share most traces with it, the nearest first among equals."""
    place = change.suspect_range
    positions = store.commits.line(repository, place.line).positions
    shared = store.findings.changes_sharing_traces(change.id)
    before = [
        (-shared[each.id], -positions[each.suspect_range.slot], each)
        for each in _read(store, repository, _LIVE, sorted(shared))
        if positions.get(each.suspect_range.slot, len(positions)) < positions.get(place.slot, 0)
    ]
    return [each for _, _, each in sorted(before, key=lambda item: item[:2])[:_MOST_EARLIER]]


def _decisions(entries: Sequence[Decision]) -> list[ChangeEntryAnswer]:
    """Return the entries, those that say the same at one time together."""
    common = [replace(each, id=0, change_point_id=0, undoes=0, suspect_range=None, change_id=0) for each in entries]
    newest = sorted(Counter(common).items(), key=lambda item: item[0].time, reverse=True)
    return [ChangeEntryAnswer.of(each, traces=number) for each, number in newest[:_MOST_ENTRIES]]
