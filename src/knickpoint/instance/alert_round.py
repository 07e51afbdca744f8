"""Run the alerts of an instance once, with what belongs before and after them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from knickpoint.instance.instance import Instance
from knickpoint.instance.quarantine import quarantine_suspect_results
from knickpoint.instance.retention import forget_events
from knickpoint.instance.suspects import rank_new_suspects
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.alert_run.run_summary import RunSummary

if TYPE_CHECKING:
    from knickpoint.history import Git
    from knickpoint.model.change_point import ChangePoint, SuspectRange
    from knickpoint.model.commit import Repository
    from knickpoint.model.judged_benchmark import Acceptance


# Acknowledge new findings that a commit of their suspect range accepts, by its trailer ``Knickpoint-Accept``.
#
# The trailer let the pull request pass the check. When the change is merged and an alert finds it, the finding is
# known: its note has the reason, and its author is that of the commit.


def acknowledge_accepted(instance: Instance, changes: Collection[int]) -> int:
    """Acknowledge the unprocessed members of ``changes`` that got worse and are accepted; return how many.

    Where git cannot be read, or lacks the commits, nothing is acknowledged.

    Raises:
        StoreError: the store cannot be read or written.
    """
    from knickpoint.ingest.commit_sources.git_repository import open_present_git
    from knickpoint.model.errors import HistoryError

    count = 0
    for key in changes:
        repository = instance.store.findings.repository_of(key)
        settings = instance.repositories.get(repository.name)
        try:
            git = open_present_git(repository.name, settings, instance.directory) if settings else None
            count += _acknowledge(instance, repository, git, key) if git else 0
        except HistoryError:
            continue
    return count


def _acknowledge(instance: Instance, repository: Repository, git: Git, key: int) -> int:
    """Acknowledge what the commits of one change accept."""
    from knickpoint.model.change_point import Direction, Status
    from knickpoint.watch.triage.decisions import Targets, decide

    store = instance.store
    points = [
        point
        for point in store.findings.live_members(key)
        if not point.processed and point.direction is not Direction.IMPROVEMENT
    ]
    keys = {trace.id: trace.key for trace in store.traces.get(sorted({point.trace_id for point in points}))}
    by_range: dict[SuspectRange, list[ChangePoint]] = defaultdict(list)
    for point in points:
        by_range[point.suspect_range].append(point)
    found: dict[Acceptance, list[int]] = defaultdict(list)
    for suspect_range, members in by_range.items():
        accepted = _accepted(instance, repository, git, suspect_range, [keys[point.trace_id] for point in members])
        for point in members:
            if acceptance := accepted.get(keys[point.trace_id]):
                found[acceptance].append(point.id)
    for acceptance, ids in found.items():
        note = f"Accepted in {acceptance.commit[:12]}: {acceptance.reason}"
        decide(store, Targets(points=tuple(ids)), who=f"git:{acceptance.author}", status=Status.ACKNOWLEDGED, note=note)
    return sum(map(len, found.values()))


def _accepted(
    instance: Instance, repository: Repository, git: Git, suspect_range: SuspectRange, keys: Collection[str]
) -> dict[str, Acceptance]:
    """Return trace key → the commit of the suspect range that accepts its change."""
    from knickpoint.ingest.comparison_base import ACCEPT_TRAILER
    from knickpoint.watch.accepted_changes import match_accepted

    known = instance.store.commits.get(repository, [suspect_range.previous, suspect_range.slot])
    hashes = {slotted.slot: slotted.commit.hash for slotted in known}
    if len(git.resolve(hashes.values())) < 2:
        return {}
    trailers = git.trailers(ACCEPT_TRAILER, hashes[suspect_range.slot], without=[hashes[suspect_range.previous]])
    accepted, _ = match_accepted(trailers, keys)
    return accepted


def run_alert_round(
    instance: Instance,
    *,
    names: Collection[str] = (),
    afresh: bool = False,
    turn: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> RunSummary:
    """Hold back results of machines that moved, run the alerts, and rank the suspects of what they find.

    Args:
        instance: the instance, open.
        names: only these alerts; all of them by default.
        afresh: judge all traces, including those without a change since the last run.
        turn: turn the findings of traces of which another direction is better now.
        progress: is called with (done, total).

    Raises:
        StoreError: the store cannot be written.
    """
    quarantine_suspect_results(instance)
    summary = run_alerts(
        instance.store,
        instance.alerts,
        names=tuple(names),
        progress=progress,
        runner=instance.runner,
        afresh=afresh,
        turn=turn,
        as_work=instance.config.history.as_work,
        announcements=instance.config.findings.rule,
    )
    acknowledge_accepted(instance, summary.new_changes)
    rank_new_suspects(instance, everything=afresh)
    forget_events(instance)
    return summary
