"""``knick alerts``: compare the alerts of the configuration with the applied ones, and apply them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show

if TYPE_CHECKING:
    from knickpoint.watch.alert_config.applied_alerts import AlertDifference
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
    """Compare the alerts of the configuration with the applied ones, and apply them."""


@command.command("list")
@instance_option
@format_option
def list_(instance: str | None, output: OutputFormat) -> None:
    """List the alerts of the configuration, whether they are applied, and why some cannot run."""
    from knickpoint.watch.alert_config.applied_alerts import compare_alerts

    with open_chosen_instance(instance) as opened:
        known = {each.name: each for each in compare_alerts(opened.store, opened.alerts)}
        states = {name: each.change.value for name, each in known.items()}
        rows: list[Row] = [
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
    """Apply the alerts of the configuration; findings that only a removed alert reports are gone.

    For each changed or removed alert, the table counts its findings that go, those of them with a status or a ticket,
    and those that stay because another alert reports them as well. The findings of a changed alert go at the next
    run. Findings that an alert would add are not counted.
    """
    from knickpoint.access.local_user import local_caller
    from knickpoint.watch.alert_config.applied_alerts import AlertChange, apply_alerts, compare_alerts
    from knickpoint.watch.alert_config.finding_losses import losses_of

    with open_chosen_instance(instance) as opened:
        differences = compare_alerts(opened.store, opened.alerts)
        changed = [each.name for each in differences if each.change is not AlertChange.UNCHANGED]
        losses = losses_of(opened.store, opened.alerts, changed)
        if not dry_run:
            apply_alerts(opened.store, opened.alerts, who=local_caller().name)
    show(_DIFFERENCE, _rows(differences, losses), output)


def _rows(differences: Sequence[AlertDifference], losses: Mapping[str, Losses]) -> list[Row]:
    from knickpoint.watch.alert_config.finding_losses import Losses

    rows: list[Row] = []
    for difference in differences:
        lost = losses.get(difference.name) or Losses()
        rows.append(
            {
                "name": difference.name,
                "change": difference.change.value,
                "settings": [f"{change.name}: {change.before} → {change.after}" for change in difference.settings],
                "gone": lost.gone,
                "decided": lost.decided,
                "staying": lost.staying,
                "failure": difference.failure,
            }
        )
    return rows
