"""Delete old profiles, samples, values, events and entries of the audit log by the rules of the configuration."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from knickpoint.access.local_user import local_caller
from knickpoint.model.access import AuditKind
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from knickpoint.instance.instance import Instance
    from knickpoint.store import Forgotten

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
