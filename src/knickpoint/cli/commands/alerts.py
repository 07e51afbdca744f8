"""``knick alerts``: what the configuration watches, beside what was applied."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, format_option, show

if TYPE_CHECKING:
    from knickpoint.watch.alert_config.applied_alerts import Difference
    from knickpoint.watch.alert_config.finding_losses import Losses

__all__ = ["command"]

_LIST = (
    Column("name"),
    Column("query", text=lambda query: query or "every trace"),
    Column("method"),
    Column("direction"),
    Column("minimum_effect", right=True),
    Column("minimum_traces", right=True),
    Column("state"),
    Column("failure"),
)


def _number(count: int) -> str:
    return f"{count:,}" if count else ""


_DIFFERENCE = (
    Column("name"),
    Column("change"),
    Column("settings", text=" · ".join),
    Column("gone", "findings gone", text=_number, right=True),
    Column("decided", "of them decided", text=_number, right=True),
    Column("staying", "kept by others", text=_number, right=True),
    Column("failure"),
)


@click.group("alerts")
def command() -> None:
    """Compare the alerts of the configuration with those in force, and change them."""


@command.command("list")
@instance_option
@format_option
def list_(instance: str | None, output: OutputFormat) -> None:
    """List the alerts of the configuration, whether they are applied, and why one cannot run."""
    from knickpoint.watch.alert_config.applied_alerts import compare_alerts

    with open_chosen_instance(instance) as opened:
        known = {one.name: one for one in compare_alerts(opened.store, opened.alerts)}
        states = {name: one.change.value for name, one in known.items()}
        rows: list[dict[str, Any]] = [
            {
                "name": alert.name,
                "query": alert.query,
                "method": alert.method,
                "direction": alert.direction.value,
                "minimum_effect": alert.minimum_effect,
                "minimum_traces": alert.minimum_traces,
                "state": "applied" if states[alert.name] == "unchanged" else states[alert.name],
                "failure": known[alert.name].failure,
            }
            for alert in opened.alerts
        ]
    show(_LIST, rows, output)


@command.command("apply")
@click.option("--dry-run", is_flag=True, help="Show the difference, and change nothing.")
@instance_option
@format_option
def apply(*, dry_run: bool, instance: str | None, output: OutputFormat) -> None:
    """Make the alerts of the configuration those in force; findings that only a removed alert saw are gone.

    For each alert that changed or is removed, the answer says how many of its findings go, how many of these have a
    status or a ticket, and how many it sees no more but stay because another alert sees them. Those of a changed alert
    go at the next run. What an alert would find in addition is not counted.
    """
    from knickpoint.watch.alert_config.applied_alerts import AlertChange, apply_alerts, compare_alerts
    from knickpoint.watch.alert_config.finding_losses import losses_of

    with open_chosen_instance(instance) as opened:
        differences = compare_alerts(opened.store, opened.alerts)
        changed = [one.name for one in differences if one.change is not AlertChange.UNCHANGED]
        losses = losses_of(opened.store, opened.alerts, changed)
        if not dry_run:
            apply_alerts(opened.store, opened.alerts)
    show(_DIFFERENCE, _rows(differences, losses), output)


def _rows(differences: Sequence[Difference], losses: Mapping[str, Losses]) -> list[dict[str, Any]]:
    from knickpoint.watch.alert_config.finding_losses import Losses

    rows = []
    for one in differences:
        lost = losses.get(one.name) or Losses()
        rows.append(
            {
                "name": one.name,
                "change": one.change.value,
                "settings": [f"{name}: {before} → {after}" for name, (before, after) in one.settings.items()],
                "gone": lost.gone,
                "decided": lost.decided,
                "staying": lost.staying,
                "failure": one.failure,
            }
        )
    return rows
