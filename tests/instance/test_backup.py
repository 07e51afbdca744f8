"""Backups without secrets, and hostile archives that are refused before anything is written."""

from __future__ import annotations

import io
import os
import shutil
import sqlite3
import stat
import tarfile
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.store.conftest import Cluster, Databases
from tests.store.conftest import cluster as cluster  # noqa: PLC0414  # a fixture
from tests.store.conftest import databases as databases  # noqa: PLC0414  # a fixture

from knickpoint.instance import CONFIG_FILE, create_instance, open_instance
from knickpoint.instance.backup import backup_instance, restore_instance, with_store, without_plain_secrets
from knickpoint.model.errors import ConfigError, KnickpointError, StoreError

SETTINGS = """
[server]
upload_token = "pl4nted-upload"  # a comment that stays
[nats]
url = 'nats://u:pl4nted-nats@a,nats://v:pl4nted-two@b'
[repositories."ada/engine"]
location = "https://pl4nted-token@host.example/x.git"
[repositories.second]
location = "ssh://git@host.example/x.git"
[ingest.sources.bucket]
location = "s3://bucket/x?signature=pl4nted-signature&part=1"
options = { secret = "pl4nted\\"quoted", endpoint_url = "https://u:pl4nted-endpoint@host.example", region_name = "eu" }
"""
VARIABLES = {
    "KNICKPOINT_SERVER_UPLOAD_TOKEN": "pl4nted-upload",
    "KNICKPOINT_NATS_URL": "nats://u:pl4nted-nats@a,nats://v:pl4nted-two@b",
    "KNICKPOINT_REPOSITORIES_ADA_ENGINE_LOCATION": "pl4nted-token",
    "KNICKPOINT_INGEST_SOURCES_BUCKET_LOCATION": "pl4nted-signature",
    "KNICKPOINT_INGEST_SOURCES_BUCKET_OPTIONS_SECRET": 'pl4nted"quoted',
    "KNICKPOINT_INGEST_SOURCES_BUCKET_OPTIONS_ENDPOINT_URL": "pl4nted-endpoint",
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make, once, the backup of an empty instance."""
    place = tmp_path_factory.mktemp("saved")
    with create_instance(place / "instance") as instance:
        backup_instance(instance, place / "b.tar")
    return place / "b.tar"


def members(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        return {member.name: getattr(archive.extractfile(member), "read", bytes)() for member in archive}


def packed(path: Path, *entries: tuple[tarfile.TarInfo, bytes]) -> Path:
    """Write an archive with these members."""
    with tarfile.open(path, "w") as archive:
        for info, content in entries:
            archive.addfile(info, io.BytesIO(content))
    return path


def member(name: str, content: bytes = b"", **changes: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for attribute, value in changes.items():
        setattr(info, attribute, value)
    return info, content


# What a backup has


def test_a_backup_is_for_the_user_who_made_it(saved: Path) -> None:
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


def modes(directory: Path) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in (directory, *directory.iterdir())}


@pytest.fixture
def _open_umask() -> Iterator[None]:
    """Let new files be readable by everyone, as they are by default."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("_open_umask")
def test_a_new_instance_is_for_the_user_who_made_it(tmp_path: Path) -> None:
    with create_instance(tmp_path / "lab") as instance, instance.store.transaction():
        found = modes(tmp_path / "lab")
    assert {"knickpoint.db-wal", "knickpoint.db-shm"} < found.keys()
    assert found.pop("lab") == 0o700
    assert set(found.values()) == {0o600}


@pytest.mark.usefixtures("_open_umask")
def test_a_restored_instance_is_for_the_user_who_restored_it(saved: Path, tmp_path: Path) -> None:
    restore_instance(saved, tmp_path / "lab")
    assert modes(tmp_path / "lab") == {"lab": 0o700, "knickpoint.db": 0o600, CONFIG_FILE: 0o600}


@pytest.mark.usefixtures("_open_umask")
def test_a_copy_of_a_store_is_for_the_user_who_made_it(tmp_path: Path) -> None:
    with create_instance(tmp_path / "lab") as instance:
        instance.store.backup(tmp_path / "copy.db")
    assert stat.S_IMODE((tmp_path / "copy.db").stat().st_mode) == 0o600


@pytest.mark.usefixtures("_open_umask")
def test_a_directory_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    create_instance(tmp_path).close()
    assert modes(tmp_path) == {tmp_path.name: 0o755, "knickpoint.db": 0o600, CONFIG_FILE: 0o600}


def test_a_backup_has_variables_where_the_configuration_has_secrets(tmp_path: Path) -> None:
    create_instance(tmp_path / "instance").close()
    with (tmp_path / "instance" / CONFIG_FILE).open("a") as config:
        config.write(SETTINGS)
    (tmp_path / "instance" / "session.key").write_text("pl4nted-key")
    with open_instance(tmp_path / "instance") as instance:
        assert set(backup_instance(instance, tmp_path / "b.tar")) == VARIABLES.keys()
    assert members(tmp_path / "b.tar").keys() == {CONFIG_FILE, "store.db"}
    assert b"pl4nted" not in (tmp_path / "b.tar").read_bytes()
    assert b"# a comment that stays" in members(tmp_path / "b.tar")[CONFIG_FILE]


def test_a_restored_instance_has_the_same_configuration_when_the_variables_are_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_instance(tmp_path / "instance").close()
    with (tmp_path / "instance" / CONFIG_FILE).open("a") as config:
        config.write(SETTINGS)
    with open_instance(tmp_path / "instance") as instance:
        backup_instance(instance, tmp_path / "b.tar")
        before = instance.config
    assert set(restore_instance(tmp_path / "b.tar", tmp_path / "again")) == VARIABLES.keys()
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    with open_instance(tmp_path / "again") as instance:
        assert instance.config == before


@pytest.mark.parametrize(
    "text",
    [
        '[server]\nupload_token = "${TOKEN}"\n',
        '[repositories.a]\nlocation = "https://ci:${TOKEN}@host.example/r"\n',
        '[repositories.a]\nlocation = "git@host.example:a/b.git"\n',
        '[repositories.a]\nlocation = "../a@b"\n',
        '[nats]\nurl = "nats://host.example"\n',
        '[store]\nlocation = "postgresql://knickpoint@db-1.example.org,db-2.example.org/knickpoint"\n',
    ],
)
def test_a_configuration_without_plain_secrets_stays_as_it_is(text: str) -> None:
    assert without_plain_secrets(text) == (text, ())


@pytest.mark.parametrize(
    "text",
    [
        'name = "pl4nted"\n[server]\nupload_token = "pl4nted"\n',
        '# was pl4nted\n[server]\nupload_token = "pl4nted"\n',
        '[server]\nupload_token = """pl4nted\n"""\nport = 1\nnames = ["a", "b"]\n[alerts."a b"]\nquery = "x=1"\n',
        'server = { upload_token = "pl4\\u006eted", port = 8_000 }\nname = "a\\"b\\u007f\\n"\n',
    ],
)
def test_a_secret_that_cannot_be_replaced_in_place_is_left_out_all_the_same(text: str) -> None:
    changed, variables = without_plain_secrets(text)
    assert variables == ("KNICKPOINT_SERVER_UPLOAD_TOKEN",)
    before, after = tomllib.loads(text), tomllib.loads(changed)
    assert after["server"].pop("upload_token") == "${KNICKPOINT_SERVER_UPLOAD_TOKEN}"
    before["server"].pop("upload_token")
    assert after == before
    assert "pl4nted" not in changed.replace('name = "pl4nted"', "")


# Archives


GOOD_CONFIG = b'name = "x"\n'


def hostile(saved: Path) -> dict[str, list[tuple[tarfile.TarInfo, bytes]]]:
    store = members(saved)["store.db"]
    config, good = member(CONFIG_FILE, GOOD_CONFIG), member("store.db", store)
    return {
        "nothing": [],
        "no store": [config],
        "no configuration": [good],
        "a name above": [config, good, member("../evil", b"x")],
        "an absolute name": [config, good, member("/tmp/evil", b"x")],
        "a member more": [config, good, member("session.key", b"x")],
        "a name with a dot": [config, member("./store.db", store)],
        "a member twice": [config, good, member("store.db", store)],
        "the configuration twice": [config, good, config],
        "a link": [config, member("store.db", type=tarfile.SYMTYPE, linkname="/etc/passwd")],
        "a hard link": [config, good, member("store.db", type=tarfile.LNKTYPE, linkname=CONFIG_FILE)],
        "a hard link first": [member(CONFIG_FILE, type=tarfile.LNKTYPE, linkname="/etc/passwd"), good],
        "a device": [config, member("store.db", type=tarfile.CHRTYPE, devmajor=1, devminor=5)],
        "a pipe": [config, member("store.db", type=tarfile.FIFOTYPE)],
        "a directory": [config, member("store.db", type=tarfile.DIRTYPE)],
        "a directory of that name, then a file": [config, member("store.db", type=tarfile.DIRTYPE), good],
        "a large configuration": [member(CONFIG_FILE, b"#" * (1 << 21)), good],
        "no TOML": [member(CONFIG_FILE, b"\xff\x00"), good],
        "TOML without end": [member(CONFIG_FILE, b"a = " + b"[" * 100_000), good],
        "an unknown setting": [member(CONFIG_FILE, b"evil = 1\n"), good],
        "a store elsewhere": [member(CONFIG_FILE, b'[store]\nlocation = "/tmp/evil.db"\n'), good],
        "a store above": [member(CONFIG_FILE, b'[store]\nlocation = "../evil.db"\n'), good],
        "a store at home": [member(CONFIG_FILE, b'[store]\nlocation = "~/evil.db"\n'), good],
        "a store by a driver": [member(CONFIG_FILE, b'[store]\nlocation = "sqlite:////tmp/evil.db"\n'), good],
        "a store on a server": [member(CONFIG_FILE, b'[store]\nlocation = "postgresql://evil.example/x"\n'), good],
        "a store in a folder that is not there": [
            member(CONFIG_FILE, b'[store]\nlocation = "nowhere/knickpoint.db"\n'),
            good,
        ],
        "a store in the place of the configuration": [
            member(CONFIG_FILE, b'[store]\nlocation = "knickpoint.toml/../x/y"\n'),
            good,
        ],
        "no database": [config, member("store.db", b"SQLite format 3\x00" + bytes(4000))],
        "an empty store": [config, member("store.db", b"")],
        "a store cut short": [config, member("store.db", store[: len(store) // 2])],
    }


def refused(path: Path, directory: Path) -> str:
    """Restore and return the one error; nothing may be left."""
    before = sorted(directory.parent.rglob("*"))
    with pytest.raises(KnickpointError) as error:
        restore_instance(path, directory)
    assert sorted(directory.parent.rglob("*")) == before
    return str(error.value)


def test_a_hostile_archive_is_refused_and_nothing_is_written(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "place").mkdir()
    accepted = []
    for what, entries in hostile(saved).items():
        path = packed(tmp_path / "hostile.tar", *entries)
        before = sorted((tmp_path / "place").rglob("*"))
        try:
            restore_instance(path, tmp_path / "place" / "new")
        except (ConfigError, StoreError):
            pass
        else:
            accepted.append(what)
        assert (what, sorted((tmp_path / "place").rglob("*"))) == (what, before)
    assert accepted == []


def test_a_sparse_member_is_refused(tmp_path: Path) -> None:
    huge = {"GNU.sparse.size": str(1 << 45), "GNU.sparse.map": "0,1"}
    entries = [member(CONFIG_FILE, GOOD_CONFIG), member("store.db", b"x", pax_headers=huge)]
    assert "not a complete backup" in refused(packed(tmp_path / "hostile.tar", *entries), tmp_path / "place")


def test_an_archive_that_is_cut_short_or_packed_is_refused(saved: Path, tmp_path: Path) -> None:
    whole = saved.read_bytes()
    for name, data in {
        "empty": b"",
        "header": whole[:600],
        "half": whole[: len(whole) // 2],
        "text": b"x" * 4000,
    }.items():
        (tmp_path / name).write_bytes(data)
        assert "not a complete backup" in refused(tmp_path / name, tmp_path / "place")
    with tarfile.open(tmp_path / "packed.tar.gz", "w:gz") as archive:
        info, content = member(CONFIG_FILE, bytes(1 << 20))
        archive.addfile(info, io.BytesIO(content))
    assert "not a complete backup" in refused(tmp_path / "packed.tar.gz", tmp_path / "place")


def test_a_member_that_claims_to_be_huge_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path / "hostile.tar", member(CONFIG_FILE, GOOD_CONFIG))
    info = tarfile.TarInfo("store.db")
    info.size = 1 << 50
    path.write_bytes(path.read_bytes()[:1024] + info.tobuf(tarfile.GNU_FORMAT) + bytes(1024))
    assert "not a complete backup" in refused(path, tmp_path / "place")


def with_statements(saved: Path, place: Path, *statements: str) -> Path:
    """Return a copy of a backup in whose store these statements ran."""
    with tarfile.open(saved) as archive:
        archive.extractall(place / "parts", filter="data")
    with closing(sqlite3.connect(place / "parts" / "store.db")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    with tarfile.open(place / "changed.tar", "w") as archive:
        for name in (CONFIG_FILE, "store.db"):
            archive.add(place / "parts" / name, name)
    shutil.rmtree(place / "parts")
    return place / "changed.tar"


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("CREATE TRIGGER evil AFTER INSERT ON line BEGIN DELETE FROM repository; END", "trigger 'evil'"),
        ("CREATE VIEW evil AS SELECT * FROM repository", "view 'evil'"),
        ("CREATE VIRTUAL TABLE evil USING fts5(a)", "virtual table 'evil'"),
        ("CREATE TABLE evil (a)", "remove table evil"),
        ("ALTER TABLE repository ADD COLUMN evil INTEGER DEFAULT 1", "remove column evil"),
        ("CREATE UNIQUE INDEX evil ON repository (location)", "remove index evil"),
        ("DROP TABLE bystander", "add table bystander"),
        ("DROP TRIGGER audit_entry_is_kept", "add trigger audit_entry_is_kept"),
        ("UPDATE alembic_version SET version_num = '9999'", "Upgrade Knickpoint"),
        ("UPDATE alembic_version SET version_num = '0001'", "changed.tar: the backup has schema 0001, this version"),
        ("UPDATE alembic_version SET version_num = 'x'", "unknown schema"),
        ("UPDATE alembic_version SET version_num = 7", "unknown schema"),
        ("INSERT INTO alembic_version VALUES ('0001')", "not a backup"),
        ("DELETE FROM alembic_version", "not a backup"),
        ("DROP TABLE alembic_version", "not a backup"),
    ],
)
def test_a_store_with_parts_of_others_is_refused(saved: Path, tmp_path: Path, statement: str, reason: str) -> None:
    assert reason in refused(with_statements(saved, tmp_path, statement), tmp_path / "place")


def test_a_store_outside_of_the_instance_needs_a_word_of_the_operator(saved: Path, tmp_path: Path) -> None:
    config = f'[store]\nlocation = "{tmp_path / "elsewhere.db"}"\n'.encode()
    path = packed(tmp_path / "b.tar", member(CONFIG_FILE, config), member("store.db", members(saved)["store.db"]))
    assert "--outside" in refused(path, tmp_path / "place")
    restore_instance(path, tmp_path / "place", outside=True)
    assert (tmp_path / "elsewhere.db").exists()


@pytest.mark.postgres
def test_a_backup_is_restored_into_a_store_of_the_other_kind_and_back(
    tmp_path: Path, cluster: Cluster, databases: Databases
) -> None:
    databases.create("moved")
    with create_instance(tmp_path / "embedded") as instance:
        instance.store.commits.add_repository("main")
        backup_instance(instance, tmp_path / "embedded.tar")
    restore_instance(tmp_path / "embedded.tar", tmp_path / "served", store=cluster.url("moved"))
    with open_instance(tmp_path / "served") as instance:
        assert instance.config.store.location == cluster.url("moved")
        backup_instance(instance, tmp_path / "served.tar")
        instance.store.database.engine.dispose()
    restore_instance(tmp_path / "served.tar", tmp_path / "back", store="knickpoint.db")
    with open_instance(tmp_path / "back") as instance:
        assert (tmp_path / "back" / "knickpoint.db").exists()
        assert [each.name for each in instance.store.commits.repositories()] == ["main"]
    databases.drop("moved")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", '[store]\nlocation = "new.db"\n\n'),
        ('name = "a"\n[nats]\n', 'name = "a"\n\n[store]\nlocation = "new.db"\n\n[nats]\n'),
        (
            '# kept\n[store]\nlocation = "a"  # gone\nreplicas = ["b"]\n# kept too\n\n[nats]\nreplicas = 3\n',
            '# kept\n[store]\nlocation = "new.db"\n# kept too\n\n[nats]\nreplicas = 3\n',
        ),
        ('store = { location = "a" }\n', '[store]\nlocation = "new.db"\n'),
        ('[store]\nreplicas = [\n  "b",\n]\n', '[store]\nlocation = "new.db"\n'),
    ],
)
def test_another_place_of_the_store_leaves_the_rest_of_a_configuration_as_it_is(text: str, expected: str) -> None:
    assert with_store(text, "new.db") == expected
