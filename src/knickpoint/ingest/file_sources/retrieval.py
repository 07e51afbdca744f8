"""Open the file source that the configuration names, and read a results file there with what lies beside it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Final

from knickpoint.ingest.context.companions import companions_of
from knickpoint.ingest.context.file_context import FileContext
from knickpoint.ingest.context.sidecar import SIDECAR, SIDECAR_SUFFIX, Sidecar, read_sidecar
from knickpoint.ingest.file_sources.bucket import Bucket
from knickpoint.ingest.file_sources.folder import Folder
from knickpoint.ingest.file_sources.protocol import FileSource
from knickpoint.ingest.results_file import ResultsFile
from knickpoint.ingest.settings import SourceSettings

__all__ = ["open_file_source", "retrieve_file", "sidecar_names"]

_LARGEST_SIDECAR: Final = (1 << 20) + 1
"""Bytes of a sidecar that are read, one more than it may have."""


def open_file_source(settings: SourceSettings, directory: Path) -> FileSource:
    """Return the file source at the location of ``settings``; a path is relative to ``directory``."""
    if "://" in settings.location:
        return Bucket(settings.location, settings.options)
    return Folder(directory / Path(settings.location).expanduser())


def retrieve_file(
    source: FileSource, name: str, settings: SourceSettings, *, megabytes: int, names: Collection[str] | None = None
) -> ResultsFile | None:
    """Return a results file with its sidecars and companions, None where it is gone again.

    Args:
        source: where the file lies.
        name: its name there.
        settings: the settings of the source, which apply to all of its files.
        megabytes: the most that is read of it.
        names: the names of all files there, None where they are not listed; each neighbour is asked for then.

    Raises:
        InputError: the file or a sidecar cannot be read.
        ServiceError: the source does not answer.
    """
    limit = megabytes * 1_000_000
    data = source.read(name, limit + 1)
    if data is None:
        return None
    general = Sidecar(
        branch=settings.branch, repository=settings.repository, format=settings.format, params=settings.params
    )
    stated = general.over(_read_sidecars(source, name, names))

    def read_neighbour(neighbour: str) -> bytes | None:
        outside = neighbour.startswith("../") or (names is not None and neighbour not in names)
        return None if outside else source.read(neighbour, limit)

    return ResultsFile(source.address(name), data, FileContext(stated), companions_of(name, read_neighbour), found=True)


def sidecar_names(name: str) -> tuple[str, str]:
    """Return the names of the sidecars that a file may have: that of its folder, and that of the file alone."""
    folder = name.rpartition("/")[0]
    return f"{folder}/{SIDECAR}".lstrip("/"), name + SIDECAR_SUFFIX


def _read_sidecars(source: FileSource, name: str, names: Collection[str] | None) -> Sidecar:
    """Return what the sidecars of a file state, that of the file alone over that of its folder."""
    found = Sidecar()
    for sidecar in sidecar_names(name):
        if names is not None and sidecar not in names:
            continue
        data = source.read(sidecar, _LARGEST_SIDECAR)
        if data is not None:
            found = read_sidecar(data, where=source.address(sidecar)).over(found)
    return found
