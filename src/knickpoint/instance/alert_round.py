"""Run the alerts of an instance once, with what follows: accepted changes, suspects, and the deletion of old data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from knickpoint.access.local_user import local_caller
from knickpoint.instance.instance import Instance
from knickpoint.instance.quarantine import quarantine_suspect_results
from knickpoint.model.access import AuditKind
from knickpoint.model.plain_text import counted
from knickpoint.watch.alert_run.persistence import RunSummary
from knickpoint.watch.alert_run.run import run_alerts

if TYPE_CHECKING:
    from knickpoint.history import Git
    from knickpoint.model.change_point import ChangePoint, SuspectRange
    from knickpoint.model.commit import Repository
    from knickpoint.model.judged_benchmark import Acceptance
    from knickpoint.model.suspects import Suspects
    from knickpoint.store import Forgotten


def rank_new_suspects(instance: Instance, *, everything: bool = False) -> int:
    """Rank the suspects of all live changes that are new or were updated, or of ``everything``; return how many.

    Before, the profiles of changes are compared where there are new ones: what they show counts.

    Raises:
        StoreError: the store cannot be read or written.
    """
    from knickpoint.watch.causes import update_causes
    from knickpoint.watch.suspects.update import update_suspects

    open_git = git_source(instance)
    caused = update_causes(instance.store, open_git, instance.seen_profiles, everything=everything)
    return update_suspects(instance.store, open_git, everything=everything, also=caused)


def preview_new_suspects(instance: Instance) -> Mapping[int, Suspects]:
    """Return change → suspects for those that :func:`rank_new_suspects` would rank; nothing is written.

    Raises:
        StoreError: the store cannot be read.
    """
    from knickpoint.watch.suspects.update import rank_stale

    batches = rank_stale(instance.store, git_source(instance))
    return {each.id: suspects for batch in batches for each, suspects in batch.items()}


def git_source(instance: Instance) -> Callable[[Repository], Git | None]:
    """Return a function that opens the git repositories that the instance configures."""

    def open_git(repository: Repository) -> Git | None:
        from knickpoint.ingest.commit_sources.git_repository import open_present_git

        settings = instance.repositories.get(repository.name)
        return open_present_git(repository.name, settings, instance.directory) if settings else None

    return open_git


_DAY_SECONDS: Final = 86_400


def forget_values(instance: Instance, *, dry_run: bool = False) -> dict[str, Forgotten]:
    """Apply ``[retention]`` to the default line of every repository; return what was deleted, by repository.

    Traces with a triaged finding keep everything, and so do commits of other branches. ``dry_run`` counts what would be
    deleted, and changes nothing.
    """
    rule, store = instance.config.retention, instance.store
    samples, values = rule.samples_commits or None, rule.values_commits or None
    bounds = [bound for bound in (rule.profiles_commits, samples, values) if bound]
    if not bounds:
        return {}
    found = {}
    for repository in store.commits.repositories():
        if not store.commits.lines(repository):
            continue
        line, keep = store.commits.line(repository), store.findings.decided_traces(repository)
        lost = store.retain(line, samples=samples, values=values, keep=keep, dry_run=dry_run)
        if store.profiles.any(repository):
            keys = [trace.key for trace in store.traces.get(keep)]
            lost = replace(lost, profiles=store.profiles.retain(line, min(bounds), keep=keys, dry_run=dry_run))
        if lost.samples or lost.points or lost.profiles:
            found[repository.name] = lost
    return found


def forget_events(instance: Instance) -> list[str]:
    """Delete the events beyond the age and number of ``[worker]``; return a line for each kind.

    Nothing is lost with them: the scheduled run of the alerts covers all traces, and findings stay in the store.
    """
    rule = instance.config.worker
    gone = instance.store.outbox.forget(rule.event_days * _DAY_SECONDS, rule.most_events)
    return [
        f"events: deleted {counted.count:,} of kind {counted.kind.value} for {counted.consumer},"
        f" older than {rule.event_days:g} days or beyond {rule.most_events:,}"
        for counted in gone
    ]


def forget_audit_entries(instance: Instance, *, now: datetime | None = None) -> int:
    """Delete the entries of the audit log beyond ``[access] audit_days``, and return how many these were.

    The deletion is an entry itself.
    """
    days, store = instance.config.access.audit_days, instance.store
    if not days:
        return 0
    moment = now or datetime.now(UTC)
    with store.transaction():
        deleted = store.audit.delete_before(moment - timedelta(days=days))
        if deleted:
            about = f"{counted(deleted, 'entry', 'entries')} older than {days:g} days"
            store.audit.append(AuditKind.ENTRIES_DELETED, local_caller().name, about, time=moment)
    return deleted


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
    from knickpoint.model.errors import HistoryError

    open_git, count = git_source(instance), 0
    for key in changes:
        repository = instance.store.findings.repository_of(key)
        try:
            git = open_git(repository)
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
