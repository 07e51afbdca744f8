"""Know this machine again, and refuse an embedded store that processes of several machines use."""

from __future__ import annotations

import platform
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final

from knickpoint.instance.instance import Instance
from knickpoint.model.errors import ConfigError

__all__ = ["check_machine", "same_machine", "this_machine"]

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
"""The kernel's random id of its start: containers of one machine share it, and machines do not."""

_SEEN: Final = timedelta(seconds=90)
"""Three heartbeats: a worker that has not been seen for longer has ended."""


@cache
def this_machine() -> str:
    """Return the name of this machine and the id of its start, with a space between; without an id, the name."""
    name = platform.node()
    try:
        return f"{name} {_BOOT.read_text(encoding='ascii').strip()}"
    except OSError:
        return name


def same_machine(one: str, other: str) -> bool:
    """Return whether two texts of :func:`this_machine` are of one machine.

    Name or start are the same: a container that begins anew has another name, a machine another start.
    """
    return not set(one.split()).isdisjoint(other.split())


def check_machine(instance: Instance, now: datetime | None = None) -> None:
    """Refuse to serve an embedded store that a worker of another machine uses, for example through a network file system.

    Raises:
        ConfigError: such a worker was seen within the last 90 seconds.
        StoreError: the store cannot be read.
    """
    if not instance.store.database.embedded:
        return
    since = (now or datetime.now(UTC)) - _SEEN
    for worker in instance.store.workers.all():
        if worker.machine and worker.seen > since and not same_machine(worker.machine, this_machine()):
            raise ConfigError(
                f"the worker {worker.name} on another machine uses this embedded store, which only one machine may",
                where=instance.store.location,
                remedy="Stop that worker, or keep the instance on PostgreSQL: back it up, and restore with --store.",
            )
