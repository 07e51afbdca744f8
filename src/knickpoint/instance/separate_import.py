"""Import a results file in a process of its own, so that the program that received it goes on answering.

Reading JSON holds the interpreter: a file of 100 MB would keep all readers of an API waiting for seconds. What reading
took of memory goes back to the system with the process.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from knickpoint.ingest.context.sidecar import Sidecar
from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.import_summary import ImportSummary
from knickpoint.instance.instance import Instance, open_instance
from knickpoint.model.errors import ServiceError

__all__ = ["import_separately"]


def import_separately(
    instance: Instance,
    path: Path,
    *,
    source: str,
    stated: Sidecar,
    dry_run: bool = False,
    allow_empty: bool = False,
) -> ImportSummary:
    """Import the file at ``path`` as :func:`knickpoint.ingest.file_import.import_data` does, in a new process.

    It takes a second or two longer, and opens the instance by its directory.

    Raises:
        ServiceError: the process was ended, as by a system that is out of memory. Nothing of the file is stored.
    """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        try:
            return process.submit(
                _import, instance.directory, path, source, stated, dry_run=dry_run, allow_empty=allow_empty
            ).result()
        except BrokenProcessPool as error:
            raise ServiceError(
                "the process that imported the file was ended, and nothing of it is stored",
                where=source,
                remedy="Check whether the memory of the server suffices, or split the file.",
            ) from error


def _import(
    directory: Path, path: Path, source: str, stated: Sidecar, *, dry_run: bool, allow_empty: bool
) -> ImportSummary:
    with open_instance(directory) as instance:
        data = path.read_bytes()
        return import_data(instance, data, source=source, stated=stated, dry_run=dry_run, allow_empty=allow_empty)
