"""``knick tickets``: what an issue tracker knows about traces and commits."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, format_option, show
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
    """Take over tickets of an issue tracker; findings that they are about leave the unprocessed list."""


@command.command("list")
@instance_option
@format_option
def list_(instance: str | None, output: OutputFormat) -> None:
    """List the tickets that are known."""
    rows: list[dict[str, Any]] = []
    with open_chosen_instance(instance) as opened:
        store = opened.store
        for repository in store.commits.repositories():
            tickets = store.findings.tickets.all(repository)
            slots = sorted({ticket.slot for ticket in tickets})
            hashes = {own.slot: own.commit.hash for own in store.commits.get(repository, slots)}
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
    show(_LIST, rows, output, empty="No tickets are known.")


@command.command("put")
@click.argument("file")
@click.option("--repository", default="", metavar="NAME", help="The repository of tickets that name none.")
@click.option("--replace", is_flag=True, help="Forget every ticket that is not in FILE.")
@instance_option
def put(file: str, *, repository: str, replace: bool, instance: str | None) -> None:
    """Take over the tickets in FILE (- for standard input), all or none.

    FILE is CSV with a head, or a JSON list of objects: name, commit, and where wanted query, url, open, repository.
    """
    from knickpoint.instance.ticket_import import import_tickets, read_ticket_file, read_tickets

    with open_chosen_instance(instance) as opened:
        piped = file == "-"
        rows = read_tickets(sys.stdin.buffer.read(), "standard input") if piped else read_ticket_file(Path(file))
        done = import_tickets(opened.store, rows, repository=repository, replace=replace)
    plural = "" if done.tickets == 1 else "s"
    click.echo(f"{done.tickets:,} ticket{plural}; {done.changed:,} findings are covered by another ticket than before.")


@command.command("remove")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@instance_option
def remove(names: tuple[str, ...], instance: str | None) -> None:
    """Forget tickets; what only they covered is unprocessed again."""
    from knickpoint.watch.triage.tickets import match_tickets

    with open_chosen_instance(instance) as opened:
        store = opened.store
        repositories = store.commits.repositories()
        with store.transaction():
            known = {ticket.name for own in repositories for ticket in store.findings.tickets.all(own)}
            unknown = sorted(set(names) - known)
            if unknown:
                raise InputError(f"there is no ticket {unknown[0]!r}", remedy="See knick tickets list.")
            for own in repositories:
                for name in names:
                    store.findings.tickets.remove(own, name)
            changed = sum(match_tickets(store, own) for own in repositories)
    click.echo(f"{len(names):,} forgotten; {changed:,} findings changed.")
