"""``knick audit``: list the audit log."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answers
from knickpoint.model.access import AuditKind

_COLUMNS: Final = (
    Column("time"),
    Column("kind"),
    Column("who"),
    Column("about"),
    Column("address", text=lambda address: address or "–"),
)


@click.command("audit")
@click.option(
    "--since",
    default="",
    metavar="DAYSd|DATE",
    help="Only entries since this day (UTC), or from the last days, as in 7d.",
)
@click.option(
    "--kind", type=click.Choice([kind.value for kind in AuditKind]), default=None, help="Only entries of this kind."
)
@click.option("--who", default="", metavar="NAME", help="Only entries of this person, token or CI job.")
@click.option(
    "--limit", type=click.IntRange(1), default=200, show_default=True, help="Maximum number of entries to list."
)
@instance_option
@format_option
def command(*, since: str, kind: str | None, who: str, limit: int, instance: str | None, output: OutputFormat) -> None:
    """List the audit log, the newest entries first: sign-ins, tokens, the configuration, decisions."""
    from knickpoint.access.tokens import read_since

    begin = read_since(since, datetime.now(UTC)) if since else None
    with open_chosen_instance(instance) as opened:
        entries = opened.store.audit.entries(kind=AuditKind(kind) if kind else None, who=who, since=begin, limit=limit)
    if output is not OutputFormat.TEXT:
        from knickpoint.answers.tokens import AuditEntryAnswer

        show_answers(AuditEntryAnswer, [AuditEntryAnswer.of(entry) for entry in entries], output)
        return
    rows: list[Row] = [
        {
            "time": entry.time.isoformat(timespec="seconds"),
            "kind": entry.kind.value,
            "who": entry.who,
            "about": entry.about,
            "address": entry.address,
        }
        for entry in entries
    ]
    show(_COLUMNS, rows, output, empty="No matching entries in the audit log.")
