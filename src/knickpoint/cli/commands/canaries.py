"""``knick canaries``: list the results that are quarantined because a machine moved, and lift their quarantine."""

from __future__ import annotations

from typing import Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show
from knickpoint.cli.verbosity import note
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import figure_text

__all__ = ["command"]

_COLUMNS: Final = (
    Column("id"),
    Column("repository"),
    Column("commit", text=lambda name: name[:10]),
    Column("machine", text=lambda name: name or "–"),
    Column("state"),
    Column("traces"),
    Column("reason"),
    Column("since"),
    Column("until"),
    Column("outcome", text=lambda text: text or "–"),
)
_HEALTH: Final = (
    Column("canary"),
    Column("trace"),
    Column("machine", text=lambda name: name or "–"),
    Column("judged"),
    Column("moved"),
    Column("noise", text=lambda share: figure_text(share, ".1%") if share is not None else "–"),
    Column("useless", "ignored because", text=lambda text: text or "–"),
)


@click.group("canaries", invoke_without_command=True)
@click.option("--all", "everything", is_flag=True, help="Also those that ended.")
@instance_option
@format_option
@click.pass_context
def command(context: click.Context, *, everything: bool, instance: str | None, output: OutputFormat) -> None:
    """List the results that take no part in levels, because a canary or a fact of their machine changed."""
    if context.invoked_subcommand:
        return
    rows: list[Row] = []
    with open_chosen_instance(instance) as opened:
        store = opened.store
        for repository in store.commits.repositories():
            found = [each for each in store.quarantines.all(repository) if everything or each.state.withholds]
            commits = {each.slot: each.commit.hash for each in store.commits.get(repository, [q.slot for q in found])}
            rows += [
                {
                    "id": f"Q{each.id}",
                    "repository": repository.name,
                    "commit": commits.get(each.slot, ""),
                    "machine": each.machine,
                    "state": each.state.value,
                    "traces": each.traces,
                    "reason": each.reason,
                    "since": each.since.isoformat(timespec="seconds"),
                    "until": each.until.isoformat(timespec="seconds"),
                    "outcome": f"{each.outcome} ({each.who})" if each.who else each.outcome,
                }
                for each in found
            ]
    show(_COLUMNS, rows, output, empty="No results are quarantined.")


@command.command("lift")
@click.argument("number")
@click.option("--reason", required=True, help="Why the results count; the audit log has it.")
@instance_option
def lift(number: str, reason: str, instance: str | None) -> None:
    """Let quarantined results count after all; NUMBER is Q3 or 3."""
    from knickpoint.access.local_user import local_caller
    from knickpoint.watch.quarantine.update import lift_quarantine

    digits = number.removeprefix("Q").removeprefix("q")
    if not (digits.isascii() and digits.isdigit()):
        raise InputError(f"{number!r} is no id of a quarantine", remedy="Write Q3 or 3; see knick canaries.")
    with open_chosen_instance(instance) as opened:
        store = opened.store
        owner = store.quarantines.get(int(digits)).quarantine.repository_id
        repository = next(each for each in store.commits.repositories() if each.id == owner)
        lifted = lift_quarantine(store, repository, int(digits), who=local_caller().name, reason=reason)
    note(f"Q{lifted.id} is lifted; the next knick run judges {counted(lifted.traces, 'trace')} anew.")


@command.command("health")
@instance_option
@format_option
def health(instance: str | None, output: OutputFormat) -> None:
    """List how useful each canary is on each machine; one that moves all the time is ignored."""
    from knickpoint.instance import canary_health

    with open_chosen_instance(instance) as opened:
        rows: list[Row] = [
            {
                "canary": each.trace.canary,
                "trace": each.trace.key,
                "machine": each.machine,
                "judged": each.judged,
                "moved": each.episodes,
                "noise": None if each.noise != each.noise else each.noise,  # nan where it is unknown
                "useless": each.useless,
            }
            for each in canary_health(opened)
        ]
    show(_HEALTH, rows, output, empty="There are no canaries: see [canaries.NAME] in knickpoint.toml.")
