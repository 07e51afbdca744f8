"""What an archive may write below a worktree: files, directories and symbolic links that stay inside."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import IO, Final

from knickpoint.model.errors import InputError, ServiceError
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
    checked = [(member, _checked(member, where)) for member in members]
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


def _checked(member: Member, where: str) -> PurePosixPath:
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
