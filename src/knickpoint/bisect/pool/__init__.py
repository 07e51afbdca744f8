"""Pools of devices: this machine, or machines that lend themselves over a Dask scheduler."""

from knickpoint.bisect.pool.local import LocalPool, machine_name

__all__ = ["LocalPool", "machine_name"]
