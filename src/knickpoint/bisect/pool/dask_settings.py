"""How Dask runs for a pool: without its dashboard and profilers, which would disturb what devices measure."""

from __future__ import annotations

import logging
from typing import Final

__all__ = ["configure_dask"]

_LEAST_TCP_SECONDS: Final = 12
"""Dask allows no shorter time for a connection that does not answer."""


def configure_dask(heartbeat_seconds: float) -> None:
    """Configure Dask for this process: a connection that is silent for ``heartbeat_seconds`` is closed.

    Its log is silent but for what is critical: who joins, leaves or is refused is announced by the pool itself.
    """
    import dask
    import distributed  # noqa: F401 - it loads its defaults, which come first

    silent = max(_LEAST_TCP_SECONDS, int(heartbeat_seconds))
    dask.config.set(
        {
            "distributed.comm.timeouts.connect": f"{max(2.0, min(30.0, heartbeat_seconds)):g}s",
            "distributed.comm.timeouts.tcp": f"{silent}s",
            "distributed.comm.retry.count": 0,
            "distributed.scheduler.http.routes": [],
            "distributed.worker.http.routes": [],
            "distributed.worker.profile.enabled": False,
            "distributed.worker.memory.target": False,
            "distributed.worker.memory.spill": False,
            "distributed.worker.memory.pause": False,
            "distributed.worker.memory.terminate": False,
            "distributed.scheduler.work-stealing": False,
            "distributed.scheduler.active-memory-manager.start": False,
            "distributed.admin.tick.interval": "2s",
            "distributed.admin.tick.limit": "1h",
            "distributed.admin.system-monitor.interval": "30s",
            "distributed.admin.system-monitor.gil.enabled": False,
            "distributed.admin.log-length": 100,
        }
    )
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
