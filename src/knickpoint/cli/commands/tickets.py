"""``knick tickets``: import, list, remove and sync tickets of an issue tracker."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from knickpoint.cli.options import instance_option, local_view, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answers
from knickpoint.cli.terminal import note
from knickpoint.model.access import AuditKind
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted

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
def command() -> None:
    """Import and sync tickets of issue trackers; findings with a matching ticket leave the unprocessed list."""


@command.command("list")
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


@command.command("put")
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


@command.command("remove")
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


@command.command("sync")
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
