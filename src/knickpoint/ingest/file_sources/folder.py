"""Results files in a folder of this machine."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from knickpoint.ingest.memory import read_at_most
from knickpoint.model.errors import InputError, ServiceError
from knickpoint.model.plain_text import path_text

__all__ = ["Folder"]

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
        """Return whether the file changed moments ago; other programs write into the folder."""
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
