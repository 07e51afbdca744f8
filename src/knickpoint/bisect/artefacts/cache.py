"""Keep what builds made in a directory of bounded size, so that each commit is built once.

An entry is a tar file, ``KEY.tar``. It is written under another name and renamed when it is whole and on the disk, so that
a process that is killed leaves no half entry. Several processes may share the directory: each partial file is locked by
its writer, and a partial file without a lock is a leftover.
"""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from knickpoint.bisect.artefacts.archive import unpack
from knickpoint.bisect.artefacts.packing import pack
from knickpoint.model.errors import InputError, ServiceError

__all__ = ["ArtefactCache"]

_KEY: Final = re.compile(r"[0-9a-zA-Z_-]{1,128}")
_PARTIAL: Final = ".partial-"


@dataclass(frozen=True, slots=True)
class ArtefactCache:
    """Artefacts by key, in files of together at most ``megabytes`` below ``directory``; the least recently used go first."""

    directory: Path
    megabytes: int

    def get(self, key: str, into: Path) -> bool:
        """Write the artefact of ``key`` below ``into`` and return True, or return False where it is not kept.

        An entry that is damaged is removed, and counts as not kept.
        """
        path = self._path(key)
        try:
            with path.open("rb") as archive:
                os.utime(path)
                whole = unpack(archive, into, where=path.name)
        except FileNotFoundError:
            return False
        except InputError:
            whole = False
        if not whole:
            path.unlink(missing_ok=True)
        return whole

    def put(self, key: str, files: Sequence[str], root: Path) -> bool:
        """Keep what the patterns ``files`` name below ``root``; return whether it fits into the directory.

        Raises:
            ConfigError: a pattern leads outside ``root``.
            InputError: a pattern names nothing, or something that leads outside.
            ServiceError: the directory cannot be written.
        """
        path = self._path(key)
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            self._remove_leftovers()
            with self._partial() as (file, partial):
                pack(files, root, file)
                file.flush()
                if file.tell() > self._bytes:
                    return False
                self._make_space(file.tell(), path)
                os.fsync(file.fileno())
                partial.rename(path)
        except OSError as error:
            raise ServiceError(
                f"the artefact cannot be kept: {error.strerror or error}",
                where=str(self.directory),
                remedy="Check the disk space and the permissions, or lower space_megabytes in [pool].",
            ) from error
        return True

    def keys(self) -> tuple[str, ...]:
        """Return the keys that are kept, the least recently used first."""
        return tuple(path.stem for _, _, path in self._entries())

    @property
    def _bytes(self) -> int:
        return self.megabytes * 1_000_000

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ValueError(f"no key of an artefact: {key[:200]!r}")
        return self.directory / f"{key}.tar"

    def _entries(self) -> list[tuple[int, int, Path]]:
        """Return time of the last use, size and path of each entry, the least recently used first."""
        found = []
        for path in self.directory.glob("*.tar"):
            with suppress(FileNotFoundError):  # another process removed it
                facts = path.stat()
                found.append((facts.st_mtime_ns, facts.st_size, path))
        return sorted(found)

    def _make_space(self, size: int, replaced: Path) -> None:
        entries = [entry for entry in self._entries() if entry[2] != replaced]
        used = size + sum(each for _, each, _ in entries)
        for _, each, path in entries:
            if used <= self._bytes:
                break
            path.unlink(missing_ok=True)
            used -= each

    @contextmanager
    def _partial(self) -> Iterator[tuple[IO[bytes], Path]]:
        """Open a locked file beside the entries; what is left of it at the end is removed."""
        with self._locked_file() as file:
            path = Path(file.name)
            try:
                yield file, path
            finally:
                path.unlink(missing_ok=True)

    def _locked_file(self) -> IO[bytes]:
        while True:
            file = tempfile.NamedTemporaryFile("wb", dir=self.directory, prefix=_PARTIAL, delete=False)  # noqa: SIM115
            fcntl.flock(file, fcntl.LOCK_EX)
            if Path(file.name).exists():
                return file
            file.close()  # another process took it for a leftover before it was locked

    def _remove_leftovers(self) -> None:
        """Remove partial files whose writers are gone: they are not locked."""
        for path in self.directory.glob(f"{_PARTIAL}*"):
            with suppress(FileNotFoundError, BlockingIOError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink(missing_ok=True)
