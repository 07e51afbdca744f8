"""``knick serve``, ``worker`` and ``mcp``: run the parts of an instance: the API, a worker, tools for an AI agent."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

import click

from knickpoint.cli.exit_codes import FAILED
from knickpoint.cli.options import NO_RESULTS, instance_option, open_chosen_instance
from knickpoint.cli.process import collecting_later, interrupted_by_end, limit_retained_memory
from knickpoint.cli.terminal import note
from knickpoint.model.access import Permission
from knickpoint.model.errors import InputError
from knickpoint.model.service_part import ALL_PARTS, ServicePart, joined_parts, parse_parts

if TYPE_CHECKING:
    from knickpoint.cli.process import WorkThread
    from knickpoint.instance import Instance
    from knickpoint.instance.worker import Announce
    from knickpoint.instance.worker.task_runner import WorkMeasures


@contextmanager
def _working(
    directory: str | None, parts: frozenset[ServicePart], announce: Announce, measures: WorkMeasures
) -> Iterator[WorkThread]:
    """Run a worker with its own connection to the store while a ``with`` lasts, and give its thread."""
    from knickpoint.cli.process import WorkThread
    from knickpoint.instance import Worker

    with (
        open_chosen_instance(directory) as instance,
        WorkThread(instance, Worker(instance, announce=announce, parts=parts, measures=measures), announce) as thread,
    ):
        yield thread


def _warm_up(instance: Instance, announce: Announce) -> None:
    """Have a process ready that reads the files of requests, while requests are answered already."""
    from knickpoint.instance.separate_import import warm_up
    from knickpoint.model.errors import KnickpointError

    def prepare() -> None:
        try:
            warm_up(instance)
        except KnickpointError as error:
            announce(f"no process is ready for uploads yet: {error}")

    threading.Thread(target=prepare, name="knickpoint-warm-up", daemon=True).start()


def serve_instance(
    directory: str | None,
    *,
    host: str | None = None,
    port: int | None = None,
    parts: Collection[ServicePart] = ALL_PARTS,
) -> None:
    """Run ``parts`` of an instance until the process is interrupted.

    Without the part `api`, it listens only where a port is given, and answers there about its state alone.

    Raises:
        ConfigError: the port is open to other machines, without sign-in and without a setting that says that it is
            meant; or a worker of another machine uses the embedded store.
        ServiceError: the address or the port cannot be used.
    """
    chosen = frozenset(parts)
    if ServicePart.WORKER not in chosen:
        # The threads of a worker detect side by side on all cores, and need arenas of their own.
        limit_retained_memory()
    with collecting_later() as started:
        _serve(directory, host, port, chosen, started)


def _serve(
    directory: str | None,
    host: str | None,
    port: int | None,
    parts: frozenset[ServicePart],
    started: Callable[[], None],
) -> None:
    """Run ``parts`` as :func:`serve_instance` does, and call ``started`` when everything is loaded."""
    from knickpoint.cli.process import Drain, begin_log
    from knickpoint.instance.config.settings import LogChoice
    from knickpoint.instance.worker.heartbeat import check_machine
    from knickpoint.server import Ending, serve
    from knickpoint.server.metrics import sending_to_graphite
    from knickpoint.server.process_metrics import ProcessMetrics

    work = parts - {ServicePart.API}
    with open_chosen_instance(directory) as instance, ExitStack() as stack:
        check_machine(instance)
        announce = begin_log(instance.config.monitoring)
        drain = Drain(announce, instance.config.server.drain_seconds)
        stack.callback(drain.end)
        counted = ProcessMetrics()
        listens = instance.config.server.port if port is None and ServicePart.API in parts else port
        name = "-".join([*joined_parts(parts).split(","), *([str(listens)] if listens is not None else [])])
        stack.enter_context(sending_to_graphite(instance, counted, name))
        stops: list[Callable[[], None]] = []

        def ready(address: str) -> None:
            about = "The dashboard is at" if ServicePart.API in parts else "The state of this process is at"
            line = f"{about} {address} (Ctrl-C ends it)"
            (note if instance.config.monitoring.log is LogChoice.TEXT else announce)(line)
            begin()

        def begin() -> None:
            if work:
                thread = stack.enter_context(_working(directory, work, announce, counted.work))
                drain.worker = thread.worker
                stops.append(thread.stop)
            if parts != ALL_PARTS:
                announce(f"This process runs: {joined_parts(parts)}")
            if ServicePart.API in parts:
                _warm_up(instance, announce)
            started()

        def stop() -> None:
            drain.limit()
            for each in stops:
                each()

        with interrupted_by_end(), suppress(KeyboardInterrupt):
            if ServicePart.API not in parts and port is None:
                begin()
                threading.Event().wait()
            serve(
                instance,
                host or "",
                port,
                parts=parts,
                process_metrics=counted,
                ready=ready,
                warn=lambda notice: click.echo(f"Warning: {notice}", err=True),
                ending=Ending(stop, drain.begin, drain.requests_ended),
            )
        drain.begin()
    if drain.cut_off:
        raise SystemExit(FAILED)


@click.command("serve")
@click.option("--host", default=None, help="The address to listen at. Default: that of the configuration.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=None,
    help="The port; 0 takes a free one. Default: that of the configuration; without the part api, none.",
)
@click.option(
    "--only",
    default=None,
    metavar="PARTS",
    help="The parts that this process runs: some of api, worker, ingest, separated by commas. Default: all.",
)
@click.option("--init", "make_store", is_flag=True, help="First create the store of knickpoint.toml, if there is none.")
@instance_option
def serve(*, host: str | None, port: int | None, only: str | None, make_store: bool, instance: str | None) -> None:
    """Run an instance: the API and the dashboard, by default for this machine only, a worker, and imports.

    With --only, a process runs some of these parts, and any number of processes share the instance. On PostgreSQL they
    may be on many machines. A process without the part api listens only with --port, and answers there about its state.

    SIGTERM drains a process: it accepts nothing new, and finishes its work within drain_seconds of [server]. Longer
    work is undone, and the exit code is 2.
    """
    if make_store:
        from knickpoint.instance import find_instance, make_configured_store

        make_configured_store(instance or find_instance())
    serve_instance(instance, host=host, port=port, parts=ALL_PARTS if only is None else parse_parts(only))


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
def worker(*, once: bool, retry_events: bool, instance: str | None) -> None:
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


_OPENED = (Permission.DECIDE, Permission.MEASURE)


def _read_allowed(texts: Sequence[str]) -> frozenset[Permission]:
    """Return the permissions that ``--allow`` names.

    Raises:
        InputError: one of them is unknown.
    """
    names = {name.strip() for text in texts for name in text.split(",")}
    known = {permission.value: permission for permission in _OPENED}
    for name in sorted(names - known.keys()):
        raise InputError(f"{name!r} cannot be allowed", where="--allow", remedy=f"Allow {' or '.join(known)}.")
    return frozenset(known[name] for name in names)


@click.command("mcp")
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    metavar="decide,measure",
    help="Let the agent do more than read: decide about changes, start bisections and attempts. Default: only read.",
)
@click.option("--instructions", is_flag=True, help="Print instructions for an agent, and exit.")
@instance_option
def mcp(*, allowed: tuple[str, ...], instructions: bool, instance: str | None) -> None:
    """Serve an instance to an AI agent on this machine, by the Model Context Protocol over standard input and output.

    The client of the agent starts this command. The tools list and explain changes, read values, compare commits, judge
    results, and show bisections. `knick serve` has the same tools for other machines, at /mcp.
    """
    if instructions:
        from knickpoint.agents import read_instructions

        click.echo(read_instructions(), nl=False)
        return
    permissions = _read_allowed(allowed)
    from knickpoint.agents import begin_session, serve_stdio

    with open_chosen_instance(instance) as opened:
        from knickpoint.access.local_user import local_caller

        asyncio.run(serve_stdio(begin_session(opened, local_caller(), permissions, local=True)))
