"""``knick triage``: decide about changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, format_option, show
from knickpoint.cli.terminal import note as print_note
from knickpoint.model.change_point import Action, Decision, Status
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knickpoint.instance import Instance
    from knickpoint.store import Store
    from knickpoint.watch.triage.decisions import Targets

_COLUMNS = (
    Column("id"),
    Column("trace"),
    Column("action"),
    Column("status"),
    Column("who"),
    Column("ticket"),
    Column("assignee"),
    Column("note"),
)


def _at_commit(opened: Instance, revision: str) -> list[str]:
    """Return the ids of the changes at the commit ``revision``.

    Raises:
        InputError: no repository has the commit, or there is no change at it.
    """
    from knickpoint.instance.named_commits import known_revision
    from knickpoint.store.findings.selection import Selection

    store, found, known = opened.store, [], False
    for repository in store.commits.repositories():
        commit = store.commits.find(repository, known_revision(opened, repository, revision))
        if commit is not None:
            known = True
            selection = Selection(slot=commit.slot)
            found += [f"R{each.id}" for each in store.findings.changes(repository, selection=selection, members=0)]
    if not found:
        raise InputError(
            "there is no change at this commit" if known else "no repository has this commit",
            where=f"commit {revision}",
            remedy="See knick changes --status all.",
        )
    return found


def _chosen_action(status: str | None, **flags: bool) -> Action:
    chosen = [Action(name) for name, given in flags.items() if given]
    if len(chosen) > 1 or (chosen and status):
        raise InputError(
            "--as, --split, --merge and --undo exclude each other", where="knick triage", remedy="Decide one at a time."
        )
    return chosen[0] if chosen else Action.DECIDE


def _check_creation(tracker: str, action: Action, status: str | None, ticket: str | None) -> None:
    fits = action is Action.DECIDE and status in {None, Status.TICKET.value} and not ticket
    if tracker and not fits:
        raise InputError(
            "--create makes the ticket of a decision --as ticket",
            where="knick triage",
            remedy="Leave out --ticket, --split, --merge, --undo and any other status.",
        )


def _create(instance: Instance, targets: Targets, tracker: str, who: str) -> str:
    """Make the ticket in a tracker, and return its name."""
    from knickpoint.instance.trackers import create_ticket

    made = create_ticket(instance, targets, tracker, who=who)
    print_note(f"{made.name}: {made.url}", err=True)
    return made.name


def _show(store: Store, output: OutputFormat, entries: Sequence[Decision], *, undone: bool) -> None:
    keys = {point.id: point.key for point in store.findings.points([entry.change_point_id for entry in entries])}
    rows = [
        {
            "id": f"P{entry.change_point_id}",
            "trace": keys[entry.change_point_id],
            "action": entry.action.value,
            "status": entry.status.value,
            "who": entry.who,
            "ticket": entry.ticket,
            "assignee": entry.assignee,
            "note": entry.note,
        }
        for entry in entries
    ]
    show(_COLUMNS, rows, output, empty="Nothing changed: there is no decision to undo." if undone else "")


@click.command("triage")
@click.argument("ids", nargs=-1, metavar="ID…")
@click.option("--commit", default="", metavar="HASH", help="Decide about all changes at this commit.")
@click.option(
    "--as", "status", type=click.Choice([status.value for status in Status]), default=None, help="The decision."
)
@click.option("--note", default=None, help="Why.")
@click.option("--ticket", default=None, metavar="KEY", help="The ticket to link.")
@click.option(
    "--create", "tracker", default="", metavar="CHANNEL", help="Create a ticket in this tracker, and link it."
)
@click.option("--assign", "assignee", default=None, metavar="WHO", help="The person to assign.")
@click.option("--all", "all_members", is_flag=True, help="Include change points with an earlier decision.")
@click.option("--split", is_flag=True, help="Split these change points off into a new change.")
@click.option("--merge", is_flag=True, help="Merge these changes into one.")
@click.option("--undo", is_flag=True, help="Undo the last decision about ID, or your last one.")
@instance_option
@format_option
def command(
    *,
    ids: tuple[str, ...],
    commit: str,
    status: str | None,
    note: str | None,
    ticket: str | None,
    tracker: str,
    assignee: str | None,
    all_members: bool,
    split: bool,
    merge: bool,
    undo: bool,
    instance: str | None,
    output: OutputFormat,
) -> None:
    """Decide about changes.

    ID is R12 (or 12) for a whole change, P34 for the change point in one of its traces. A decision about a change
    applies to its change points without an earlier decision. The triage log names the user of the operating system.
    """
    from knickpoint.access.local_user import local_caller
    from knickpoint.watch.triage import decisions as triage

    action = _chosen_action(status, split=split, merge=merge, undo=undo)
    _check_creation(tracker, action, status, ticket)
    if action is not Action.UNDO and not (ids or commit):
        raise InputError(
            "no change is named",
            where="knick triage",
            remedy="Name changes and a decision: knick triage R12 --as acknowledged; knick changes lists them.",
        )
    with open_chosen_instance(instance) as opened:
        store = opened.store
        targets = triage.read_targets([*ids, *(_at_commit(opened, commit) if commit else [])])
        by = local_caller().name
        if action is Action.SPLIT:
            done = triage.split(store, targets, who=by, note=note)
        elif action is Action.MERGE:
            done = triage.merge(store, targets, who=by, note=note)
        elif action is Action.UNDO:
            named = targets.changes or targets.points
            done = triage.undo(store, targets, who=by) if named else triage.undo_last(store, who=by)
        else:
            if tracker:
                ticket = _create(opened, targets, tracker, by)
            done = triage.decide(
                store,
                targets,
                who=by,
                status=None if status is None else Status(status),
                note=note,
                ticket=ticket,
                assignee=assignee,
                all_members=all_members,
            )
        _show(store, output, done.decisions, undone=undo)
