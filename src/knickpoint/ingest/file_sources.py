"""Where results files lie: folders and buckets."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Protocol

from knickpoint.ingest.results_file import ResultsFile, read_at_most
from knickpoint.ingest.settings import SourceSettings
from knickpoint.ingest.sidecar import SIDECAR, SIDECAR_SUFFIX, FileContext, Sidecar, companions_of, read_sidecar
from knickpoint.model.errors import ConfigError, InputError, ServiceError
from knickpoint.model.plain_text import path_text, without_secrets

# What an import asks of a place that holds results files, whether a folder or a bucket.


class FileSource(Protocol):
    """Named files somewhere."""

    def listing(self) -> Mapping[str, str]:
        """Return name → a text that changes when the file does.

        Raises:
            ServiceError: the files cannot be listed.
        """

    def may_still_change(self, version: str) -> bool:
        """Return True if a file that :meth:`listing` maps to ``version`` may still be being written."""

    def read(self, name: str, limit: int) -> bytes | None:
        """Return at most ``limit`` bytes of a file, None where there is none.

        Raises:
            InputError: the file cannot be read.
            ServiceError: the source does not answer.
        """

    def address(self, name: str) -> str:
        """Return the path or URL that names the file among those of all sources."""


# Decide by its name whether a file may hold results.


_NEVER_RESULTS: Final = frozenset({".md", ".html", ".png", ".svg", ".pdf", ".zip", ".toml", ".db", ".py"})
"""Ends of names that are left alone among many files, whatever formats exist."""

_PROFILES: Final = (
    ".folded",
    ".collapsed",
    ".pb",
    ".pprof",
    ".prof",
    ".pstats",
    ".cpuprofile",
    ".callgrind",
    ".dhat",
    ".knick",
)
"""Ends of the names of profiles that no results have."""


def is_named_as_profile(name: str) -> bool:
    """Return True if a file has the name of a profile: results go first, as they name commits and their times."""
    return name.lower().removesuffix(".gz").endswith(_PROFILES)


def may_hold_results(name: str, pattern: str = "**/*") -> bool:
    """Return True if a file of this name, with slashes, may hold results: by ``pattern``, and by its end."""
    from knickpoint.formats import all_formats

    parts = name.split("/")
    if any(part.startswith(".") for part in parts):
        return False
    if parts[-1] == SIDECAR or name.endswith(SIDECAR_SUFFIX):
        return False
    if not (fnmatchcase(name, pattern) or fnmatchcase(name, pattern.removeprefix("**/"))):
        return False
    plain = parts[-1].lower().removesuffix(".gz")
    suffixes = {suffix for known in all_formats() for suffix in known.suffixes} | {
        ".json",
        ".jsonl",
        ".ndjson",
        ".csv",
        *_PROFILES,
    }
    return plain.endswith(tuple(suffixes)) and Path(plain).suffix not in _NEVER_RESULTS


# Results files in a folder of this machine.


_QUIET_SECONDS: Final = 2.0
"""A file that changed later than this many seconds ago may still be being written."""


@dataclass(frozen=True)
class Folder:
    """A folder of this machine, as a file source."""

    path: Path

    def listing(self) -> dict[str, str]:
        """Return the files below the folder, by name relative to it, with time, size and inode of each."""
        found: dict[str, str] = {}

        def fail(error: OSError) -> None:
            raise ServiceError(
                f"it cannot be read: {error.strerror}",
                where=path_text(error.filename),
                remedy="Correct the location of the source in knickpoint.toml, or the rights.",
            )

        for directory, folders, names in os.walk(self.path, onerror=fail):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                path = Path(directory, name)
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                found[path.relative_to(self.path).as_posix()] = f"{status.st_mtime_ns}/{status.st_size}/{status.st_ino}"
        return found

    def may_still_change(self, version: str) -> bool:
        """Return True if the file changed moments ago; other programs write into the folder."""
        changed = int(version.partition("/")[0]) / 1e9
        return 0 <= datetime.now(UTC).timestamp() - changed < _QUIET_SECONDS

    def read(self, name: str, limit: int) -> bytes | None:
        """Return at most ``limit`` bytes of a file."""
        path = self.path / name
        try:
            if not path.is_file():
                return None
            with path.open("rb") as file:
                return read_at_most(file, limit)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"it cannot be read: {error.strerror}", where=path_text(path)) from error

    def address(self, name: str) -> str:
        """Return the path of a file."""
        return path_text(self.path / name)


# Results files in a bucket, or in anything else that fsspec opens by URL.


@dataclass(frozen=True)
class Bucket:
    """A bucket as a file source."""

    url: str = field(repr=False)
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def listing(self) -> dict[str, str]:
        """Return the objects below the URL, by name relative to it, with the facts that change when they do."""
        files, root = self._open()
        found: Mapping[str, Any] = {}
        with self._service_errors(), suppress(FileNotFoundError):
            files.invalidate_cache()
            found = files.find(root, detail=True)
        return {
            str(name).removeprefix(root).lstrip("/"): _version(facts)
            for name, facts in found.items()
            if facts.get("type") != "directory"
        }

    def may_still_change(self, version: str) -> bool:  # noqa: ARG002 - a bucket needs no version for this
        """Return False: an object appears when all of it is written."""
        return False

    def read(self, name: str, limit: int) -> bytes | None:
        """Return at most ``limit`` bytes of an object."""
        files, root = self._open()
        with self._service_errors(), suppress(FileNotFoundError):
            return bytes(files.cat_file(f"{root}/{name}", start=0, end=limit))
        return None

    def address(self, name: str) -> str:
        """Return the URL of an object."""
        return f"{self._shown.rstrip('/')}/{name}"

    @property
    def _shown(self) -> str:
        return without_secrets(self.url)

    def _open(self) -> tuple[Any, str]:
        """Return the file system of the URL, and the path of the URL in it."""
        try:
            import fsspec  # type: ignore[import-untyped]
        except ImportError as error:
            raise ConfigError(
                "buckets need fsspec, which is not installed",
                where=self._shown,
                remedy="Run: pip install 'knickpoint[buckets]'",
            ) from error
        try:
            files, root = fsspec.url_to_fs(self.url, **self._fsspec_options())
        except (ImportError, ValueError) as error:
            raise ConfigError(
                f"this location cannot be opened: {self._reason(error)}",
                where=self._shown,
                remedy="Correct it, or install its driver.",
            ) from error
        return files, str(root).rstrip("/")

    def _fsspec_options(self) -> dict[str, object]:
        """Return the options as fsspec takes them; ``endpoint_url`` names a server other than the usual one."""
        options: dict[str, object] = dict(self.options)
        endpoint = options.pop("endpoint_url", None) if self.url.startswith(("s3://", "s3a://")) else None
        if endpoint:
            options["client_kwargs"] = {"endpoint_url": endpoint}
        return options

    def _reason(self, error: Exception) -> str:
        """Return the message of the driver, without the secrets among the options."""
        reason = without_secrets(str(error))
        for name, value in self.options.items():
            if value and not name.endswith("url"):
                reason = reason.replace(value, "…")
        return reason

    @contextmanager
    def _service_errors(self) -> Iterator[None]:
        """Turn the errors of the bucket's driver, which each driver has of its own, into ``ServiceError``."""
        try:
            yield
        except Exception as error:
            raise ServiceError(
                f"the bucket does not answer as it should: {self._reason(error)}",
                where=self._shown,
                remedy="Check its address, the credentials and the rights.",
            ) from error


def _version(facts: Mapping[str, Any]) -> str:
    names = ("ETag", "etag", "md5Hash", "generation", "LastModified", "mtime", "created", "size")
    return "/".join(str(facts[name]) for name in names if facts.get(name) is not None)


# Open the file source that the configuration names, and read a results file there with what lies beside it.


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
    """Return the sidecars of a file, that of the file alone over that of its folder."""
    found = Sidecar()
    for sidecar in sidecar_names(name):
        if names is not None and sidecar not in names:
            continue
        data = source.read(sidecar, _LARGEST_SIDECAR)
        if data is not None:
            found = read_sidecar(data, where=source.address(sidecar)).over(found)
    return found
