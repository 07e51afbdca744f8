"""PostgreSQL goes back to a moment before an accident, on another server, by its own means."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from tests.instance.disturbance import live, results, values
from tests.instance.test_worker import Clock
from tests.store.conftest import Cluster, free_port
from tests.store.conftest import own_cluster as own_cluster  # noqa: PLC0414  # a fixture
from tests.waiting import wait_until

from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import CONFIG_FILE, Instance, Worker, create_instance, open_instance
from knickpoint.model.change_point import Status

pytestmark = pytest.mark.postgres

_ACCIDENT = "TRUNCATE hot_tile, sealed_tile, segment, run, change_point, decision"


def put(instance: Instance, numbers: range) -> None:
    for number in numbers:
        import_data(instance, results(number), source=f"upload:{number}", stated=Sidecar(repository="main"))
    Worker(instance, clock=Clock()).step()


def ask(cluster: Cluster, question: str, database: str = "lab") -> str:
    with psycopg.connect(cluster.url(database), autocommit=True) as connection:
        (answer,) = connection.execute(question.encode()).fetchone() or ("",)
        return str(answer)


def archive(cluster: Cluster) -> Path:
    """Have the server keep its log of transactions in a folder beside its data.

    A file is there only when it is whole: a server that is stopped leaves a copy under way behind.
    """
    folder = cluster.data.with_name("archive")
    command = f"mkdir -p {folder} && cp %p {folder}/%f.part && mv {folder}/%f.part {folder}/%f"
    for setting, value in (("archive_mode", "on"), ("archive_command", command)):
        cluster.execute(f"ALTER SYSTEM SET {setting} = '{value}'")
    cluster.stop()
    cluster.start()
    return folder


def restored(cluster: Cluster, base: Path, archived: Path, moment: str) -> Cluster:
    """Start the copy ``base`` of the server, and have it repeat what was archived until ``moment``."""
    with (base / "postgresql.auto.conf").open("a", encoding="utf-8") as settings:
        settings.write(f"archive_mode = off\nrestore_command = 'cp {archived}/%f %p'\n")
        settings.write(f"recovery_target_time = '{moment}'\nrecovery_target_action = promote\n")
    (base / "recovery.signal").touch()
    server = replace(cluster, data=base, port=free_port())
    server.start()
    wait_until("it repeated the last transactions", lambda: ask(server, "SELECT pg_is_in_recovery()") == "False")
    return server


@pytest.mark.long
def test_an_instance_goes_back_to_the_moment_before_an_accident(own_cluster: Cluster, tmp_path: Path) -> None:
    archived = archive(own_cluster)
    own_cluster.execute("CREATE DATABASE lab")
    base = own_cluster.data.with_name("base")
    here = tmp_path / "here"
    with create_instance(here, store=own_cluster.url("lab"), repositories={"main": ""}, as_work=True) as instance:
        put(instance, range(30))
        source = ("-h", "127.0.0.1", "-p", str(own_cluster.port), "-U", "postgres")
        own_cluster.run("pg_basebackup", *source, "-D", str(base), "-c", "fast", "--no-sync")
        put(instance, range(30, 40))
        first = live(instance)
        point = instance.store.findings.points(range(1, 100))[0].id
        instance.store.findings.triage.decide([point], Status.HIDDEN, "ada")
        expected = values(instance)
    moment = ask(own_cluster, "SELECT clock_timestamp()")
    own_cluster.execute(_ACCIDENT, "lab")
    last = ask(own_cluster, "SELECT pg_walfile_name(pg_switch_wal())")
    wait_until("the server archived the end of its log", (archived / last).exists)
    own_cluster.stop()

    server = restored(own_cluster, base, archived, moment)
    there = tmp_path / "there"
    there.mkdir()
    known = (here / CONFIG_FILE).read_text(encoding="utf-8")
    (there / CONFIG_FILE).write_text(known.replace(f":{own_cluster.port}/", f":{server.port}/"), encoding="utf-8")
    with open_instance(there) as instance:
        assert (values(instance), live(instance)) == (expected, first)
        (found,) = instance.store.findings.points([point])
        assert found.status is Status.HIDDEN
        put(instance, range(30, 45))
        assert [row[:40] for row in values(instance)] == expected
        assert len(values(instance)[0]) == 45
