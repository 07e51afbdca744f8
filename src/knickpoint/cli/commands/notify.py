"""``knick notify``: send what is due, print what would go to whom, or test a channel."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show
from knickpoint.cli.terminal import note
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.instance import Instance
    from knickpoint.model.notification import Announcement, PlannedDelivery

_SOME_FAILED: Final = 1

_COLUMNS: Final = (
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
def command(*, dry_run: bool, channel: str | None, to: str, instance: str | None, output: OutputFormat) -> None:
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
    show(_COLUMNS, [*waiting, *_rows(instance, planned)], output, empty="Nothing would be sent.")
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
