"""Artefacts: what a build makes, kept by commit in a cache of bounded size; and finished ones from elsewhere.

Nothing of them leaves the worktree (:mod:`~knickpoint.bisect.archives`).
"""

from __future__ import annotations

import fcntl
import io
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Final

from knickpoint.bisect.archives import Member, MemberKind, pack, packed_paths, unpack, write_members
from knickpoint.ingest.file_sources import Bucket
from knickpoint.model.errors import ConfigError, InputError, ServiceError
from knickpoint.model.plain_text import without_secrets
from knickpoint.outgoing import OutgoingRule, fetch

# Keep what builds made in a directory of bounded size, so that each commit is built once.
#
# An entry is a tar file, ``KEY.tar``. It is written under another name and renamed when it is whole and on the disk, so
# that a process that is killed leaves no half entry. Several processes may share the directory: each partial file is
# locked by its writer, and a partial file without a lock is a leftover.


_KEY: Final = re.compile(r"[0-9a-zA-Z_-]{1,128}")
_PARTIAL: Final = ".partial-"


@dataclass(frozen=True, slots=True)
class ArtefactCache:
    """Artefacts by key, in files of together at most ``megabytes`` below ``directory``.

    The least recently used go first.
    """

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
            raise ValueError(f"not the key of an artefact: {key[:200]!r}")
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


# Finished artefacts by commit: a directory, an address of the web, or a bucket.


_PLACE: Final = "{commit}"
_COMMIT: Final = re.compile(r"[0-9a-f]{7,64}")
_SECONDS: Final = 900.0
_MOST_MEGABYTES: Final = 2_048
_ABSENT: Final = frozenset({404, 410})
_OK: Final = 200
_FILE_MODE: Final = 0o755
"""Of a single file: a program, as likely as not."""

_ARCHIVES: Final = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".txz", ".zip")


def fetch_prebuilt(
    template: str,
    commit: str,
    into: Path,
    *,
    outgoing: OutgoingRule,
    base: Path = Path(),
    megabytes: int = _MOST_MEGABYTES,
) -> bool:
    """Write the finished artefact of ``commit`` below ``into`` and return True; return False where there is none.

    ``template`` is a path, relative to ``base``, or an address, with ``{commit}`` in it, which the full hash replaces.
    A directory is copied; an archive (tar, also compressed, or zip, by its content) is unpacked; another file is
    written under its name. ``outgoing`` is the rule of requests; the host of the template itself is allowed, for the
    operator configured it. ``megabytes`` bound what is transferred, and what is unpacked to eight times as much.

    Raises:
        ConfigError: the template has no ``{commit}``, or its location cannot be opened.
        InputError: the commit is not a hash; the archive is damaged, too large, or has a member that leads outside.
        AddressError: a redirect leads to an address that must not be contacted.
        ServiceError: the location does not answer as it should; 404 is an answer.
    """
    address = _address(template, commit)
    shown = without_secrets(address)
    if "://" not in address:
        return _from_path(base / Path(address).expanduser(), into, shown, megabytes)
    largest = megabytes * 1_000_000
    if address.startswith(("http://", "https://")):
        content = _from_web(address, outgoing, largest, shown)
    else:
        content = _from_bucket(address, largest, shown)
    if content is None:
        return False
    _write(io.BytesIO(content), _file_name(shown), into, shown, 8 * largest)
    return True


def _address(template: str, commit: str) -> str:
    if _PLACE not in template:
        raise ConfigError(
            "it lacks {commit}, the placeholder for the hash of the commit",
            where=f"prebuilt {without_secrets(template)!r}",
            remedy="Add {commit} where the address names the commit.",
        )
    if not _COMMIT.fullmatch(commit):
        raise InputError(
            f"{commit[:80]!r} is not a hash of a commit",
            where="prebuilt",
            remedy="Give the hash in hexadecimal digits.",
        )
    return template.replace(_PLACE, commit)


def _from_path(path: Path, into: Path, shown: str, megabytes: int) -> bool:
    largest = 8 * megabytes * 1_000_000
    try:
        if path.is_dir():
            _copy_directory(path.resolve(), into, shown, largest)
        elif path.is_file():
            with path.open("rb") as file:
                _write(file, path.name, into, shown, largest)
        else:
            return False
    except OSError as error:
        raise ServiceError(
            f"the artefact cannot be copied: {error.strerror or error}",
            where=shown,
            remedy="Check its permissions and the disk space.",
        ) from error
    return True


def _copy_directory(folder: Path, into: Path, shown: str, largest: int) -> None:
    members = []
    for path in packed_paths(("*",), folder) if any(folder.iterdir()) else ():
        name, mode = path.relative_to(folder).as_posix(), path.lstat().st_mode
        if path.is_symlink():
            members.append(Member(name, MemberKind.LINK, mode, str(path.readlink())))
        elif path.is_dir():
            members.append(Member(name, MemberKind.DIRECTORY, mode))
        elif stat.S_ISREG(mode):
            members.append(Member(name, MemberKind.FILE, mode, open=partial(io.FileIO, path)))
    write_members(members, into, shown, largest)


def _from_web(address: str, outgoing: OutgoingRule, largest: int, shown: str) -> bytes | None:
    answer = fetch(address, outgoing.also(address), largest=largest, seconds=_SECONDS)
    if answer.status in _ABSENT:
        return None
    if answer.status != _OK:
        raise ServiceError(
            f"it answers {answer.status}", where=shown, remedy="Check the address of prebuilt and its permissions."
        )
    return answer.body


def _from_bucket(address: str, largest: int, shown: str) -> bytes | None:
    folder, _, name = address.rpartition("/")
    content = Bucket(folder).read(name, largest + 1)
    if content is not None and len(content) > largest:
        raise InputError(
            f"it is larger than {largest // 1_000_000:,} MB", where=shown, remedy="Make a smaller artefact."
        )
    return content


def _file_name(shown: str) -> str:
    return shown.partition("?")[0].rstrip("/").rpartition("/")[2]


def _write(file: IO[bytes], name: str, into: Path, shown: str, largest: int) -> None:
    """Unpack an archive; write another file under its name, unless that says that it is an archive."""
    if unpack(file, into, shown, largest):
        return
    if name.lower().endswith(_ARCHIVES):
        raise InputError("it is not an archive, despite its name", where=shown, remedy="Make it again, or remove it.")
    file.seek(0)
    write_members([Member(name, MemberKind.FILE, _FILE_MODE, open=lambda: file)], into, shown, largest)
