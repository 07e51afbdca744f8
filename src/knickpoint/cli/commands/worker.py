"""``knick worker``: keep an instance going."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import click

from knickpoint.cli.options import instance_option, open_chosen_instance

__all__ = ["command", "until_told"]


@contextmanager
def until_told() -> Iterator[threading.Event]:
    """Give an event that SIGINT and SIGTERM set; what they did before comes back at the end."""
    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@click.command("worker")
@click.option("--once", is_flag=True, help="Do one round and end.")
@click.option("--retry-events", is_flag=True, help="First try again the events that failed for good.")
@instance_option
def command(*, once: bool, retry_events: bool, instance: str | None) -> None:
    """Keep working: take in what arrives, run alerts over what changed and by schedule, seal what is full.

    Where knickpoint.toml names a NATS server, events are passed on and files that are announced are taken in.

    Any number of workers may share one instance. Ctrl-C ends it after the round that is under way.
    """
    from knickpoint.instance import Worker

    with open_chosen_instance(instance) as opened, until_told() as stop:
        worker = Worker(opened, announce=click.echo)
        if retry_events:
            opened.store.outbox.retry()
        if once:
            worker.once(stop)
        else:
            worker.run(stop)
