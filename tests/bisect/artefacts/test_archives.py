"""Archives of elsewhere: unpacked whole below the worktree, or refused with one line about the member."""

from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from knickpoint.bisect.archives import unpack
from knickpoint.model.errors import InputError


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    """Return a worktree with a directory beside it that must stay empty."""
    (tmp_path / "worktree").mkdir()
    (tmp_path / "outside").mkdir()
    return tmp_path / "worktree"


def tar(*members: tuple[str, bytes | str], kinds: dict[str, bytes] | None = None, mode: str = "w") -> io.BytesIO:
    """Make a tar file of names with bytes of a file, or the target of a symbolic link.

    ``kinds`` has other types by name.
    """
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.mode = 0o755
            if isinstance(content, str):
                info.type, info.linkname = (kinds or {}).get(name, tarfile.SYMTYPE), content
                archive.addfile(info)
            else:
                info.type, info.size = (kinds or {}).get(name, tarfile.REGTYPE), len(content)
                archive.addfile(info, io.BytesIO(content))
    file.seek(0)
    return file


def zipped(*members: tuple[str, bytes | str]) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            kind = stat.S_IFLNK if isinstance(content, str) else stat.S_IFREG
            info.external_attr = (kind | 0o755) << 16
            archive.writestr(info, content)
    file.seek(0)
    return file


ARCHIVES: dict[str, Callable[..., io.BytesIO]] = {"tar": tar, "zip": zipped}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_file_is_unpacked_whatever_its_compression(worktree: Path, mode: str) -> None:
    assert unpack(tar(("bin/app", b"code"), ("app", "bin/app"), mode=mode), worktree, "a")
    assert os.access(worktree / "app", os.X_OK)
    assert (worktree / "app").read_bytes() == b"code"


def test_a_zip_file_is_unpacked_with_permissions_and_links(worktree: Path) -> None:
    assert unpack(zipped(("bin/app", b"code"), ("app", "bin/app")), worktree, "a")
    assert os.access(worktree / "app", os.X_OK)
    assert (worktree / "app").readlink() == Path("bin/app")


def test_a_hard_link_is_a_copy(worktree: Path) -> None:
    unpack(tar(("app", b"code"), ("copy", "app"), kinds={"copy": tarfile.LNKTYPE}), worktree, "a")
    assert (worktree / "copy").read_bytes() == b"code"


def test_another_file_is_no_archive(worktree: Path) -> None:
    assert not unpack(io.BytesIO(b"\x7fELF and so on"), worktree, "a")


@pytest.mark.parametrize("make", ARCHIVES.values(), ids=ARCHIVES)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("/etc/cron.d/x", b""),
        ("../outside/x", b""),
        ("a/../../outside/x", b""),
        ("..\\outside\\x", b""),
        ("C:/x", b""),
        (".git/hooks/post-checkout", b""),
        (".GIT", b""),
        ("link", "/etc"),
        ("link", "../outside"),
        ("a/link", "../../outside"),
    ],
)
def test_a_hostile_member_is_refused_before_anything_is_written(
    worktree: Path, make: Callable[..., io.BytesIO], name: str, content: bytes | str
) -> None:
    with pytest.raises(InputError, match=r"build\.tar: the member '") as refused:
        unpack(make(("fine", b"fine"), (name, content)), worktree, "build.tar")
    assert "\n" not in str(refused.value)
    assert list(worktree.iterdir()) == []


def test_links_that_lead_outside_together_are_refused(worktree: Path) -> None:
    (worktree / "p").mkdir()
    chain = tar(("d1/d2/way", "../../p"), ("d1/d2/out", "way/../.."))
    with pytest.raises(InputError, match=r"'d1/d2/out' is a link to 'way/\.\./\.\.', outside"):
        unpack(chain, worktree, "a")
    assert not (worktree / "d1" / "d2" / "out").is_symlink()


def test_a_file_is_not_written_through_a_link_of_the_archive(worktree: Path) -> None:
    with pytest.raises(InputError, match="'way' is a link where the worktree has a directory"):
        unpack(tar(("way", "elsewhere"), ("way/x", b"")), worktree, "a")


def test_a_file_is_not_written_through_a_link_of_the_worktree(worktree: Path) -> None:
    (worktree / "way").symlink_to(worktree.parent / "outside")
    with pytest.raises(InputError, match="'way/x' lies behind a link"):
        unpack(tar(("way/x", b"")), worktree, "a")
    assert list((worktree.parent / "outside").iterdir()) == []


def test_a_link_of_the_worktree_is_replaced_by_a_file_of_its_name(worktree: Path) -> None:
    victim = worktree.parent / "outside" / "victim"
    victim.write_bytes(b"kept")
    (worktree / "app").symlink_to(victim)
    unpack(tar(("app", b"new")), worktree, "a")
    assert (victim.read_bytes(), (worktree / "app").read_bytes()) == (b"kept", b"new")


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_devices_are_refused(worktree: Path, kind: bytes) -> None:
    with pytest.raises(InputError, match="'x' is neither a file nor a directory nor a link"):
        unpack(tar(("x", ""), kinds={"x": kind}), worktree, "a")


def test_a_hard_link_to_a_file_elsewhere_is_refused(worktree: Path) -> None:
    with pytest.raises(InputError, match="'x' is a hard link to a file that is not in the archive"):
        unpack(tar(("x", "/etc/passwd"), kinds={"x": tarfile.LNKTYPE}), worktree, "a")


def test_what_grows_beyond_the_bound_is_refused(worktree: Path) -> None:
    with pytest.raises(InputError, match="larger than"):
        unpack(tar(("x", bytes(3 << 20)), mode="w:gz"), worktree, "a", largest=1 << 20)


@pytest.mark.parametrize("make", [lambda: tar(("x", os.urandom(50_000)), mode="w:gz"), lambda: tar(("x", b"a" * 9999))])
def test_a_cut_archive_is_an_error(worktree: Path, make: Callable[[], io.BytesIO]) -> None:
    content = make().getvalue()
    with pytest.raises(InputError, match="a: the archive cannot be read"):
        unpack(io.BytesIO(content[: len(content) // 2]), worktree, "a")


def test_the_special_permissions_are_left_out(worktree: Path) -> None:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        info = tarfile.TarInfo("app")
        info.mode = 0o6755
        archive.addfile(info)
    file.seek(0)
    unpack(file, worktree, "a")
    assert stat.S_IMODE((worktree / "app").stat().st_mode) == 0o755


def test_a_name_cannot_write_to_the_terminal(worktree: Path) -> None:
    with pytest.raises(InputError) as refused:
        unpack(tar(("../\x1b[2Jx\n", b"")), worktree, "a")
    assert str(refused.value).isprintable()
