"""Archives of artefacts: tar, tar with a compression, and zip, recognised by their content.

They may write files, directories and symbolic links below a worktree, none of which leads out of it.
"""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import partial
from lzma import LZMAError
from pathlib import Path, PurePosixPath
from typing import IO, Final

from knickpoint.model.errors import ConfigError, InputError, ServiceError
from knickpoint.model.plain_text import plain_line

LARGEST_BYTES: Final = 8 << 30
"""How large all files of an archive may be together when they are unpacked."""

MOST_MEMBERS: Final = 500_000
"""How many members an archive may have."""

_BLOCK: Final = 1 << 20
_PERMISSIONS: Final = 0o777


class MemberKind(Enum):
    """What a member becomes."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "symbolic link"


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an archive: its name, kind and permissions; ``target`` of a link, ``open`` of a file."""

    name: str
    kind: MemberKind
    mode: int
    target: str = ""
    open: Callable[[], IO[bytes]] | None = None


def refused(where: str, name: str, why: str) -> InputError:
    """Return the error about a member that must not be written."""
    return InputError(
        f"the member {plain_line(name, 200)!r} {why}",
        where=where,
        remedy="Nothing of the archive was used. Make it again without this member.",
    )


def check_name(name: str) -> PurePosixPath:
    """Return the path of a member, relative to the worktree.

    Raises:
        ValueError: the name leads outside, or into the records of git; the message ends a sentence about the member.
    """
    path = PurePosixPath(name)
    if not name or "\0" in name:
        raise ValueError("has no usable name")
    if path.is_absolute() or name[1:2] == ":" or "\\" in name:
        raise ValueError("has an absolute path, or one of another operating system")
    if ".." in path.parts:
        raise ValueError("leads outside the worktree")
    if path.parts and path.parts[0].lower() == ".git":
        raise ValueError("is inside the directory of git")
    return path


def write_members(members: Sequence[Member], root: Path, where: str, largest: int = LARGEST_BYTES) -> None:
    """Write the members of an archive below ``root``; what stands in their way is replaced, directories are merged.

    All names are checked before the first byte is written. ``where`` names the archive in errors. ``largest`` bounds
    the bytes of all files, as they are unpacked and not as the archive states them.

    Raises:
        InputError: a member leads outside, or there is too much.
        ServiceError: the worktree cannot be written.
    """
    try:
        _write_members(members, root.resolve(), where, largest)
    except OSError as error:
        raise ServiceError(
            f"an artefact cannot be written: {error.strerror or error}",
            where=str(root),
            remedy="Check the disk space and the permissions.",
        ) from error


def _write_members(members: Sequence[Member], root: Path, where: str, largest: int) -> None:
    if len(members) > MOST_MEMBERS:
        raise InputError(f"it has more than {MOST_MEMBERS:,} members", where=where, remedy="Make a smaller archive.")
    checked = [(member, _checked_path(member, where)) for member in members]
    left = largest
    # Links come last, so that no file is written through a link of the same archive.
    for member, path in checked:
        if member.kind is MemberKind.LINK:
            continue
        target = _target(root, path, member, where)
        if member.kind is MemberKind.DIRECTORY:
            _make_directory(target, member, where)
            continue
        left -= _write_file(target, member, left, where)
        if left < 0:
            raise InputError(
                f"its files are larger than {largest >> 20:,} MB together",
                where=where,
                remedy="Make a smaller archive.",
            )
    _write_links([(member, path) for member, path in checked if member.kind is MemberKind.LINK], root, where)
    # A directory without the right to write takes no files, so permissions of directories come at the very end.
    for member, path in reversed(checked):
        if member.kind is MemberKind.DIRECTORY and path.parts:
            (root / path).chmod((member.mode & _PERMISSIONS) | stat.S_IRWXU)


def _checked_path(member: Member, where: str) -> PurePosixPath:
    """Return the path of a member.

    The target of a link is checked as written, for it must not name another machine's path.
    """
    try:
        path = check_name(member.name)
        if member.kind is MemberKind.LINK:
            _check_link(path, member.target)
    except ValueError as error:
        raise refused(where, member.name, str(error)) from None
    return path


def _check_link(path: PurePosixPath, target: str) -> None:
    if not path.parts:
        raise ValueError("replaces the worktree")
    if not target or "\0" in target or target.startswith("/") or "\\" in target:
        raise ValueError(f"is a link to {plain_line(target, 100)!r}, outside the worktree")
    if os.path.normpath(path.parent / target).split("/")[0] == "..":
        raise ValueError(f"is a link to {plain_line(target, 100)!r}, outside the worktree")


def _target(root: Path, path: PurePosixPath, member: Member, where: str) -> Path:
    """Return the path of a member, in a directory that exists; links that were there before lead nowhere outside."""
    target = root / path
    if not path.parts:
        return root
    try:
        if not target.parent.resolve().is_relative_to(root):
            raise refused(where, member.name, "lies behind a link that leads outside the worktree")
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError, RuntimeError):
        raise refused(where, member.name, "lies below something that is not a directory") from None
    return target


def _make_directory(target: Path, member: Member, where: str) -> None:
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise refused(where, member.name, "is a directory where the worktree has something else")
    target.mkdir(exist_ok=True)


def _write_file(target: Path, member: Member, left: int, where: str) -> int:
    """Write a file and return its size; it stops after ``left`` bytes and returns more than them."""
    assert member.open is not None
    if target.is_dir() and not target.is_symlink():
        raise refused(where, member.name, "is a file where the worktree has a directory")
    target.unlink(missing_ok=True)
    size = 0
    with member.open() as content, target.open("xb") as file:
        while size <= left and (block := content.read(_BLOCK)):
            file.write(block)
            size += len(block)
    target.chmod((member.mode & _PERMISSIONS) | stat.S_IRUSR | stat.S_IWUSR)
    return size


def _write_links(links: list[tuple[Member, PurePosixPath]], root: Path, where: str) -> None:
    """Write links, then follow each: links that are harmless alone may lead outside together."""
    written = []
    for member, path in links:
        target = _target(root, path, member, where)
        if target.is_dir() and not target.is_symlink():
            raise refused(where, member.name, "is a link where the worktree has a directory")
        target.unlink(missing_ok=True)
        target.symlink_to(member.target)
        written.append((member, target))
    for member, target in written:
        if not _stays_inside(target, root):
            for _, each in written:
                each.unlink(missing_ok=True)
            raise refused(where, member.name, f"is a link to {plain_line(member.target, 100)!r}, outside the worktree")


def _stays_inside(link: Path, root: Path) -> bool:
    try:
        return link.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a loop of links leads nowhere
        return True


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
        matches = list(root.glob(_checked_pattern(pattern)))
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


def _checked_pattern(pattern: str) -> str:
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
