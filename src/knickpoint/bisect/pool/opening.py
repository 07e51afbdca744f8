"""Open the pool that the configuration asks for: this machine, or the devices of a scheduler."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Final

from knickpoint.bisect.job import Device, DevicePool
from knickpoint.bisect.pool.access import pool_access
from knickpoint.bisect.pool.local import LocalPool, machine_name
from knickpoint.bisect.pool.probe_run import WorkspacePlace
from knickpoint.bisect.settings import DeviceSettings, PoolSettings
from knickpoint.model.errors import InputError

LOCAL: Final = "local"
"""The name of this machine, whatever the pool."""


def measures_here(settings: PoolSettings, only: Collection[str]) -> bool:
    """Whether this machine makes the probes: it is named, or there is no pool of devices."""
    return set(only) == {LOCAL} or not settings.address


def open_pool(
    settings: PoolSettings,
    directory: Path,
    workspace: WorkspacePlace,
    *,
    devices: Mapping[str, DeviceSettings] | None = None,
    params: Mapping[str, str] | None = None,
    progress: Callable[[str, str], None] | None = None,
    announce: Callable[[str], None] | None = None,
    only: Collection[str] = (),
) -> DevicePool:
    """Open the pool of ``settings``, whose files are relative to ``directory``; close it at the end.

    Without an address, this machine makes the probes, in ``workspace``. It is described by the section of ``devices``
    with its name; without one it states ``params``. ``progress`` hears of each of its probes the id and a line. With an
    address, ``announce`` hears when the scheduler is away or comes back. ``only`` names the devices to use,
    :data:`LOCAL` for this machine.

    Raises:
        InputError: one of the devices that are named takes no probes.
        ConfigError: the address or the credentials cannot be used.
        ServiceError: Dask is not installed, or the scheduler does not answer.
    """
    if not measures_here(settings, only):
        access = pool_access(settings, directory)
        access.configure(settings.heartbeat_seconds)
        from knickpoint.bisect.pool.dask_pool import DaskPool

        return DaskPool(access, heartbeat_seconds=settings.heartbeat_seconds, announce=announce, only=only)
    name = machine_name()
    if missing := sorted(set(only) - {LOCAL, name}):
        raise InputError(
            f"there is no device {missing[0]}: without a pool, probes run on this machine only",
            where="--device",
            remedy="Leave --device out, or give the address of the pool in [pool].",
        )
    described = (devices or {}).get(name)
    if described is not None:
        device = Device(name, described.params, described.use, settings.at_once)
    else:
        device = Device(name, params or {}, slots=settings.at_once)
    return LocalPool(workspace, (device,), settings.at_once, progress=progress)
