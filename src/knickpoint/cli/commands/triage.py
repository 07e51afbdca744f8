"""``knick triage`` and ``tickets``: decide about changes, here or in an issue tracker."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knickpoint.cli.options import instance_option, local_view, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answers
from knickpoint.cli.terminal import note
from knickpoint.cli.terminal import note as print_note
from knickpoint.model.access import AuditKind
from knickpoint.model.change_point import Action, Decision, Status
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted

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
def triage(
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


_LIST = (
    Column("name"),
    Column("repository"),
    Column("commit", text=lambda commit: commit[:10]),
    Column("query", text=lambda query: query or "every trace"),
    Column("open"),
    Column("fixed", text=lambda revision: revision[:10]),
    Column("verdict"),
    Column("assignee"),
    Column("title"),
    Column("url"),
)


@click.group("tickets")
def tickets() -> None:
    """Import and sync tickets of issue trackers; findings with a matching ticket leave the unprocessed list."""


@tickets.command("list")
@instance_option
@format_option
def list_(instance: str | None, output: OutputFormat) -> None:
    """List the imported tickets, and those of trackers with their state there.

    A closed ticket with a fixing revision is compared with the data: fixed, not-fixed or not-measured.
    """
    from knickpoint.watch.triage.tickets import tracked_tickets

    rows: list[Row] = []
    with open_chosen_instance(instance) as opened:
        store = opened.store
        if output is not OutputFormat.TEXT:
            from knickpoint.answers.tickets import TicketAnswer, list_tickets

            show_answers(TicketAnswer, list_tickets(local_view(opened)), output)
            return
        for repository in store.commits.repositories():
            tickets = store.findings.tickets.all(repository)
            slots = sorted({ticket.slot for ticket in tickets})
            hashes = {each.slot: each.commit.hash for each in store.commits.get(repository, slots)}
            rows += [
                {
                    "name": ticket.name,
                    "repository": repository.name,
                    "commit": hashes.get(ticket.slot, ""),
                    "query": ticket.query,
                    "open": tracked.open,
                    "fixed": tracked.fixed,
                    "verdict": tracked.verdict.value,
                    "assignee": tracked.assignee,
                    "title": tracked.title,
                    "url": tracked.url,
                }
                for ticket, tracked in tracked_tickets(store, tickets)
            ]
    show(_LIST, rows, output, empty="There are no tickets.")


@tickets.command("put")
@click.argument("file")
@click.option("--repository", default="", metavar="NAME", help="Repository of tickets that name none.")
@click.option("--replace", is_flag=True, help="Remove all tickets that are not in FILE.")
@instance_option
def put(file: str, *, repository: str, replace: bool, instance: str | None) -> None:
    """Import the tickets in FILE (- for standard input), all or none.

    FILE is CSV with a header, or a JSON list of objects: name, commit, and optionally query, url, open, repository.
    """
    from knickpoint.access.local_user import local_caller
    from knickpoint.instance.trackers import import_tickets, read_ticket_file, read_tickets

    with open_chosen_instance(instance) as opened:
        piped = file == "-"
        rows = read_tickets(sys.stdin.buffer.read(), "standard input") if piped else read_ticket_file(Path(file))
        who = local_caller().name
        done = import_tickets(opened.store, rows, repository=repository, replace=replace, who=who)
    changed = counted(done.changed, "finding")
    note(f"Imported {counted(done.tickets, 'ticket')}; {changed} changed to another matching ticket.")


@tickets.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@instance_option
def remove(names: tuple[str, ...], instance: str | None) -> None:
    """Remove imported tickets; findings that matched no other ticket are unprocessed again."""
    from knickpoint.access.local_user import local_caller
    from knickpoint.watch.triage.tickets import match_tickets

    with open_chosen_instance(instance) as opened:
        store = opened.store
        repositories = store.commits.repositories()
        with store.transaction():
            known = {ticket.name for each in repositories for ticket in store.findings.tickets.all(each)}
            unknown = sorted(set(names) - known)
            if unknown:
                raise InputError(f"there is no ticket {unknown[0]!r}", remedy="See knick tickets list.")
            tracked = store.findings.tracker_tickets.by_name(names)
            if tracked:
                name, ticket = min(tracked.items())
                raise InputError(
                    f"{name} is a ticket of the tracker {ticket.channel!r}", remedy=f"Close it at {ticket.url}."
                )
            for each in repositories:
                for name in names:
                    store.findings.tickets.remove(each, name)
            changed = sum(match_tickets(store, each) for each in repositories)
            removed = f"removed {', '.join(sorted(set(names))[:20])}"
            store.audit.append(AuditKind.TICKETS_CHANGED, local_caller().name, removed)
    note(f"Removed {counted(len(names), 'ticket')}; {counted(changed, 'finding')} changed.")


@tickets.command("sync")
@click.argument("names", nargs=-1, metavar="[CHANNEL]…")
@instance_option
def sync(names: tuple[str, ...], instance: str | None) -> None:
    """Read changes from the trackers of the channels: status, title, assignee, fixing revision.

    Without a CHANNEL, all trackers are read. The worker does the same every five minutes.
    """
    from knickpoint.instance.trackers import sync_tracker, trackers

    with open_chosen_instance(instance) as opened:
        known = sorted(trackers(opened))
        if not known:
            raise InputError("there is no tracker", remedy="Add [channels.NAME] to knickpoint.toml.")
        for name in names or known:
            done = sync_tracker(opened, name)
            if done.waits:
                note(f"{name}: it asks to wait for {done.waits:,.0f} more seconds.")
                continue
            note(f"{name}: {counted(done.read, 'ticket')} changed.")
            for ticket in done.compared:
                click.echo(f"{name}: {ticket.name} was closed with {ticket.fixed[:10]}: {ticket.verdict.value}.")
