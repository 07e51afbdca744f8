"""``knick quality proposals``: changes of alerts that would have left out much of what people hid."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.commands.quality.command import command
from knickpoint.cli.commands.quality.period import period_options, read_period
from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Cell, Column, OutputFormat, format_option, show
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.instance import Instance
    from knickpoint.watch.quality.proposals import Proposal
    from knickpoint.watch.quality.report import Period

__all__ = ["accept", "proposals"]

_COLUMNS: Final = (
    Column("name"),
    Column("change"),
    *(Column(name, right=True) for name in ("traces", "hidden", "all_hidden", "real", "all_real")),
    Column("reason"),
)
_REPLAYED: Final = tuple(
    Column(f"{name}_{when}", f"{name} {when}", right=True)
    for name in ("found", "noise", "messages")
    for when in ("before", "after")
)


def _proposals(opened: Instance, period: Period) -> list[Proposal]:
    from knickpoint.watch.quality.proposals import propose
    from knickpoint.watch.quality.report import read_records

    by_repository = read_records(opened.store, opened.store.commits.repositories(), period)
    return propose((record for several in by_repository.values() for record in several), opened.alerts)


@command.command("proposals")
@click.option("--backtest", "replayed", is_flag=True, help="Replay the past as it was and with each proposal.")
@period_options
@instance_option
@format_option
def proposals(*, replayed: bool, since: str, until: str, instance: str | None, output: OutputFormat) -> None:
    """Propose changes of alerts, with the counts behind each.

    raise lifts the least effect, mute leaves out values of a param, split gives traces that jump between levels an alert of
    their own with the method modes. With --backtest the past is replayed in the traces with findings of the alert. Nothing
    is changed: knick quality accept NAME does that.
    """
    with open_chosen_instance(instance) as opened:
        found = _proposals(opened, read_period(since, until))
        rows = [{**_row(each), **(_replay(opened, each) if replayed else {})} for each in found]
    columns = (*_COLUMNS[:-1], *(_REPLAYED if replayed else ()), _COLUMNS[-1])
    show(columns, rows, output, empty="The decisions so far propose no change of an alert.")


def _row(proposal: Proposal) -> dict[str, Cell]:
    counts = ("traces", "hidden", "all_hidden", "real", "all_real")
    return {
        "name": proposal.name,
        "change": proposal.change,
        "reason": proposal.reason,
        **{name: getattr(proposal, name) for name in counts},
    }


def _replay(opened: Instance, proposal: Proposal) -> dict[str, Cell]:
    """Return what people would have seen before and after, in the traces with findings of the alert."""
    from knickpoint.watch.backtest.preview import replay_change

    before, after = replay_change(opened.store, proposal.alert, proposal.changed)
    return {
        **{f"{name}_before": getattr(before, name) for name in ("found", "noise", "messages")},
        **{f"{name}_after": getattr(after, name) for name in ("found", "noise", "messages")},
    }


@command.command("accept")
@click.argument("name")
@period_options
@instance_option
def accept(*, name: str, since: str, until: str, instance: str | None) -> None:
    """Accept the proposal NAME: change its alert in the store, as knick alerts set does.

    The next run takes back what the alert no longer finds. The output has the commands that undo it. An alert of
    knickpoint.toml is not changed; the output has the section to write.
    """
    from knickpoint.access.local_user import local_caller
    from knickpoint.instance.alert_definition import set_alert
    from knickpoint.instance.alert_sources import AlertSource, sourced_alerts

    with open_chosen_instance(instance) as opened:
        found = {each.name: each for each in _proposals(opened, read_period(since, until))}
        if name not in found:
            raise InputError(
                f"there is no proposal {name!r}", remedy=f"The proposals are: {', '.join(found) or 'none'}."
            )
        proposal = found[name]
        sources = {each.alert.name: each.source for each in sourced_alerts(opened.config, opened.store)}
        source = sources[proposal.alert.name]
        if source in {AlertSource.CONFIGURATION, AlertSource.REPOSITORY}:
            raise InputError(
                f"the alert {proposal.alert.name!r} is defined in a file, which no command changes",
                where=f"proposal {name}",
                remedy=f"Change it there: {proposal.change}.",
            )
        with opened.store.transaction():
            for alert in proposal.changed:
                set_alert(opened, alert, who=local_caller().name)
    click.echo(f"Changed: {proposal.change}")
    click.echo("To undo it:")
    for line in _undoing(proposal, existed=source is AlertSource.STORE):
        click.echo(f"  {line}")


def _undoing(proposal: Proposal, *, existed: bool) -> Iterable[str]:
    """Return the commands that bring back the alerts as they were."""
    import shlex

    before = proposal.alert
    for alert in proposal.changed[1:]:
        yield f"knick alerts remove {shlex.quote(alert.name)}"
    if not existed:
        yield f"knick alerts remove {shlex.quote(before.name)}"
        return
    settings = (f"query={before.query}", f"minimum_effect={before.minimum_effect:g}")
    yield " ".join(["knick alerts set", shlex.quote(before.name), *map(shlex.quote, settings)])
