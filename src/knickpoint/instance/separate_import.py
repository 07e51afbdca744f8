"""Import results files in a process of their own, so that the program that received them goes on answering.

Reading and storing a file keep the interpreter busy, and reading JSON holds it: all readers of an API would wait meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache
from pathlib import Path

from knickpoint.ingest.context.sidecar import Sidecar
from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.import_summary import ImportSummary
from knickpoint.instance.instance import Instance, open_instance
from knickpoint.model.errors import ServiceError
from knickpoint.work import SeparateProcess

__all__ = ["import_separately"]


def import_separately(
    instance: Instance,
    path: Path,
    *,
    source: str,
    stated: Sidecar,
    dry_run: bool = False,
    allow_empty: bool = False,
    stays: bool = True,
) -> ImportSummary:
    """Import the file at ``path`` as :func:`knickpoint.ingest.file_import.import_data` does, in another process.

    That process opens the instance by its directory, and ``stays`` for the next file; else it is a new one, which takes a
    second or two longer, and whose memory goes back to the system.

    Raises:
        ServiceError: the process was ended, as by a system that is out of memory. Nothing of the file is stored.
    """
    process = instance.importer if stays else SeparateProcess()
    options = {"dry_run": dry_run, "allow_empty": allow_empty}
    try:
        return process.call(_import, instance.directory, path, source, stated, options)
    except BrokenProcessPool as error:
        raise ServiceError(
            "the process that imported the file was ended, and nothing of it is stored",
            where=source,
            remedy="Check whether the memory of the server suffices, or split the file.",
        ) from error
    finally:
        if not stays:
            process.close()


@lru_cache(maxsize=1)
def _opened(directory: Path) -> Instance:
    """Open the instance, once in the process that imports."""
    return open_instance(directory)


def _import(directory: Path, path: Path, source: str, stated: Sidecar, options: Mapping[str, bool]) -> ImportSummary:
    return import_data(_opened(directory), path.read_bytes(), source=source, stated=stated, **options)
