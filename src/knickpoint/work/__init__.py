"""Map over shards of traces: in this process, in local processes, or on a Dask cluster."""

from __future__ import annotations

from knickpoint.work.dask import Dask, Encryption
from knickpoint.work.processes import Processes
from knickpoint.work.runner import Place, Runner, Serial

__all__ = ["Dask", "Encryption", "Place", "Processes", "Runner", "Serial"]
