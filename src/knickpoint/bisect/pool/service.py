"""Run the scheduler of a pool, or an agent, until a signal ends it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Final

from knickpoint.bisect.job import Device
from knickpoint.bisect.pool.access import PoolAccess
from knickpoint.bisect.pool.broker import PoolRules
from knickpoint.bisect.pool.probe_run import RUN_PROBE, WorkspacePlace
from knickpoint.model.errors import ServiceError
from knickpoint.model.plain_text import counted

_FIRST_HEARTBEAT: Final = 30.0
_STOP: Final = (signal.SIGINT, signal.SIGTERM)


def serve_pool(
    access: PoolAccess,
    rules: Callable[[], PoolRules],
    *,
    state: Path,
    announce: Callable[[str], None],
    listen: str = "",
) -> None:
    """Run the scheduler of a pool until SIGINT or SIGTERM.

    The first signal lets the probes under way end, and hands out their results; a second one ends the process at once.
    It listens at the host of ``access``, or at ``listen``. ``state`` is the directory for what survives a restart.

    Raises:
        ServiceError: Dask is not installed, or the address cannot be listened at.
    """
    access.configure(rules().heartbeat_seconds)
    from knickpoint.bisect.pool.scheduler import PoolScheduler

    async def serve() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()

        def end() -> None:
            stop.set()
            for number in _STOP:
                loop.remove_signal_handler(number)
                signal.signal(number, signal.SIG_DFL)

        for number in _STOP:
            loop.add_signal_handler(number, end)
        scheduler = PoolScheduler(
            access, rules, host=listen or access.host, drained_file=state / "drained.json", announce=announce
        )
        try:
            await scheduler
        except (OSError, RuntimeError) as error:  # Dask wraps what went wrong
            cause = error if isinstance(error, OSError) else error.__cause__
            if not isinstance(cause, OSError):
                raise
            raise ServiceError(
                f"cannot listen: {cause.strerror or cause}",
                where=access.address,
                remedy="Correct address of [pool], or end what uses the port.",
            ) from error
        announce(f"The pool listens at {scheduler.address}")
        try:
            await stop.wait()
            if probes := scheduler.end_after_probes():
                announce(f"ends after {counted(probes, 'probe')} under way; a second signal ends it at once")
            await scheduler.finished()
        finally:
            await scheduler.close()

    asyncio.run(serve())


def serve_agent(
    access: PoolAccess,
    device: Device,
    workspace: WorkspacePlace,
    *,
    announce: Callable[[str], None],
    call: str = RUN_PROBE,
) -> None:
    """Lend this machine until SIGINT or SIGTERM; the probes under way end first, or at once with a second signal.

    Raises:
        ServiceError: Dask is not installed, or the pool refuses this agent.
        InputError: the device cannot be described so.
    """
    access.configure(_FIRST_HEARTBEAT)
    from knickpoint.bisect.pool.agent import Agent

    async def serve() -> None:
        agent = Agent(access, device, workspace, announce, call)
        signals = iter((True,))

        def end() -> None:
            if next(signals, False):
                announce("ends after the probes under way; a second signal ends them at once")
                agent.drain()
            else:
                agent.stop()

        for number in _STOP:
            asyncio.get_running_loop().add_signal_handler(number, end)
        await agent.serve()

    asyncio.run(serve())
