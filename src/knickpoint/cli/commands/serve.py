"""``knick serve``: the API and the dashboard of an instance, and the worker that keeps it going."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import click

from knickpoint.cli.options import instance_option, open_chosen_instance

__all__ = ["command", "serve_instance"]


@contextmanager
def _working(directory: str | None) -> Iterator[None]:
    """Run a worker in a thread of its own, over a connection of its own, for the length of a ``with``."""
    from knickpoint.instance import Worker

    stop = threading.Event()
    with open_chosen_instance(directory) as instance:
        worker = Worker(instance, announce=click.echo)
        thread = threading.Thread(target=worker.run, args=(stop,), name="knickpoint-worker")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Let SIGTERM end the program as Ctrl-C does: the server hands it on when it has closed, and the worker goes on.

    Without it, the process would die with the worker in the middle of its round.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def serve_instance(
    directory: str | None, *, host: str | None = None, port: int | None = None, worker: bool = True
) -> None:
    """Serve an instance until it is interrupted.

    Raises:
        ServiceError: the address or the port cannot be used.
    """
    from knickpoint.server import serve

    with open_chosen_instance(directory) as instance, ExitStack() as stack:

        def ready(address: str) -> None:
            click.echo(f"The dashboard is at {address} (Ctrl-C ends it)")
            if worker:
                stack.enter_context(_working(directory))

        with _ending_in_order(), suppress(KeyboardInterrupt):
            serve(instance, host or "", port, ready=ready)


@click.command("serve")
@click.option("--host", default=None, help="The address to listen at. Default: the configuration's.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=None,
    help="The port. Default: the configuration's; 0 takes a free one.",
)
@click.option("--worker/--no-worker", default=True, show_default=True, help="Take in what arrives and run alerts, too.")
@instance_option
def command(*, host: str | None, port: int | None, worker: bool, instance: str | None) -> None:
    """Serve the API and the dashboard, on this machine unless told otherwise, and keep working."""
    serve_instance(instance, host=host, port=port, worker=worker)
