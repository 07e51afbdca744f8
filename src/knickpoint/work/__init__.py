"""Map over shards of traces: in this process, in local processes, or on a Dask cluster.

Call in processes of their own.
"""

from __future__ import annotations

from knickpoint.work.dask import Dask, Encryption
from knickpoint.work.runner import Place, Processes, Runner, Serial
from knickpoint.work.separate_process import ProcessEndedError, SeparateProcesses

__all__ = ["Dask", "Encryption", "Place", "ProcessEndedError", "Processes", "Runner", "SeparateProcesses", "Serial"]
