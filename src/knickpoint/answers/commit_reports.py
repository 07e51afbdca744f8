"""The report of a commit: what changed there, verdicts, and the runs that measured it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from pydantic import Field

from knickpoint.answers.base import Answer, FiniteOrNull
from knickpoint.answers.changes import ChangeAnswer, change_answers
from knickpoint.answers.commits import CommitAnswer, commit_answer
from knickpoint.answers.quarantines import QuarantineAnswer, quarantine_answers
from knickpoint.answers.traces import TraceAnswer, trace_answer
from knickpoint.answers.visible_repositories import UnknownError, VisibleRepositories
from knickpoint.model.commit import Commit, Line
from knickpoint.model.step import Verdict
from knickpoint.store import Store
from knickpoint.store.findings.change_list import Sort
from knickpoint.store.findings.selection import Selection

# Everything that is known about one commit: what changed there, verdicts, runs.


class CommitRunAnswer(Answer):
    """One run that measured a commit."""

    identity: str
    source: str
    branch: str
    time: datetime | None = Field(description="When it ran; null where its results do not state it.")
    created: datetime = Field(description="When it was imported.")
    corrections: int = Field(description="How often other content replaced its results.")
    environment: dict[str, str]
    links: dict[str, str]
    revisions: dict[str, str] = Field(description="Commits of other repositories that took part.")
    without_value: int = Field(
        description="Number of its benchmarks that failed or were skipped and were never measured."
    )


class CommitVerdictAnswer(Answer):
    """A newest value of a trace that stands out, measured at the commit: provisional, until later values decide."""

    trace: TraceAnswer
    verdict: Verdict
    value: float
    centre: FiniteOrNull = Field(description="Level of the region before it.")
    low: FiniteOrNull
    high: FiniteOrNull
    relative_size: FiniteOrNull


class CommitReportAnswer(Answer):
    """A commit, and all that is known of it. Lists are cut, each change has its lead alone; the counts are of all."""

    repository: str
    line: str
    commit: CommitAnswer
    previous: CommitAnswer | None = Field(description="The measured commit before it on the line; null without one.")
    next: CommitAnswer | None
    compare: str = Field(
        description="Page of the repository that compares `previous` with the commit; empty if unknown."
    )
    points: int = Field(description="Number of values that its runs gave.")
    runs_total: int
    runs: list[CommitRunAnswer]
    changes_total: int
    changes: list[ChangeAnswer] = Field(description="Changes that begin here, decided about or not.")
    around_total: int
    around: list[ChangeAnswer] = Field(description="Those that may have begun here, as not every commit was measured.")
    verdicts_total: int
    verdicts: list[CommitVerdictAnswer] = Field(description="Newest values that stand out, the largest first.")
    quarantines: list[QuarantineAnswer]


# Build the report of a commit: what changed there, verdicts, and the runs that measured it.


_MOST: Final = 50
_MOST_CHANGES: Final = 20
_MOST_AROUND: Final = 10
_REACH: Final = 200
"""Commits on each side among which measured neighbours are looked for."""


def report_commit(visible: VisibleRepositories, line: Line, revision: str) -> CommitReportAnswer:
    """Return all that is known of a commit.

    Raises:
        UnknownError: there is no such commit.
        HistoryError: more than one matches.
    """
    store, repository = visible.store, line.repository
    found = store.commits.find(repository, revision)
    if found is None:
        raise UnknownError(
            f"there is no commit {revision!r}", where=repository.name, remedy="Give its hash or its number."
        )
    slot = found.slot
    position = line.positions.get(slot)
    runs = store.runs.at(repository, [slot])
    _, points = store.runs.counts(repository, [slot]).get(slot, (0, 0))
    before, after = _neighbours(store, line, position)
    changes_total, changes = _changes(store, line, Selection(slot=slot, alert_kinds=None), _MOST_CHANGES)
    concerned = store.findings.marks.around(line, slot)
    around_total, around = _changes(store, line, Selection(alert_kinds=None), _MOST_AROUND, concerned)
    verdicts = store.findings.newest.at(repository, slot)
    traces = {trace.id: trace for trace in store.traces.get([each.trace_id for each in verdicts[:_MOST]])}
    return CommitReportAnswer(
        repository=repository.name,
        line=line.name,
        commit=commit_answer(found.commit, position),
        previous=before,
        next=after,
        compare=_compare_address(before, found.commit),
        points=points,
        runs_total=len(runs),
        runs=[CommitRunAnswer.of(run, without_value=len(run.unmeasured)) for run in runs[:_MOST]],
        changes_total=changes_total,
        changes=changes,
        around_total=around_total,
        around=around,
        verdicts_total=len(verdicts),
        verdicts=[
            CommitVerdictAnswer.of(each, trace=trace_answer(traces[each.trace_id], repository.name))
            for each in verdicts[:_MOST]
        ],
        quarantines=quarantine_answers(store, repository, store.quarantines.all(repository, slots=[slot])),
    )


def _changes(
    store: Store, line: Line, selection: Selection, most: int, only: Sequence[int] | None = None
) -> tuple[int, list[ChangeAnswer]]:
    """Return the number of changes, and the answers for the first of them."""
    if only is not None and not only:
        return 0, []
    repository = line.repository
    total = store.findings.count(repository, selection=selection) if only is None else len(only)
    chosen = store.findings.changes(repository, selection=selection, sort=Sort.CHANGE, limit=most, members=1, only=only)
    return total, change_answers(store, [(repository, each) for each in chosen])


def _neighbours(store: Store, line: Line, position: int | None) -> tuple[CommitAnswer | None, CommitAnswer | None]:
    """Return the measured commits before and after a position; None where there is none near."""
    if position is None:
        return None, None
    begin = max(0, position - _REACH)
    near = line.slots[begin : position + _REACH + 1]
    measured = store.runs.counts(line.repository, near).keys()
    before = _first_measured(range(position - 1, begin - 1, -1), line, measured)
    after = _first_measured(range(position + 1, begin + len(near)), line, measured)
    slots = [line.slots[each] for each in (before, after) if each is not None]
    commits = {each.slot: each.commit for each in store.commits.get(line.repository, slots)}

    def answer(place: int | None) -> CommitAnswer | None:
        commit = None if place is None else commits.get(line.slots[place])
        return None if commit is None else commit_answer(commit, place)

    return answer(before), answer(after)


def _first_measured(positions: Iterable[int], line: Line, measured: Iterable[int]) -> int | None:
    known = set(measured)
    return next((position for position in positions if line.slots[position] in known), None)


def _compare_address(before: CommitAnswer | None, commit: Commit) -> str:
    """Return the page that compares two commits: of services whose page of a commit is at ``…/commit/HASH``."""
    ending = f"/commit/{commit.hash}"
    if before is None or not commit.url.endswith(ending):
        return ""
    return f"{commit.url.removesuffix(ending)}/compare/{before.hash}...{commit.hash}"
