"""Places that hold results files: folders, and buckets through fsspec."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, Protocol

from knickpoint.ingest.context.sidecar import SIDECAR, SIDECAR_SUFFIX
from knickpoint.ingest.settings import SourceSettings
from knickpoint.model.errors import ConfigError, InputError, ServiceError

__all__ = ["Bucket", "FileSource", "Folder", "open_file_source", "takes_name"]

_NEVER_RESULTS: Final = frozenset({".md", ".html", ".png", ".svg", ".pdf", ".zip", ".toml", ".db", ".py"})
"""Ends of names that are left alone in a place with many files, whatever formats exist."""


def takes_name(name: str, pattern: str = "**/*") -> bool:
    """Tell whether a file of this name, with slashes, may hold results: by ``pattern``, and by its end."""
    from knickpoint.formats import all_formats

    parts = name.split("/")
    if any(part.startswith(".") for part in parts):
        return False
    if parts[-1] == SIDECAR or name.endswith(SIDECAR_SUFFIX):
        return False
    if not (fnmatchcase(name, pattern) or fnmatchcase(name, pattern.removeprefix("**/"))):
        return False
    plain = parts[-1].lower().removesuffix(".gz")
    suffixes = {suffix for known in all_formats() for suffix in known.suffixes} | {".json", ".jsonl", ".ndjson", ".csv"}
    return plain.endswith(tuple(suffixes)) and Path(plain).suffix not in _NEVER_RESULTS


class FileSource(Protocol):
    """Somewhere with named files."""

    def listing(self) -> Mapping[str, str]:
        """Return name → a text that changes when the file does. Raises ``ServiceError``."""

    def read(self, name: str, limit: int) -> bytes | None:
        """Return at most ``limit`` bytes of a file, None where there is none. Raises ``InputError``."""

    def source(self, name: str) -> str:
        """Return what names the file among those of all places."""


@dataclass(frozen=True)
class Folder:
    """A folder on this machine."""

    path: Path

    def listing(self) -> dict[str, str]:
        """Return the files below the folder, by name relative to it."""
        found: dict[str, str] = {}

        def fail(error: OSError) -> None:
            raise ServiceError(
                f"it cannot be read: {error.strerror}",
                where=str(error.filename),
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

    def read(self, name: str, limit: int) -> bytes | None:
        """Return at most ``limit`` bytes of a file."""
        path = self.path / name
        try:
            if not path.is_file():
                return None
            with path.open("rb") as file:
                return file.read(limit)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"it cannot be read: {error.strerror}", where=str(path)) from error

    def source(self, name: str) -> str:
        """Return the path of a file."""
        return str(self.path / name)


@dataclass(frozen=True)
class Bucket:
    """A bucket, or anything else that fsspec opens by URL."""

    url: str
    options: Mapping[str, str] = field(default_factory=dict)

    def listing(self) -> dict[str, str]:
        """Return the objects below the URL, by name relative to it."""
        files, root = self._files()
        found: Mapping[str, Any] = {}
        with self._told(), suppress(FileNotFoundError):
            files.invalidate_cache()
            found = files.find(root, detail=True)
        return {
            str(name).removeprefix(root).lstrip("/"): _version(facts)
            for name, facts in found.items()
            if facts.get("type") != "directory"
        }

    def read(self, name: str, limit: int) -> bytes | None:
        """Return at most ``limit`` bytes of an object."""
        files, root = self._files()
        with self._told(), suppress(FileNotFoundError):
            return bytes(files.cat_file(f"{root}/{name}", start=0, end=limit))
        return None

    def source(self, name: str) -> str:
        """Return the URL of an object."""
        return f"{self.url.rstrip('/')}/{name}"

    def _files(self) -> tuple[Any, str]:
        try:
            import fsspec  # type: ignore[import-untyped]
        except ImportError as error:
            raise ConfigError(
                "buckets need fsspec, which is not installed",
                where=self.url,
                remedy="Run: pip install 'knickpoint[buckets]'",
            ) from error
        try:
            files, root = fsspec.url_to_fs(self.url, **self._settings())
        except (ImportError, ValueError) as error:
            raise ConfigError(
                f"this location cannot be opened: {error}", where=self.url, remedy="Correct it, or install its driver."
            ) from error
        return files, str(root).rstrip("/")

    def _settings(self) -> dict[str, object]:
        """Return the options as fsspec takes them; ``endpoint_url`` is where a server listens that is not the usual one."""
        options: dict[str, object] = dict(self.options)
        endpoint = options.pop("endpoint_url", None) if self.url.startswith(("s3://", "s3a://")) else None
        if endpoint:
            options["client_kwargs"] = {"endpoint_url": endpoint}
        return options

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn the errors of a bucket's driver, of which every one has its own, into ours, in this one place."""
        try:
            yield
        except Exception as error:
            raise ServiceError(
                f"the bucket does not answer as it should: {error}",
                where=self.url,
                remedy="Check its address, the credentials and the rights.",
            ) from error


def _version(facts: Mapping[str, Any]) -> str:
    names = ("ETag", "etag", "md5Hash", "generation", "LastModified", "mtime", "created", "size")
    return "/".join(str(facts[name]) for name in names if facts.get(name) is not None)


def open_file_source(settings: SourceSettings, directory: Path) -> FileSource:
    """Return the place that ``settings`` name; a path is relative to ``directory``."""
    if "://" in settings.location:
        return Bucket(settings.location, settings.options)
    return Folder(directory / Path(settings.location).expanduser())
