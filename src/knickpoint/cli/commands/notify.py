"""``knick notify`` and ``deliveries``: send what is due, and see and repeat what was sent."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import instance_option, local_view, open_chosen_instance, read_change
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answers
from knickpoint.cli.terminal import note
from knickpoint.model.errors import InputError
from knickpoint.model.notification import DeliveryState
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.instance import Instance
    from knickpoint.model.notification import Announcement, Delivery, PlannedDelivery


_SOME_FAILED: Final = 1

_PLANNED_COLUMNS: Final = (
    Column("due", text=lambda due: due[:16].replace("T", " ")),
    Column("channel"),
    Column("recipient", text=lambda recipient: recipient or "(the room)"),
    Column("person"),
    Column("kind"),
    Column("about", text="; ".join),
)


@click.command("notify")
@click.option("--dry-run", is_flag=True, help="Print the messages and their recipients; send nothing.")
@click.option("--test", "channel", metavar="CHANNEL", help="Send a test message through CHANNEL.")
@click.option("--to", default="", metavar="ADDRESS", help="With --test: the address to send to.")
@instance_option
@format_option
def notify(*, dry_run: bool, channel: str | None, to: str, instance: str | None, output: OutputFormat) -> None:
    """Send the notifications that are due, as the worker does.

    What was announced before the first channel was configured is never sent.

    The exit code is 0 when nothing failed, 1 when a delivery failed for good, 2 when nothing could be sent.
    """
    if dry_run and channel:
        raise InputError("--dry-run and --test exclude each other", where="knick notify", remedy="Give one of them.")
    with open_chosen_instance(instance) as opened:
        if channel:
            _test(opened, channel, to)
        elif dry_run:
            _preview(opened, output)
        else:
            _send(opened)


def _test(instance: Instance, channel: str, to: str) -> None:
    from knickpoint.instance.notifications import try_channel

    message = try_channel(instance, channel, to=to)
    note(
        f"The channel {channel} took a test "
        f"message{f' to {address}' if (address := message.recipient.address) else ''}."
    )


def _send(instance: Instance) -> None:
    from knickpoint.instance.notifications import Notifications
    from knickpoint.model.notification import DeliveryState

    if not instance.config.channels:
        raise InputError(
            "there is no channel", where="knick notify", remedy="Add a section [channels.NAME] to knickpoint.toml."
        )
    before = _in_state(instance, DeliveryState.FAILED)
    notifications = Notifications(instance, f"{socket.gethostname()}/{os.getpid()}", click.echo)
    sent = _in_state(instance, DeliveryState.SENT)
    notifications.drain(seconds=600.0)
    waiting = _in_state(instance, DeliveryState.WAITING)
    failed = _in_state(instance, DeliveryState.FAILED) - before
    paused = " Notifications are paused by [notify]." if instance.config.notify.paused else ""
    done = counted(_in_state(instance, DeliveryState.SENT) - sent, "delivery", "deliveries")
    note(f"{done} sent, {failed:,} failed, {waiting:,} waiting.{paused}")
    _note_idle(instance)
    tried = [each for each in instance.store.notifications.newest(state=DeliveryState.WAITING) if each.answer]
    for each in tried[:5]:
        click.echo(f"Delivery {each.id} waits until {each.due:%Y-%m-%d %H:%M} UTC: {each.answer}")
    if failed or tried:
        raise click.exceptions.Exit(_SOME_FAILED)


def _in_state(instance: Instance, state: object) -> int:
    counts = instance.store.notifications.counts()
    return sum(count for (_, each), count in counts.items() if each is state)


def _preview(instance: Instance, output: OutputFormat) -> None:
    """Print the deliveries that a plan would make, and those that wait already."""
    from knickpoint.instance.notifications import Notifications

    notifications = Notifications(instance, "dry run")
    cursor = instance.store.notifications.cursor()
    planned = notifications.preview() if cursor is not None else []
    waiting = _unfinished(instance)
    show(_PLANNED_COLUMNS, [*waiting, *_rows(instance, planned)], output, empty="Nothing would be sent.")
    if output is OutputFormat.TEXT:
        newest = notifications.planner.newest()
        state = (
            "No channel is configured, so nothing is sent."
            if cursor is None
            else f"{counted(max(newest - cursor, 0), 'announcement')} not planned yet; what was announced before the first channel is not sent."
        )
        note(state)
        _note_idle(instance)


def _note_idle(instance: Instance) -> None:
    """Name the channels that no alert names: messages that somebody waits for never come."""
    from knickpoint.instance.notifications import idle_channels

    if names := idle_channels(instance):
        listed = ", ".join(f'"{name}"' for name in names)
        note(f"No alert sends to {', '.join(names)}: add notify = [{listed}] to an alert, such as [alerts.everything].")


def _unfinished(instance: Instance) -> list[Row]:
    from knickpoint.model.notification import DeliveryState

    ledger = instance.store.findings.announcements
    found = instance.store.notifications.newest(state=DeliveryState.WAITING, limit=1000)
    return [
        {
            "due": each.due.isoformat(),
            "channel": each.recipient.channel,
            "recipient": each.recipient.address,
            "person": each.recipient.person,
            "kind": each.kind.value,
            "about": list(_about(ledger.get(each.announcements))),
        }
        for each in reversed(found)
    ]


def _rows(_instance: Instance, planned: Sequence[PlannedDelivery]) -> Iterator[Row]:
    for each in planned:
        yield {
            "due": each.due.isoformat(),
            "channel": each.recipient.channel,
            "recipient": each.recipient.address,
            "person": each.recipient.person,
            "kind": each.kind.value,
            "about": list(_about(each.announcements)),
        }


def _about(announcements: Sequence[Announcement]) -> Iterator[str]:
    for each in announcements:
        size = f" {figure_text(each.relative_size * 100, '+.1f')} %" if abs(each.relative_size) < 1e6 else ""
        yield f"R{each.change_id} {each.kind.value}{size} {each.trace_key.strip(',')}"


_DELIVERY_COLUMNS: Final = (
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
def deliveries() -> None:
    """List deliveries, send failed ones again, or drop them."""


@deliveries.command("list")
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
    show(_DELIVERY_COLUMNS, [_row(each, about) for each in found], output, empty="There are no deliveries.")


@deliveries.command("retry")
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


@deliveries.command("drop")
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
