"""Forget old values by the rule of the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knickpoint.instance.place import Instance
    from knickpoint.store import Forgotten

__all__ = ["forget_values"]


def forget_values(instance: Instance, *, dry_run: bool = False) -> dict[str, Forgotten]:
    """Apply ``[retention]`` to the default line of every repository; return what was forgotten, by repository.

    Samples go first, then values; traces with a finding that somebody decided about lose nothing. What lies on
    other branches only is kept. ``dry_run`` counts what would be forgotten and changes nothing.
    """
    rule, store = instance.config.retention, instance.store
    samples, values = rule.samples_commits or None, rule.values_commits or None
    if samples is None and values is None:
        return {}
    found = {}
    for repository in store.commits.repositories():
        if not store.commits.lines(repository):
            continue
        line, keep = store.commits.line(repository), store.findings.decided_traces(repository)
        lost = store.retain(line, samples=samples, values=values, keep=keep, dry_run=dry_run)
        if lost.samples or lost.points:
            found[repository.name] = lost
    return found
