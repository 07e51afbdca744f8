"""Artefacts by key: whole or absent, within their space, inside the worktree."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from knickpoint.bisect.artefacts import ArtefactCache
from knickpoint.model.errors import ConfigError, InputError, ServiceError


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """Return a worktree with what a build made in it."""
    root = tmp_path / "built"
    (root / "build" / "lib").mkdir(parents=True)
    (root / "build" / "app").write_bytes(b"#!/bin/sh\n")
    (root / "build" / "app").chmod(0o755)
    (root / "build" / "lib" / "libapp.so.1").write_bytes(b"code")
    (root / "build" / "lib" / "libapp.so").symlink_to("libapp.so.1")
    (root / "source.c").write_text("int main;")
    return root


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    """Return an empty worktree."""
    root = tmp_path / "worktree"
    root.mkdir()
    return root


@pytest.fixture
def cache(tmp_path: Path) -> ArtefactCache:
    """Return a cache of one megabyte."""
    return ArtefactCache(tmp_path / "cache", 1)


def test_an_artefact_comes_back_with_permissions_and_links(cache: ArtefactCache, built: Path, worktree: Path) -> None:
    assert cache.put("abc", ["build"], built)
    assert cache.get("abc", worktree)
    assert sorted(str(path.relative_to(worktree)) for path in worktree.rglob("*")) == [
        "build",
        "build/app",
        "build/lib",
        "build/lib/libapp.so",
        "build/lib/libapp.so.1",
    ]
    assert os.access(worktree / "build" / "app", os.X_OK)
    assert (worktree / "build" / "lib" / "libapp.so").readlink() == Path("libapp.so.1")


def test_patterns_choose_files(cache: ArtefactCache, built: Path, worktree: Path) -> None:
    cache.put("abc", ["build/lib/*.so*"], built)
    cache.get("abc", worktree)
    assert sorted(path.name for path in worktree.rglob("*")) == ["build", "lib", "libapp.so", "libapp.so.1"]


def test_a_key_that_is_not_kept_is_absent(cache: ArtefactCache, worktree: Path) -> None:
    assert not cache.get("abc", worktree)


def test_an_artefact_replaces_what_is_there(cache: ArtefactCache, built: Path, worktree: Path) -> None:
    (worktree / "build").mkdir()
    (worktree / "build" / "app").write_bytes(b"older")
    cache.put("abc", ["build"], built)
    cache.get("abc", worktree)
    assert (worktree / "build" / "app").read_bytes() == b"#!/bin/sh\n"


def test_an_absolute_link_inside_the_worktree_becomes_relative(
    cache: ArtefactCache, built: Path, worktree: Path
) -> None:
    (built / "build" / "current").symlink_to(built / "build" / "app")
    cache.put("abc", ["build"], built)
    cache.get("abc", worktree)
    assert (worktree / "build" / "current").readlink() == Path("app")


def test_the_least_recently_used_goes_first(cache: ArtefactCache, built: Path, worktree: Path) -> None:
    (built / "build" / "app").write_bytes(bytes(300_000))
    for place, key in enumerate(("a", "b", "c")):
        cache.put(key, ["build"], built)
        os.utime(cache.directory / f"{key}.tar", ns=(place, place))
    cache.get("a", worktree)
    cache.put("d", ["build"], built)
    assert cache.keys() == ("c", "a", "d")


def test_an_artefact_larger_than_the_space_is_not_kept(cache: ArtefactCache, built: Path) -> None:
    cache.put("small", ["build"], built)
    (built / "build" / "app").write_bytes(bytes(1_000_001))
    assert not cache.put("large", ["build"], built)
    assert cache.keys() == ("small",)


def test_a_damaged_entry_is_removed(cache: ArtefactCache, built: Path, worktree: Path) -> None:
    cache.put("abc", ["build"], built)
    entry = cache.directory / "abc.tar"
    entry.write_bytes(b"nothing like an archive")
    assert not cache.get("abc", worktree)
    assert cache.keys() == ()


@pytest.mark.parametrize("pattern", ["/etc/passwd", "../secret", "build/../../secret", ".git/config", ".", ""])
def test_a_pattern_outside_the_worktree_is_refused(cache: ArtefactCache, built: Path, pattern: str) -> None:
    with pytest.raises(ConfigError, match="the pattern"):
        cache.put("abc", [pattern], built)


def test_a_link_out_of_the_worktree_is_refused(cache: ArtefactCache, built: Path) -> None:
    (built / "build" / "passwords").symlink_to("/etc/passwd")
    with pytest.raises(InputError, match="'build/passwords' is a link to '/etc/passwd', outside the worktree"):
        cache.put("abc", ["build"], built)
    assert cache.keys() == ()


def test_files_behind_a_link_out_of_the_worktree_are_refused(cache: ArtefactCache, built: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").touch()
    (built / "out").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="'out/file' lies behind a link"):
        cache.put("abc", ["out/*"], built)


def test_a_pattern_that_names_nothing_is_an_error(cache: ArtefactCache, built: Path) -> None:
    with pytest.raises(InputError, match="artefact 'build/missing': the build made no such file"):
        cache.put("abc", ["build/missing"], built)


def test_a_directory_that_cannot_be_written_is_an_error(built: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ServiceError, match="cannot be kept"):
        ArtefactCache(tmp_path / "file" / "cache", 1).put("abc", ["build"], built)


_PUT_FOR_EVER = """
import sys
from pathlib import Path
from knickpoint.bisect.artefacts import ArtefactCache
cache = ArtefactCache(Path(sys.argv[1]), 100)
for number in range(1_000_000):
    cache.put(f"key{number % 3}", ["build"], Path(sys.argv[2]))
    if not number:
        print("started", flush=True)
"""


def test_a_killed_process_leaves_nothing_half(tmp_path: Path, built: Path, worktree: Path) -> None:
    (built / "build" / "app").write_bytes(bytes(5_000_000))
    cache = ArtefactCache(tmp_path / "cache", 100)
    with subprocess.Popen(
        [sys.executable, "-c", _PUT_FOR_EVER, str(cache.directory), str(built)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        while not list(cache.directory.glob(".partial-*")):
            pass
        process.send_signal(signal.SIGKILL)
    kept = cache.keys()
    for key in kept:
        assert cache.get(key, worktree)
    cache.put("abc", ["build"], built)
    assert list(cache.directory.glob(".partial-*")) == []


def test_a_partial_file_of_a_living_process_stays(cache: ArtefactCache, built: Path) -> None:
    cache.directory.mkdir()
    with cache._partial() as (_, partial):
        cache.put("abc", ["build"], built)
        assert partial.exists()
