"""Archives of artefacts: tar, tar with a compression, and zip, recognised by their content."""

from __future__ import annotations

import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from lzma import LZMAError
from pathlib import Path
from typing import IO

from knickpoint.bisect.artefacts.members import LARGEST_BYTES, MOST_MEMBERS, Member, MemberKind, refused, write_members
from knickpoint.model.errors import InputError

__all__ = ["unpack"]

_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, LZMAError, EOFError, NotImplementedError, RuntimeError)


def unpack(archive: IO[bytes], into: Path, where: str, largest: int = LARGEST_BYTES) -> bool:
    """Unpack an archive below ``into`` and return True; return False where the file is no archive.

    ``archive`` is a file that can seek. ``where`` names it in errors.

    Raises:
        InputError: the archive is damaged, is too large, or has a member that leads outside.
    """
    is_zip = zipfile.is_zipfile(archive)
    archive.seek(0)
    with _damages(where):
        if is_zip:
            with zipfile.ZipFile(archive) as zipped:
                write_members(_zip_members(zipped, where), into, where, largest)
            return True
        try:
            packed = tarfile.open(fileobj=archive, mode="r:*")  # noqa: SIM115 - closed below
        except tarfile.ReadError:
            return False
        with packed:
            write_members(_tar_members(packed, where), into, where, largest)
    return True


@contextmanager
def _damages(where: str) -> Iterator[None]:
    """Turn what the readers of archives raise about damaged ones into ``InputError``."""
    try:
        yield
    except _BROKEN as error:
        raise InputError(
            f"the archive cannot be read: {error}", where=where, remedy="Make it again, or remove it."
        ) from error


def _tar_members(packed: tarfile.TarFile, where: str) -> list[Member]:
    """Return the members; a hard link is a copy of the file that it names, which must be in the archive."""
    members = []
    for info in packed:
        if info.isdir():
            members.append(Member(info.name, MemberKind.DIRECTORY, info.mode))
        elif info.issym():
            members.append(Member(info.name, MemberKind.LINK, info.mode, info.linkname))
        elif info.isreg() or info.islnk():
            members.append(Member(info.name, MemberKind.FILE, info.mode, open=partial(_tar_file, packed, info, where)))
        else:
            raise refused(where, info.name, "is neither a file nor a directory nor a link")
        if len(members) > MOST_MEMBERS:
            break
    return members


def _tar_file(packed: tarfile.TarFile, info: tarfile.TarInfo, where: str) -> IO[bytes]:
    try:
        content = packed.extractfile(info)
    except KeyError:
        content = None
    if content is None:
        raise refused(where, info.name, "is a hard link to a file that is not in the archive")
    return content


def _zip_members(zipped: zipfile.ZipFile, where: str) -> list[Member]:
    members = []
    for info in zipped.infolist():
        mode = info.external_attr >> 16
        if info.flag_bits & 1:
            raise refused(where, info.filename, "is encrypted")
        if info.is_dir():
            members.append(Member(info.filename, MemberKind.DIRECTORY, mode or 0o755))
        elif stat.S_ISLNK(mode):
            target = _link_target(zipped, info, where)
            members.append(Member(info.filename, MemberKind.LINK, mode, target))
        else:
            opened = partial(zipped.open, info)
            members.append(Member(info.filename, MemberKind.FILE, mode or 0o644, open=opened))
    return members


def _link_target(zipped: zipfile.ZipFile, info: zipfile.ZipInfo, where: str) -> str:
    longest = 4096
    with zipped.open(info) as content:
        target = content.read(longest + 1)
    if len(target) > longest:
        raise refused(where, info.filename, "is a link with a target that is too long")
    return target.decode(errors="surrogateescape")
