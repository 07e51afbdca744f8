"""Pools of devices: this machine, or machines that lend themselves over a Dask scheduler."""

from typing import TYPE_CHECKING, Final

from knickpoint.model.lazy_names import lazy_names

if TYPE_CHECKING:
    from knickpoint.bisect.pool.access import PoolAccess, pool_access
    from knickpoint.bisect.pool.broker import PoolRules
    from knickpoint.bisect.pool.documents import DeviceState, DeviceStatus
    from knickpoint.bisect.pool.local import LocalPool, machine_name, measures_here, open_pool
    from knickpoint.bisect.pool.service import serve_agent, serve_pool

__all__ = [
    "DeviceState",
    "DeviceStatus",
    "LocalPool",
    "PoolAccess",
    "PoolRules",
    "machine_name",
    "measures_here",
    "open_pool",
    "pool_access",
    "serve_agent",
    "serve_pool",
]

_MODULES: Final = {
    "DeviceState": "knickpoint.bisect.pool.documents",
    "DeviceStatus": "knickpoint.bisect.pool.documents",
    "LocalPool": "knickpoint.bisect.pool.local",
    "PoolAccess": "knickpoint.bisect.pool.access",
    "PoolRules": "knickpoint.bisect.pool.broker",
    "machine_name": "knickpoint.bisect.pool.local",
    "measures_here": "knickpoint.bisect.pool.local",
    "open_pool": "knickpoint.bisect.pool.local",
    "pool_access": "knickpoint.bisect.pool.access",
    "serve_agent": "knickpoint.bisect.pool.service",
    "serve_pool": "knickpoint.bisect.pool.service",
}

__getattr__ = lazy_names(__name__, _MODULES)
