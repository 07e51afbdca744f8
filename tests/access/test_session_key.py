"""The key that signs cookies: where it comes from, and who may read it."""

from __future__ import annotations

import multiprocessing
import stat
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from knickpoint.access.sessions import KEY_FILE, session_key
from knickpoint.access.settings import AccessSettings
from knickpoint.model.errors import ConfigError

_NO_SECRET = AccessSettings()


def test_the_first_server_makes_a_file_that_only_its_user_can_read(tmp_path: Path) -> None:
    session_key(tmp_path, _NO_SECRET)
    assert stat.S_IMODE((tmp_path / KEY_FILE).stat().st_mode) == 0o600


def test_a_later_server_uses_the_same_key(tmp_path: Path) -> None:
    assert session_key(tmp_path, _NO_SECRET) == session_key(tmp_path, _NO_SECRET)


def test_two_instances_have_different_keys(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert session_key(tmp_path / "a", _NO_SECRET) != session_key(tmp_path / "b", _NO_SECRET)


def _key_of(directory: Path) -> bytes:
    return session_key(directory, _NO_SECRET)


@pytest.mark.long
def test_servers_that_start_at_the_same_time_use_one_key(tmp_path: Path) -> None:
    with ProcessPoolExecutor(3, mp_context=multiprocessing.get_context("spawn")) as pool:
        keys = set(pool.map(_key_of, [tmp_path] * 12))
    assert len(keys) == 1
    assert [path.name for path in tmp_path.iterdir()] == [KEY_FILE]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_a_file_that_others_can_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    session_key(tmp_path, _NO_SECRET)
    (tmp_path / KEY_FILE).chmod(mode)
    with pytest.raises(ConfigError, match="other users") as caught:
        session_key(tmp_path, _NO_SECRET)
    assert "chmod 600" in caught.value.remedy


@pytest.mark.parametrize("content", ["", "0" * 62, "no key", "\udcff"])
def test_a_file_without_a_key_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / KEY_FILE).write_bytes(content.encode(errors="surrogateescape"))
    (tmp_path / KEY_FILE).chmod(0o600)
    with pytest.raises(ConfigError, match="not a session key") as caught:
        session_key(tmp_path, _NO_SECRET)
    assert "Delete it" in caught.value.remedy


def test_a_directory_in_which_no_file_can_be_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read or made") as caught:
        session_key(tmp_path / "missing", _NO_SECRET)
    assert "session_secret" in caught.value.remedy


def test_a_secret_of_the_configuration_is_the_key_and_no_file_is_made(tmp_path: Path) -> None:
    assert session_key(tmp_path, AccessSettings(session_secret="s" * 32)) == b"s" * 32
    assert list(tmp_path.iterdir()) == []


def test_a_short_secret_is_refused_without_being_shown(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="fewer than 32 characters") as caught:
        session_key(tmp_path, AccessSettings(session_secret="hunter2" * 4))
    assert "hunter2" not in str(caught.value)
