"""Find what people should look at although it is not a finding: canaries, benchmarks that stopped, changed directions.

A canary is a benchmark that no commit should change. When it moves, the machine has changed, and the findings at the
same commits are in doubt. A benchmark that stopped has no results at the last commits although it had them regularly
before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from knickpoint.instance.instance import Instance
from knickpoint.model.bisection import PROBE_FACT
from knickpoint.model.commit import Repository
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from datetime import datetime

    from knickpoint.watch.missing_data import MissingData
    from knickpoint.watch.missing_traces import MissingTrace


_RECENT: Final = 50
"""Commits at the end of the line within which a canary that moved is reported.

Later only while findings are in doubt.
"""


class NoticeKind(Enum):
    """What a notice is about."""

    CANARY = "canary"
    SILENCE = "silence"
    DIRECTION = "direction"


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to look at besides the changes.

    ``trace`` is the trace key, "" where several stopped at one commit, and the first of those whose findings would
    turn. ``slot`` and ``commit`` are those at which the canary moved, or the last ones with results; -1 and "" for
    directions. ``canary`` is the name of its section in the configuration. ``changes`` are the unprocessed ones that
    are in doubt because of it.
    """

    kind: NoticeKind
    repository: str
    trace: str
    slot: int
    commit: str
    text: str
    canary: str = ""
    changes: tuple[int, ...] = ()


def find_notices(instance: Instance, repositories: Sequence[Repository] | None = None) -> list[Notice]:
    """Return the notices of ``repositories``, by default of all: canaries, directions, silences.

    Raises:
        QueryError: a query of ``[canaries]`` or ``[missing]`` cannot be read.
        StoreError: the store cannot be read.
    """
    found: list[Notice] = []
    chosen = instance.store.commits.repositories() if repositories is None else repositories
    for repository in chosen:
        found += _canaries(instance, repository)
    found += _directions(instance, chosen)
    if instance.config.missing.watch:
        for repository in chosen:
            found += _silences(instance, repository)
    return found


def _hashes(instance: Instance, repository: Repository, slots: set[int]) -> dict[int, str]:
    return {each.slot: each.commit.hash for each in instance.store.commits.get(repository, sorted(slots))}


def _canaries(instance: Instance, repository: Repository) -> Iterator[Notice]:
    from knickpoint.store.findings.selection import Selection
    from knickpoint.watch.quarantine.canaries import canary_warnings, in_doubt

    store = instance.store
    line = store.commits.line(repository)
    for name, canary in instance.config.canaries.items():
        if canary.repository not in {"", repository.name}:
            continue
        warnings = canary_warnings(store, repository, canary.query)
        if not warnings:
            continue
        listed = store.findings.changes(repository, processed=False, selection=Selection(history=False))
        doubts = in_doubt(store, repository, listed, warnings)
        hashes = _hashes(instance, repository, {warning.slot for warning in warnings})
        for warning in warnings:
            in_question = tuple(sorted(key for key, known in doubts.items() if warning in known))
            position = line.positions.get(warning.slot, -1)
            if not in_question and position < len(line.slots) - _RECENT:
                continue
            movement = (
                f"stepped by {figure_text(warning.point.numbers.relative_size, '+.1%')}"
                if warning.point
                else f"has a newest value that is off by {figure_text(warning.judgement.relative_size, '+.1%')}"
                if warning.judgement
                else "moved"
            )
            doubted = f", {', '.join(f'R{key}' for key in in_question)} in doubt" if in_question else ""
            commit = hashes.get(warning.slot, "")
            text = f"canary {name}: {warning.trace.key} {movement} at {commit[:10]}{doubted}"
            yield Notice(
                NoticeKind.CANARY, repository.name, warning.trace.key, warning.slot, commit, text, name, in_question
            )


def _directions(instance: Instance, repositories: Sequence[Repository]) -> Iterator[Notice]:
    """Yield a notice a repository with findings that would turn, as another direction of their traces is better now."""
    from knickpoint.watch.alert_run.run_plan import turned_traces

    turned = turned_traces(instance.store)
    for repository in repositories:
        here = [each for each in turned.values() if each.owned.repository == repository.id]
        if here:
            trace, former = here[0].owned.trace, here[0].better
            findings = counted(sum(each.findings for each in here), "finding")
            text = (
                f"{findings} in {counted(len(here), 'trace')} would turn, because another direction is better now,"
                f" as in {trace.key}: judged by {former.value}, now {trace.better.value}; knick run --turn-findings "
                "accepts"
            )
            yield Notice(NoticeKind.DIRECTION, repository.name, trace.key, -1, "", text)


def _silences(instance: Instance, repository: Repository) -> Iterator[Notice]:
    """Yield a notice where everything stopped, and one a commit for the traces that stopped there, as one job did."""
    from knickpoint.watch.missing_traces import absences

    query = instance.config.missing.query
    newer = newer_commits(instance, repository)
    found = absences(instance.store, repository, query, newer=newer, known=instance.habits)
    groups: dict[int, list[MissingTrace]] = {}
    for trace in _without_probes(instance, repository, found.traces):
        groups.setdefault(trace.last_slot, []).append(trace)
    slots = set(groups) | ({found.job.last_slot} if found.job else set())
    hashes = _hashes(instance, repository, slots)
    if found.job:
        commit = hashes.get(found.job.last_slot, "")
        usual = "at every commit" if found.job.usual == 1 else f"every {found.job.usual:,} commits or more often"
        text = f"nothing was measured at the last {counted(found.job.silent, 'commit')}, since {commit[:10]}; it was {usual}"
        yield Notice(NoticeKind.SILENCE, repository.name, "", found.job.last_slot, commit, text)
    for slot, stopped in groups.items():
        commit = hashes.get(slot, "")
        key = stopped[0].trace.key if len(stopped) == 1 else ""
        what = f"{key} has" if key else f"{len(stopped):,} traces{_in_common(instance, repository, stopped)} have"
        text = f"{what} no results at the last {counted(stopped[0].silent, 'measured commit')}, since {commit[:10]}"
        yield Notice(NoticeKind.SILENCE, repository.name, key, slot, commit, text)


def _without_probes(
    instance: Instance, repository: Repository, missing: Sequence[MissingTrace]
) -> Iterator[MissingTrace]:
    """Yield the traces that were expected to go on: not those whose last value a probe of a bisection measured."""
    runs = instance.store.runs
    probed = {
        run.slot
        for run in runs.at(repository, sorted({each.last_slot for each in missing}))
        if PROBE_FACT in run.environment
    }
    for each in missing:
        if each.last_slot in probed:
            last = runs.points(each.trace.id, each.last_slot)
            if last and all(PROBE_FACT in point.run.environment for point in last):
                continue
        yield each


def _in_common(instance: Instance, repository: Repository, missing: list[MissingTrace]) -> str:
    """Return the params that these traces share and others do not have, such as ``" (os=mac)"``; "" for none."""
    from knickpoint.model.params import decode_key
    from knickpoint.model.query import parse_query

    facets = instance.store.traces.facets(repository, parse_query(instance.config.missing.query))
    first, *rest = [decode_key(each.trace.key).items() for each in missing]
    shared = sorted(set(first).intersection(*rest))
    distinctive = [f"{name}={value}" for name, value in shared if len(facets.get(name, {})) > 1]
    return f" ({' '.join(distinctive)})" if distinctive else ""


def newer_commits(instance: Instance, repository: Repository) -> list[datetime]:
    """Return the times of commits that git has and the store does not have yet, where no fetch is needed."""
    from knickpoint.ingest.commit_sources.git_repository import commits_after
    from knickpoint.model.errors import HistoryError

    line = instance.store.commits.line(repository)
    settings = instance.repositories.get(repository.name)
    if settings is None or not line.slots:
        return []
    (last,) = instance.store.commits.get(repository, [line.slots[-1]])
    try:
        later = commits_after(repository.name, settings, instance.directory, last.commit.hash)
    except HistoryError:  # the task that follows the repository reports it
        return []
    return [commit.time for commit in later]


# Find what should have results and has none, by the settings of an instance.


def find_missing(instance: Instance, repository: Repository) -> MissingData:
    """Find missing data in ``repository`` among the traces of ``[missing] query``.

    Reads the values that changed since it was asked last.

    Raises:
        StoreError: the store cannot be read.
    """
    from knickpoint.watch.missing_data import find_missing_data

    newer = newer_commits(instance, repository)
    query = instance.config.missing.query
    return find_missing_data(instance.store, repository, query, newer=newer, known=instance.habits)
