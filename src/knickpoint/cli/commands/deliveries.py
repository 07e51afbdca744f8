"""``knick deliveries``: list the delivery ledger, send again what failed, or drop deliveries."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.arguments import read_change
from knickpoint.cli.options import instance_option, local_view, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answers
from knickpoint.cli.terminal import note
from knickpoint.model.errors import InputError
from knickpoint.model.notification import DeliveryState
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from knickpoint.model.notification import Delivery

_COLUMNS: Final = (
    Column("id", text=lambda key: f"D{key}"),
    Column("state"),
    Column("kind"),
    Column("channel"),
    Column("recipient", text=lambda recipient: recipient or "(the room)"),
    Column("changes", text=" ".join),
    Column("attempts", right=True),
    Column("due"),
    Column("sent"),
    Column("answer", text=lambda answer: answer if len(answer) <= 80 else f"{answer[:79]}…"),
)


@click.group("deliveries")
def command() -> None:
    """List what was sent to whom, send again what failed, or drop what shall not be sent."""


@command.command("list")
@click.option(
    "--state", type=click.Choice([each.value for each in DeliveryState]), default=None, help="Only those in this state."
)
@click.option("--channel", default="", metavar="NAME", help="Only those of this channel.")
@click.option("--change", default="", metavar="ID", help="Only those about this change, such as R12.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, metavar="N", help="At most N.")
@instance_option
@format_option
def list_(
    *, state: str | None, channel: str, change: str, limit: int, instance: str | None, output: OutputFormat
) -> None:
    """List deliveries, the newest first."""
    wanted = DeliveryState(state) if state else None
    key = read_change(change) if change else None
    with open_chosen_instance(instance) as opened:
        if key is not None:
            opened.store.findings.repository_of(key)
        if output is not OutputFormat.TEXT:
            from knickpoint.answers.deliveries import DeliveryAnswer, list_deliveries

            answers = list_deliveries(local_view(opened), change=key, state=wanted, channel=channel, limit=limit)
            show_answers(DeliveryAnswer, answers, output)
            return
        found = opened.store.notifications.newest(change=key, state=wanted, channel=channel, limit=limit)
        about = {
            each.id: each.change_id
            for each in opened.store.findings.announcements.get({key for one in found for key in one.announcements})
        }
    show(_COLUMNS, [_row(each, about) for each in found], output, empty="There are no deliveries.")


@command.command("retry")
@click.argument("ids", nargs=-1, metavar="ID…")
@click.option("--all", "everything", is_flag=True, help="All that failed.")
@instance_option
def retry(ids: tuple[str, ...], *, everything: bool, instance: str | None) -> None:
    """Send failed deliveries again, with all their attempts; an ID is such as D12."""
    from knickpoint.access.local_user import local_caller
    from knickpoint.notify.sender import retry_deliveries

    with open_chosen_instance(instance) as opened:
        notifications = opened.store.notifications
        keys = [_number(each) for each in ids]
        if everything:
            keys = [each.id for each in notifications.newest(state=DeliveryState.FAILED, limit=1_000_000)]
        elif not keys:
            raise InputError(
                "no delivery to retry", where="knick deliveries retry", remedy="Name an ID, or give --all."
            )
        count = retry_deliveries(opened.store, keys, who=local_caller().name, now=datetime.now(UTC))
    _finish(count, "due again", expected=len(keys), states="failed")


@command.command("drop")
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@instance_option
def drop(ids: tuple[str, ...], *, instance: str | None) -> None:
    """Drop deliveries that wait or failed: they are not sent."""
    from knickpoint.access.local_user import local_caller
    from knickpoint.notify.sender import drop_deliveries

    with open_chosen_instance(instance) as opened:
        keys = [_number(each) for each in ids]
        count = drop_deliveries(opened.store, keys, who=local_caller().name)
    _finish(count, "dropped", expected=len(keys), states="waiting or failed")


def _finish(count: int, what: str, *, expected: int, states: str) -> None:
    note(f"{counted(count, 'delivery', 'deliveries')} {what}.")
    if count < expected:
        missing = counted(expected - count, "delivery", "deliveries")
        are = "is" if expected - count == 1 else "are"
        raise InputError(f"{missing} of those named {are} not {states}", remedy="See knick deliveries list.")


def _number(text: str) -> int:
    plain = text.upper().removeprefix("D")
    if not (plain.isascii() and plain.isdigit() and len(plain) < 16):
        raise InputError(f"{text!r} is not an id", remedy="Write it as D12 or 12.")
    return int(plain)


def _row(delivery: Delivery, about: dict[int, int]) -> Row:
    changes = dict.fromkeys(about[key] for key in delivery.announcements if key in about)
    return {
        "id": delivery.id,
        "state": delivery.state.value,
        "kind": delivery.kind.value,
        "channel": delivery.recipient.channel,
        "recipient": delivery.recipient.address,
        "changes": [f"R{key}" for key in changes],
        "attempts": delivery.attempts,
        "due": _short(delivery.due),
        "sent": _short(delivery.sent),
        "answer": delivery.why,
    }


def _short(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d %H:%M}" if time else ""
