"""``knick tickets``: import, list and remove tickets of an issue tracker."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show
from knickpoint.model.errors import InputError

__all__ = ["command"]

_LIST = (
    Column("name"),
    Column("repository"),
    Column("commit", text=lambda commit: commit[:10]),
    Column("query", text=lambda query: query or "every trace"),
    Column("open"),
    Column("url"),
)


@click.group("tickets")
def command() -> None:
    """Import tickets of an issue tracker; findings with a matching ticket leave the unprocessed list."""


@command.command("list")
@instance_option
@format_option
def list_(instance: str | None, output: OutputFormat) -> None:
    """List the imported tickets."""
    rows: list[Row] = []
    with open_chosen_instance(instance) as opened:
        store = opened.store
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
                    "open": ticket.open,
                    "url": ticket.url,
                }
                for ticket in tickets
            ]
    show(_LIST, rows, output, empty="There are no tickets.")


@command.command("put")
@click.argument("file")
@click.option("--repository", default="", metavar="NAME", help="The repository of tickets that name none.")
@click.option("--replace", is_flag=True, help="Remove all tickets that are not in FILE.")
@instance_option
def put(file: str, *, repository: str, replace: bool, instance: str | None) -> None:
    """Import the tickets in FILE (- for standard input), all or none.

    FILE is CSV with a header, or a JSON list of objects: name, commit, and optionally query, url, open, repository.
    """
    from knickpoint.instance.ticket_import import import_tickets, read_ticket_file, read_tickets

    with open_chosen_instance(instance) as opened:
        piped = file == "-"
        rows = read_tickets(sys.stdin.buffer.read(), "standard input") if piped else read_ticket_file(Path(file))
        done = import_tickets(opened.store, rows, repository=repository, replace=replace)
    plural = "" if done.tickets == 1 else "s"
    click.echo(f"{done.tickets:,} ticket{plural}; {done.changed:,} findings have another matching ticket than before.")


@command.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@instance_option
def remove(names: tuple[str, ...], instance: str | None) -> None:
    """Remove tickets; findings that matched no other ticket are unprocessed again."""
    from knickpoint.watch.triage.tickets import match_tickets

    with open_chosen_instance(instance) as opened:
        store = opened.store
        repositories = store.commits.repositories()
        with store.transaction():
            known = {ticket.name for each in repositories for ticket in store.findings.tickets.all(each)}
            unknown = sorted(set(names) - known)
            if unknown:
                raise InputError(f"there is no ticket {unknown[0]!r}", remedy="See knick tickets list.")
            for each in repositories:
                for name in names:
                    store.findings.tickets.remove(each, name)
            changed = sum(match_tickets(store, each) for each in repositories)
    click.echo(f"{len(names):,} removed; {changed:,} findings changed.")
