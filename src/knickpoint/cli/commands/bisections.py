"""``knick bisections``: list the bisections of an instance, show one, stop one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show
from knickpoint.cli.verbosity import note
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.store import Store
    from knickpoint.store.bisections import StoredBisection

__all__ = ["command"]

_COLUMNS: Final = (
    Column("id"),
    Column("repository"),
    Column("regression", text=lambda name: name or "–"),
    Column("profile"),
    Column("state"),
    Column("commits"),
    Column("probes"),
    Column("culprit", text=lambda name: name[:10] or "–"),
    Column("probability", text=lambda share: f"{share:.1%}" if share else "–"),
    Column("who"),
    Column("asked"),
    Column("reason", text=lambda text: text or "–"),
)


@click.group("bisections", invoke_without_command=True)
@click.option("--all", "everything", is_flag=True, help="Also those that ended.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="How many to list.")
@instance_option
@format_option
@click.pass_context
def command(
    context: click.Context, *, everything: bool, limit: int, instance: str | None, output: OutputFormat
) -> None:
    """List the searches for commits that wait or run, the newest first."""
    from knickpoint.model.bisection import BisectionState

    if context.invoked_subcommand:
        return
    states = () if everything else tuple(state for state in BisectionState if not state.ended)
    with open_chosen_instance(instance) as opened:
        names = {each.id: each.name for each in opened.store.commits.repositories()}
        found = opened.store.bisections.newest(states=states, limit=limit)
        rows = [_row(opened.store, each, names) for each in found]
    empty = "There are no bisections." if everything else "No bisection waits or runs; --all lists those that ended."
    show(_COLUMNS, rows, output, empty=empty)


@command.command("stop")
@click.argument("number")
@instance_option
def stop(number: str, instance: str | None) -> None:
    """Stop a bisection; NUMBER is B12 or 12. Its probes end, and its finding stays as it is."""
    from knickpoint.access.local_user import local_caller
    from knickpoint.instance.bisections import stop_bisection

    plain = number.removeprefix("B").removeprefix("b")
    if not (plain.isascii() and plain.isdigit()):
        raise InputError(f"{number!r} is no bisection", where="NUMBER", remedy="Write it as B12, or 12.")
    with open_chosen_instance(instance) as opened:
        stopped = stop_bisection(opened, int(plain), who=local_caller().name)
    ended = "is stopped" if stopped.state.ended else "stops as soon as its worker hears of it"
    note(f"Bisection {stopped.name} {ended}.")


def _row(store: Store, found: StoredBisection, names: dict[int, str]) -> Row:
    asked, answer = found.request, found.answer
    repository = next(each for each in store.commits.repositories() if each.id == asked.repository_id)
    commits = {each.slot: each.commit.hash for each in store.commits.get(repository, list(answer.culprits))}
    probes = store.bisections.journal(found.id).probes()
    return {
        "id": found.name,
        "repository": names[asked.repository_id],
        "regression": f"R{asked.regression_id}" if asked.regression_id else "",
        "profile": asked.profile,
        "state": found.state.value,
        "commits": len(asked.slots) - 1,
        "probes": sum(each.result is not None for each in probes),
        "culprit": " ".join(commits.get(slot, "") for slot in answer.culprits),
        "probability": answer.probability,
        "who": asked.who,
        "asked": asked.asked.isoformat(timespec="seconds"),
        "reason": answer.reason,
    }
