"""``knick canaries``: list the results that are quarantined because a machine moved, and lift their quarantine."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answers
from knickpoint.cli.terminal import note
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.model.quarantine import QuarantineState
    from knickpoint.store import Store

_COLUMNS: Final = (
    Column("id"),
    Column("repository"),
    *(Column(name) for name in ("commit", "machine", "state", "traces", "reason", "since", "until", "outcome")),
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
@click.option("--all", "everything", is_flag=True, help="Include ended ones.")
@instance_option
@format_option
@click.pass_context
def command(context: click.Context, *, everything: bool, instance: str | None, output: OutputFormat) -> None:
    """List the quarantined results: a canary, or a fact of their machine, changed."""
    if context.invoked_subcommand:
        return
    from knickpoint.model.quarantine import QuarantineState

    states = [each for each in QuarantineState if everything or each.withholds]
    with open_chosen_instance(instance) as opened:
        if output is OutputFormat.TEXT:
            rows = list(_rows(opened.store, states))
            show(_COLUMNS, rows, output, empty="No results are quarantined.")
            return
        from knickpoint.answers.quarantines import QuarantineAnswer, list_quarantines
        from knickpoint.answers.visible_repositories import VisibleRepositories

        visible = VisibleRepositories.to_local_user(opened.store)
        show_answers(QuarantineAnswer, list_quarantines(visible, "", states, limit=None), output)


def _rows(store: Store, states: Collection[QuarantineState]) -> Iterator[Row]:
    for repository in store.commits.repositories():
        found = store.quarantines.all(repository, states=states)
        commits = {each.slot: each.commit.hash for each in store.commits.get(repository, [q.slot for q in found])}
        for each in found:
            yield {
                "id": f"Q{each.id}",
                "repository": repository.name,
                "commit": commits.get(each.slot, "")[:10],
                "machine": each.machine or "–",
                "state": each.state.value,
                "traces": each.traces,
                "reason": each.reason,
                "since": each.since.isoformat(timespec="seconds"),
                "until": each.until.isoformat(timespec="seconds"),
                "outcome": f"{each.outcome} ({each.who})" if each.who else each.outcome or "–",
            }


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
        raise InputError(f"{number!r} is not an id of a quarantine", remedy="Write Q3 or 3; see knick canaries.")
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
    """List the usefulness of each canary on each machine; one that moves all the time is ignored."""
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
