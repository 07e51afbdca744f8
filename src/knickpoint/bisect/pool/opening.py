"""Open the pool that the configuration asks for: this machine, or the devices of a scheduler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from knickpoint.bisect.device_pool import DevicePool
from knickpoint.bisect.job import Device
from knickpoint.bisect.pool.access import pool_access
from knickpoint.bisect.pool.local import LocalPool, machine_name
from knickpoint.bisect.pool.probe_run import WorkspacePlace
from knickpoint.bisect.settings import DeviceSettings, PoolSettings

__all__ = ["open_pool"]


def open_pool(
    settings: PoolSettings,
    directory: Path,
    workspace: WorkspacePlace,
    *,
    devices: Mapping[str, DeviceSettings] | None = None,
    params: Mapping[str, str] | None = None,
    progress: Callable[[str, str], None] | None = None,
    announce: Callable[[str], None] | None = None,
) -> DevicePool:
    """Open the pool of ``settings``, whose files are relative to ``directory``; close it at the end.

    Without an address, this machine makes the probes, in ``workspace``. It is described by the section of ``devices`` with its
    name; without one it states ``params``. ``progress`` hears of each of its probes the id and a line. With an address,
    ``announce`` hears when the scheduler is away or comes back.

    Raises:
        ConfigError: the address or the credentials cannot be used.
        ServiceError: Dask is not installed, or the scheduler does not answer.
    """
    if settings.address:
        access = pool_access(settings, directory)
        access.configure(settings.heartbeat_seconds)
        from knickpoint.bisect.pool.dask_pool import DaskPool

        return DaskPool(access, heartbeat_seconds=settings.heartbeat_seconds, announce=announce)
    name = machine_name()
    described = (devices or {}).get(name)
    if described is not None:
        device = Device(name, described.params, described.use, settings.at_once)
    else:
        device = Device(name, params or {}, slots=settings.at_once)
    return LocalPool(workspace, (device,), settings.at_once, progress=progress)
