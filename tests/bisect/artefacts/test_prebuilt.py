"""Finished artefacts: found by commit in a directory, at an address of the web, in a bucket."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import fsspec  # type: ignore[import-untyped]
import pytest
from tests.outgoing.conftest import Answer, WebServer, serving

from knickpoint.bisect.artefacts import fetch_prebuilt
from knickpoint.model.errors import AddressError, ConfigError, InputError, ServiceError
from knickpoint.outgoing import NoAnswerError, OutgoingRule

COMMIT = "4f1d2c3b5a" * 4
RULE = OutgoingRule()


@pytest.fixture(scope="module")
def web() -> Iterator[WebServer]:
    """Serve on loopback."""
    with serving() as server:
        yield server


@pytest.fixture
def worktree(tmp_path: Path) -> Path:
    """Return an empty worktree."""
    (tmp_path / "worktree").mkdir()
    return tmp_path / "worktree"


def archive() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as packed:
        info = tarfile.TarInfo("bin/app")
        info.size, info.mode = 4, 0o755
        packed.addfile(info, io.BytesIO(b"code"))
    return file.getvalue()


def test_a_directory_is_copied(tmp_path: Path, worktree: Path) -> None:
    made = tmp_path / "builds" / COMMIT / "bin"
    made.mkdir(parents=True)
    (made / "app").write_bytes(b"code")
    (made / "link").symlink_to("app")
    assert fetch_prebuilt("builds/{commit}", COMMIT, worktree, outgoing=RULE, base=tmp_path)
    assert (worktree / "bin" / "link").read_bytes() == b"code"


def test_a_directory_with_a_link_to_elsewhere_is_refused(tmp_path: Path, worktree: Path) -> None:
    (tmp_path / COMMIT).mkdir()
    (tmp_path / COMMIT / "way").symlink_to("/etc")
    with pytest.raises(InputError, match="'way' is a link to '/etc'"):
        fetch_prebuilt("{commit}", COMMIT, worktree, outgoing=RULE, base=tmp_path)


def test_an_archive_in_a_directory_is_unpacked(tmp_path: Path, worktree: Path) -> None:
    (tmp_path / f"{COMMIT}.build").write_bytes(archive())
    assert fetch_prebuilt(str(tmp_path / "{commit}.build"), COMMIT, worktree, outgoing=RULE)
    assert (worktree / "bin" / "app").read_bytes() == b"code"


def test_a_file_that_is_no_archive_comes_under_its_name(tmp_path: Path, worktree: Path) -> None:
    (tmp_path / COMMIT).mkdir()
    (tmp_path / f"{COMMIT}.elf").write_bytes(b"\x7fELF")
    assert fetch_prebuilt(str(tmp_path / "{commit}.elf"), COMMIT, worktree, outgoing=RULE)
    assert (worktree / f"{COMMIT}.elf").read_bytes() == b"\x7fELF"


def test_an_address_of_the_configuration_is_contacted(web: WebServer, worktree: Path) -> None:
    web.answers[f"/{COMMIT}.tar.gz"] = Answer(body=archive())
    template = f"http://127.0.0.1:{web.port}/{{commit}}.tar.gz"
    assert fetch_prebuilt(template, COMMIT, worktree, outgoing=RULE)
    assert (worktree / "bin" / "app").read_bytes() == b"code"


def test_what_is_not_there_has_to_be_built(web: WebServer, tmp_path: Path, worktree: Path) -> None:
    web.answers[f"/absent/{COMMIT}"] = Answer(404)
    for template in (
        f"http://127.0.0.1:{web.port}/absent/{{commit}}",
        f"{tmp_path}/{{commit}}",
        "memory://no/{commit}",
    ):
        assert not fetch_prebuilt(template, COMMIT, worktree, outgoing=RULE)


def test_another_status_is_an_error_that_shows_no_query(web: WebServer, worktree: Path) -> None:
    web.answers[f"/{COMMIT}?token=hidden"] = Answer(403)
    with pytest.raises(ServiceError, match=r"it answers 403\. Check the address of prebuilt") as error:
        fetch_prebuilt(f"http://127.0.0.1:{web.port}/{{commit}}?token=hidden", COMMIT, worktree, outgoing=RULE)
    assert "hidden" not in str(error.value)


def test_a_page_in_place_of_an_archive_is_an_error(web: WebServer, worktree: Path) -> None:
    web.answers[f"/page/{COMMIT}.tgz"] = Answer(body=b"<html>Please sign in")
    with pytest.raises(InputError, match="not an archive, despite its name"):
        fetch_prebuilt(f"http://127.0.0.1:{web.port}/page/{{commit}}.tgz", COMMIT, worktree, outgoing=RULE)
    assert list(worktree.iterdir()) == []


def test_a_redirect_follows_the_rule(web: WebServer, worktree: Path) -> None:
    web.redirect(f"/moved/{COMMIT}", "http://169.254.169.254/latest/meta-data")
    with pytest.raises(AddressError):
        fetch_prebuilt(f"http://127.0.0.1:{web.port}/moved/{{commit}}", COMMIT, worktree, outgoing=RULE)


def test_the_size_is_bounded(web: WebServer, worktree: Path) -> None:
    web.answers[f"/large/{COMMIT}"] = Answer(body=bytes(1_000_001))
    fsspec.filesystem("memory").pipe(f"/large/{COMMIT}", bytes(1_000_001))
    with pytest.raises(NoAnswerError, match="more than"):
        fetch_prebuilt(f"http://127.0.0.1:{web.port}/large/{{commit}}", COMMIT, worktree, outgoing=RULE, megabytes=1)
    with pytest.raises(InputError, match="larger than 1 MB"):
        fetch_prebuilt("memory://large/{commit}", COMMIT, worktree, outgoing=RULE, megabytes=1)


def test_a_bucket_is_read(worktree: Path) -> None:
    fsspec.filesystem("memory").pipe(f"/builds/{COMMIT}.tar", archive())
    assert fetch_prebuilt("memory://builds/{commit}.tar", COMMIT, worktree, outgoing=RULE)
    assert (worktree / "bin" / "app").read_bytes() == b"code"


def test_a_location_without_the_commit_is_refused(worktree: Path) -> None:
    with pytest.raises(ConfigError, match=r"lacks \{commit\}"):
        fetch_prebuilt("https://ci.example.org/latest.tar", COMMIT, worktree, outgoing=RULE)


@pytest.mark.parametrize("commit", ["../../etc", "", "a/b", "4f1d2c3\n", "HEAD"])
def test_only_a_hash_becomes_a_part_of_an_address(worktree: Path, commit: str) -> None:
    with pytest.raises(InputError, match="not a hash of a commit"):
        fetch_prebuilt("/builds/{commit}", commit, worktree, outgoing=RULE)
