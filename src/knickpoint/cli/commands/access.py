"""``knick tokens`` and ``audit``: tokens for machines, and the log of what was done."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answer, show_answers
from knickpoint.cli.terminal import note
from knickpoint.model.access import AuditKind, Permission
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knickpoint.model.access import Token


_LIST: Final = (
    Column("name"),
    Column("state"),
    Column("scopes", text=", ".join),
    Column("repositories", text=lambda names: ", ".join(names) or "all"),
    Column("created"),
    Column("created_by", "by"),
    Column("expires"),
    Column("last_used", "last used"),
)


@click.group("tokens")
def tokens() -> None:
    """Create, list and revoke tokens for machines.

    A program sends the secret of a token in the header `Authorization: Bearer SECRET`.
    """


@tokens.command("create")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    required=True,
    metavar="SCOPE,…",
    help="What the token permits: upload, read, decide, measure, admin. Several with commas, or several times.",
)
@click.option(
    "--repository",
    "repositories",
    multiple=True,
    metavar="NAME",
    help="Limit the token to this repository; repeatable. Default: all repositories.",
)
@click.option(
    "--expires",
    default="",
    metavar="DAYSd|DATE",
    help="Expiry: a number of days, as in 90d, or the last valid day (UTC). Default: never.",
)
@instance_option
@format_option
def create(
    *,
    name: str,
    scopes: tuple[str, ...],
    repositories: tuple[str, ...],
    expires: str,
    instance: str | None,
    output: OutputFormat,
) -> None:
    """Create the token NAME, and print its secret. The secret is printed once and stored nowhere.

    NAME has letters, digits, dots, underscores and hyphens, and was never used before.
    """
    from knickpoint.access.local_user import local_caller
    from knickpoint.access.tokens import create_token, read_expiry

    chosen = _read_scopes(scopes)
    until = read_expiry(expires, datetime.now(UTC)) if expires else None
    with open_chosen_instance(instance) as opened:
        made = create_token(
            opened.store, name, chosen, by=local_caller().name, repositories=repositories, expires=until
        )
    if output is OutputFormat.TEXT:
        click.echo(made.secret)
    else:
        from knickpoint.answers.access import NewTokenAnswer, token_answer

        show_answer(NewTokenAnswer(token=token_answer(made.token), secret=made.secret), output)
    end = f"expires at {until.isoformat(timespec='seconds')}" if until else "does not expire"
    note(
        f"Copy this secret now; it is not shown again. The token {name} {end}; knick tokens revoke {name} ends it.",
        err=True,
    )


@tokens.command("list")
@instance_option
@format_option
def list_(instance: str | None, output: OutputFormat) -> None:
    """List the tokens, with expired and revoked ones."""
    from knickpoint.access.tokens import list_tokens

    with open_chosen_instance(instance) as opened:
        _show(list_tokens(opened.store), output)


@tokens.command("revoke")
@click.argument("names", nargs=-1, required=True, metavar="NAME…")
@instance_option
@format_option
def revoke(names: tuple[str, ...], instance: str | None, output: OutputFormat) -> None:
    """Revoke tokens, all of them or none. A revoked token is refused for good, and its name is not free again."""
    from knickpoint.access.local_user import local_caller
    from knickpoint.access.tokens import revoke_token

    with open_chosen_instance(instance) as opened, opened.store.transaction():
        revoked = [revoke_token(opened.store, name, by=local_caller().name) for name in dict.fromkeys(names)]
    _show(revoked, output)


def _read_scopes(texts: Sequence[str]) -> frozenset[Permission]:
    """Read ``upload,read`` and the like.

    Raises:
        InputError: a scope is not known, or there is none.
    """
    known = {permission.value: permission for permission in Permission}
    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        message = f"{unknown[0]!r} is not a scope" if unknown else "a token needs a scope"
        raise InputError(message, where="--scope", remedy=f"Give one or more of {', '.join(known)}.")
    return frozenset(known[name] for name in names)


def _show(tokens: Sequence[Token], output: OutputFormat) -> None:
    if output is OutputFormat.TEXT:
        rows = [_row(token, datetime.now(UTC)) for token in tokens]
        show(_LIST, rows, output, empty="There are no tokens: knick tokens create NAME --scope upload.")
    else:
        from knickpoint.answers.access import TokenAnswer, token_answer

        show_answers(TokenAnswer, [token_answer(token) for token in tokens], output)


def _row(token: Token, now: datetime) -> Row:
    return {
        "name": token.name,
        "state": token.state_at(now).value,
        "scopes": [permission.value for permission in Permission if permission in token.scopes],
        "repositories": token.repositories,
        "created": f"{token.created:%Y-%m-%d}",
        "created_by": token.created_by,
        "expires": f"{token.expires:%Y-%m-%d}" if token.expires else "never",
        "last_used": token.last_used.isoformat(timespec="seconds") if token.last_used else "never",
    }


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
def audit(*, since: str, kind: str | None, who: str, limit: int, instance: str | None, output: OutputFormat) -> None:
    """List the audit log, the newest entries first: sign-ins, tokens, the configuration, decisions."""
    from knickpoint.access.tokens import read_since

    begin = read_since(since, datetime.now(UTC)) if since else None
    with open_chosen_instance(instance) as opened:
        entries = opened.store.audit.entries(kind=AuditKind(kind) if kind else None, who=who, since=begin, limit=limit)
    if output is not OutputFormat.TEXT:
        from knickpoint.answers.access import AuditEntryAnswer

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
