"""``knick serve``: serve the API and the dashboard of an instance, and run a worker."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.verbosity import note

__all__ = ["command", "serve_instance"]


@contextmanager
def _working(directory: str | None) -> Iterator[None]:
    """Run a worker in its own thread, with its own connection to the store, while a ``with`` lasts."""
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
def _sigterm_as_interrupt() -> Iterator[None]:
    """Have SIGTERM end the program as Ctrl-C does, while a ``with`` lasts.

    The server raises the signal again after it has closed. By default SIGTERM would then kill the process, and the worker
    in the middle of its round.
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
        ConfigError: the port is open to other machines, without sign-in and without a setting that says that it is meant.
        ServiceError: the address or the port cannot be used.
    """
    from knickpoint.server import serve

    with open_chosen_instance(directory) as instance, ExitStack() as stack:

        def ready(address: str) -> None:
            note(f"The dashboard is at {address} (Ctrl-C ends it)")
            if worker:
                stack.enter_context(_working(directory))

        def warn(notice: str) -> None:
            click.echo(f"Warning: {notice}", err=True)

        with _sigterm_as_interrupt(), suppress(KeyboardInterrupt):
            serve(instance, host or "", port, ready=ready, warn=warn)


@click.command("serve")
@click.option("--host", default=None, help="The address to listen at. Default: that of the configuration.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=None,
    help="The port; 0 takes a free one. Default: that of the configuration.",
)
@click.option(
    "--worker/--no-worker",
    default=True,
    show_default=True,
    help="Run a worker as well, which imports what arrives and runs the alerts.",
)
@instance_option
def command(*, host: str | None, port: int | None, worker: bool, instance: str | None) -> None:
    """Serve the API and the dashboard, by default to this machine only, and run a worker."""
    serve_instance(instance, host=host, port=port, worker=worker)
