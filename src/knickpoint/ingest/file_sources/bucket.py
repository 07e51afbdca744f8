"""Results files in a bucket, or in anything else that fsspec opens by URL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from knickpoint.model.errors import ConfigError, ServiceError
from knickpoint.model.secrets import without_secrets

__all__ = ["Bucket"]


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
        """Return what the driver says, without the secrets among the options."""
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
