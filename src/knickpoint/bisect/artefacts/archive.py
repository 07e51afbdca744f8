"""Archives of artefacts: tar, tar with a compression, and zip, recognised by their content."""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO

from knickpoint.bisect.artefacts.members import (
    LARGEST_BYTES,
    MOST_MEMBERS,
    Member,
    MemberKind,
    check_name,
    refused,
    write_members,
)
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.plain_text import plain_line

_BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, LZMAError, EOFError, NotImplementedError, RuntimeError)


def unpack(archive: IO[bytes], into: Path, where: str, largest: int = LARGEST_BYTES) -> bool:
    """Unpack an archive below ``into`` and return True; return False where the file is not an archive.

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


# Pack what a build made into a tar file: files by their patterns, with their permissions and links.


def pack(files: Sequence[str], root: Path, into: IO[bytes]) -> None:
    """Write what ``files`` name below ``root`` into a tar file, in a stable order.

    Raises:
        ConfigError: a pattern leads outside ``root``.
        InputError: a pattern names nothing, or something that cannot be kept.
        OSError: a file cannot be read, or the archive cannot be written.
    """
    root = root.resolve()
    with tarfile.open(fileobj=into, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in packed_paths(files, root):
            name = path.relative_to(root).as_posix()
            info = archive.gettarinfo(path, arcname=name)
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            if info.issym():
                info.linkname = _inside(path, root)
                archive.addfile(info)
            elif info.isdir():
                archive.addfile(info)
            elif stat.S_ISREG(path.lstat().st_mode):
                info.type, info.linkname, info.size = tarfile.REGTYPE, "", path.lstat().st_size
                with path.open("rb") as content:
                    archive.addfile(info, content)
            else:
                raise _not_kept(name, "is neither a file nor a directory nor a link")


def packed_paths(files: Sequence[str], root: Path) -> list[Path]:
    """Return the paths below ``root`` that match the patterns: directories with content, each once, parents first.

    A link is a path of its own; what it leads to is not followed.
    """
    found: set[Path] = set()
    for pattern in files:
        matches = list(root.glob(_checked(pattern)))
        if not matches:
            raise InputError(
                "the build made no such file",
                where=f"artefact {plain_line(pattern, 200)!r}",
                remedy="Correct artefact in the recipe, or the build command.",
            )
        for match in matches:
            _check_parents(match, root)
            found.update(_with_contents(match))
    return sorted(found)


def _checked(pattern: str) -> str:
    try:
        path = check_name(pattern)
    except ValueError as error:
        raise ConfigError(
            f"the pattern {plain_line(pattern, 200)!r} {error}",
            where="artefact",
            remedy="Name files below the worktree, as in build/app.",
        ) from None
    if not path.parts:
        raise ConfigError(
            f"the pattern {pattern!r} names the whole worktree",
            where="artefact",
            remedy="Name the files that the build makes, as in build/app.",
        )
    return path.as_posix()


def _with_contents(path: Path) -> Iterator[Path]:
    yield path
    if path.is_dir() and not path.is_symlink():
        for folder, folders, names in os.walk(path):
            yield from (Path(folder, name) for name in (*folders, *names))


def _check_parents(path: Path, root: Path) -> None:
    """Refuse a path behind a link that leads outside ``root``."""
    if not path.parent.resolve().is_relative_to(root):
        raise _not_kept(path.relative_to(root).as_posix(), "lies behind a link that leads outside the worktree")


def _inside(link: Path, root: Path) -> str:
    """Return the target of a link, relative to it: an absolute one is right in this worktree only."""
    target = str(link.readlink())
    if not link.resolve().is_relative_to(root):
        name = link.relative_to(root).as_posix()
        raise _not_kept(name, f"is a link to {plain_line(target, 100)!r}, outside the worktree")
    if PurePosixPath(target).is_absolute():
        return os.path.relpath(target, link.parent)
    return target


def _not_kept(name: str, why: str) -> InputError:
    return InputError(
        f"the file {plain_line(name, 200)!r} {why}",
        where="artefact",
        remedy="Leave it out of artefact in the recipe, or make the build write it inside the worktree.",
    )
