"""``knick worker``: run a worker of an instance."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import click

from knickpoint.cli.options import NO_RESULTS, instance_option, open_chosen_instance
from knickpoint.cli.terminal import note


@contextmanager
def until_signal() -> Iterator[threading.Event]:
    """Return an event that SIGINT and SIGTERM set while a ``with`` lasts."""
    stop = threading.Event()
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@click.command("worker")
@click.option("--once", is_flag=True, help="Run one round, then exit.")
@click.option("--retry-events", is_flag=True, help="First requeue the events that failed for good.")
@instance_option
def command(*, once: bool, retry_events: bool, instance: str | None) -> None:
    """Run a worker: import what arrives, run the alerts over what changed and by schedule, seal full tiles.

    Where knickpoint.toml names a NATS server, the worker publishes events there and imports announced files.

    Any number of workers may share one instance. Ctrl-C and SIGTERM end the worker after its current task.
    """
    from knickpoint.cli.process import Drain, WorkThread, begin_log
    from knickpoint.instance import Worker
    from knickpoint.instance.worker.heartbeat import check_machine

    with open_chosen_instance(instance) as opened, until_signal() as stop:
        check_machine(opened)
        announce = begin_log(opened.config.monitoring)
        worker = Worker(opened, announce=announce)
        if retry_events:
            opened.store.outbox.retry()
        if once:
            worker.once(stop)
            if not opened.store.commits.repositories():
                note(f"The round is done. {NO_RESULTS}")
        else:
            drain = Drain(announce, opened.config.server.drain_seconds)
            drain.worker = worker
            with WorkThread(opened, worker, announce):
                stop.wait()
                drain.begin()
            drain.end()
