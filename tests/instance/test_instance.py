from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.store.conftest import Cluster, Databases
from tests.store.conftest import cluster as cluster  # noqa: PLC0414  # a fixture
from tests.store.conftest import databases as databases  # noqa: PLC0414  # a fixture

from knickpoint.instance import CONFIG_FILE, create_instance, find_instance, make_configured_store, open_instance
from knickpoint.model.errors import ConfigError, StoreError


@pytest.fixture(autouse=True)
def _no_instance_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KNICKPOINT_INSTANCE", raising=False)


def test_a_new_instance_can_be_opened_again(tmp_path: Path) -> None:
    create_instance(tmp_path / "lab").close()
    with open_instance(tmp_path / "lab") as instance:
        assert (instance.directory, instance.config.name) == (tmp_path / "lab", "lab")
        assert instance.store.commits.repositories() == []


def test_a_new_instance_knows_its_repositories(tmp_path: Path) -> None:
    with create_instance(tmp_path, repositories={"owner/lib": '../odd "name"', "plain": ""}) as instance:
        assert instance.repositories["owner/lib"].location == '../odd "name"'
        assert instance.repositories["plain"].location == ""


def test_a_directory_with_an_instance_is_left_alone(tmp_path: Path) -> None:
    create_instance(tmp_path).close()
    before = (tmp_path / CONFIG_FILE).read_bytes()
    with pytest.raises(ConfigError, match="the instance already exists"):
        create_instance(tmp_path, name="Other")
    assert (tmp_path / CONFIG_FILE).read_bytes() == before


def test_an_instance_that_cannot_be_made_leaves_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "knickpoint.db").write_text("not a database, but long enough to be looked at " * 20)
    with pytest.raises(StoreError):
        create_instance(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["knickpoint.db"]


def test_a_place_below_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be made there"):
        create_instance(tmp_path / "file" / "lab")


def test_the_nearest_instance_upwards_is_found(tmp_path: Path) -> None:
    create_instance(tmp_path).close()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    assert find_instance(tmp_path / "deep" / "er") == tmp_path


def test_the_environment_names_the_instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_instance(tmp_path).close()
    monkeypatch.setenv("KNICKPOINT_INSTANCE", str(tmp_path))
    assert find_instance() == tmp_path


def test_an_environment_that_names_nothing_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNICKPOINT_INSTANCE", str(tmp_path / "nowhere"))
    with pytest.raises(ConfigError, match="KNICKPOINT_INSTANCE names a directory without"):
        find_instance()


def test_without_an_instance_the_error_names_the_way_to_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="knick init"):
        open_instance()


def test_a_lost_store_is_an_error(tmp_path: Path) -> None:
    create_instance(tmp_path).close()
    (tmp_path / "knickpoint.db").unlink()
    with pytest.raises(StoreError, match="knick init"):
        open_instance(tmp_path)


@pytest.mark.postgres
def test_processes_that_start_at_once_make_the_store_that_their_configuration_names_once(
    tmp_path: Path, cluster: Cluster, databases: Databases
) -> None:
    databases.create("fresh")
    (tmp_path / CONFIG_FILE).write_text(f'[store]\nlocation = "{cluster.url("fresh")}"\n')
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(make_configured_store, [tmp_path] * 4))
    assert any(made)
    assert not make_configured_store(tmp_path)
    with open_instance(tmp_path) as instance:
        assert instance.store.commits.repositories() == []
        instance.store.database.engine.dispose()
    databases.drop("fresh")
