"""Run the alerts of an instance once, with what belongs before and after them."""

from __future__ import annotations

from collections.abc import Callable, Collection

from knickpoint.instance.accepted_findings import acknowledge_accepted
from knickpoint.instance.instance import Instance
from knickpoint.instance.quarantine import quarantine_suspect_results
from knickpoint.instance.retention import forget_events
from knickpoint.instance.suspects import rank_new_suspects
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.alert_run.run_summary import RunSummary

__all__ = ["run_alert_round"]


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
