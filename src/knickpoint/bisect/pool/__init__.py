"""Pools of devices: this machine, or machines that lend themselves over a Dask scheduler."""

from knickpoint.bisect.pool.access import PoolAccess, pool_access
from knickpoint.bisect.pool.broker import DeviceState, DeviceStatus, PoolRules
from knickpoint.bisect.pool.local import LocalPool, machine_name
from knickpoint.bisect.pool.opening import open_pool
from knickpoint.bisect.pool.service import serve_agent, serve_pool

__all__ = [
    "DeviceState",
    "DeviceStatus",
    "LocalPool",
    "PoolAccess",
    "PoolRules",
    "machine_name",
    "open_pool",
    "pool_access",
    "serve_agent",
    "serve_pool",
]
