"""Replicas of PostgreSQL answer what is read, and everybody sees their own writes at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from fastapi.routing import APIRoute
from tests.instance.disturbance import results
from tests.instance.test_worker import Clock
from tests.server.client import Client
from tests.store.conftest import Cluster
from tests.store.conftest import own_cluster as own_cluster  # noqa: PLC0414  # a fixture
from tests.waiting import wait_until

from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import CONFIG_FILE, Instance, Worker, create_instance, open_instance
from knickpoint.model.errors import StoreError
from knickpoint.server import create_app
from knickpoint.server.reads import POSITION_COOKIE
from knickpoint.server.routes import routers
from knickpoint.store import Replicas, Store

pytestmark = pytest.mark.postgres


@dataclass
class Replicated:
    """A served instance whose reads a standby answers."""

    instance: Instance
    standby: Cluster
    client: Client

    def listed(self, **headers: str) -> list[int]:
        """Return the changes that are still to be decided."""
        answer = self.client.get("/api/v1/changes", headers=headers)
        assert answer.status_code == 200, answer.text
        return [each["id"] for each in answer.json()["changes"]]

    def hide(self) -> httpx.Response:
        """Decide about everything."""
        body = {"changes": self.listed(), "status": "hidden"}
        return self.client.post("/api/v1/triage", json=body)

    def keeps_up(self) -> bool:
        self.instance.replicas.check()
        return self.instance.replicas.store_for(self.instance.replicas.written()) is not None


@pytest.fixture
def replicated(own_cluster: Cluster, tmp_path: Path) -> Iterator[Replicated]:
    own_cluster.execute("CREATE DATABASE lab")
    here = tmp_path / "here"
    with create_instance(here, store=own_cluster.url("lab"), repositories={"main": ""}, as_work=True) as instance:
        for number in range(40):
            import_data(instance, results(number), source=f"upload:{number}", stated=Sidecar(repository="main"))
        Worker(instance, clock=Clock()).step()
    standby = own_cluster.standby(own_cluster.data.with_name("standby"))
    config = here / CONFIG_FILE
    known = config.read_text(encoding="utf-8")
    setting = f'[store]\nreplicas = ["127.0.0.1:{standby.port}"]\n'
    config.write_text(known.replace("[store]\n", setting), encoding="utf-8")
    with open_instance(here) as instance:
        made = Replicated(instance, standby, Client(create_app(instance)))
        wait_until("the standby keeps up", made.keeps_up)
        yield made


@pytest.mark.long
def test_one_sees_ones_own_decision_at_once_and_others_see_it_when_the_replica_has_it(replicated: Replicated) -> None:
    before = replicated.listed()
    replicated.standby.execute("SELECT pg_wal_replay_pause()")
    decided = replicated.hide()
    assert decided.status_code == 200, decided.text
    cookie = f"{POSITION_COOKIE}={decided.cookies[POSITION_COOKIE]}"
    own = replicated.listed(cookie=cookie)
    assert own != before
    assert replicated.listed() == before
    replicated.standby.execute("SELECT pg_wal_replay_resume()")
    wait_until("the replica has it", lambda: replicated.listed() == own)


@pytest.mark.long
def test_while_a_replica_is_gone_the_primary_answers_and_health_says_so(replicated: Replicated) -> None:
    before = replicated.listed()
    replicated.standby.stop()
    assert replicated.listed() == before
    (trouble,) = replicated.client.get("/api/v1/health").json()["troubles"]
    assert trouble.startswith(f"replica 127.0.0.1:{replicated.standby.port} does not answer")
    replicated.standby.start()
    wait_until("health is well", lambda: replicated.client.get("/api/v1/health").json()["troubles"] == [])


@pytest.mark.long
def test_a_read_whose_replica_is_lost_in_the_middle_is_answered_by_the_primary(
    replicated: Replicated, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, choose, chosen = replicated.listed(), Replicas.store_for, list[Store | None]()

    def choose_and_lose(replicas: Replicas, position: int) -> Store | None:
        chosen.append(choose(replicas, position))
        replicated.standby.stop()
        return chosen[-1]

    monkeypatch.setattr(Replicas, "store_for", choose_and_lose)
    assert replicated.listed() == before
    assert [found is not None for found in chosen] == [True]


@pytest.mark.long
def test_after_a_write_without_a_position_the_primary_answers(
    replicated: Replicated, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Replicas) -> int:
        raise StoreError("the connection was lost")

    with monkeypatch.context() as lost:
        lost.setattr(Replicas, "written", fail)
        position = int(replicated.hide().cookies[POSITION_COOKIE])
    wait_until("the standby keeps up", replicated.keeps_up)
    assert replicated.instance.replicas.store_for(position) is None


@pytest.mark.long
def test_every_read_that_names_nothing_is_answered_by_a_replica(replicated: Replicated) -> None:
    paths = [
        f"/api/v1{route.path}"
        for router in routers()
        for route in router.routes
        if isinstance(route, APIRoute) and "GET" in (route.methods or ()) and "{" not in route.path
    ]
    assert len(paths) > 30
    statuses = {path: replicated.client.get(path).status_code for path in paths}
    assert {path: status for path, status in statuses.items() if status >= 500} == {}


@pytest.mark.long
def test_a_position_that_is_no_number_counts_as_none(replicated: Replicated) -> None:
    assert replicated.listed(cookie=f"{POSITION_COOKIE}=x") == replicated.listed()


@pytest.mark.long
def test_a_read_sets_no_position(replicated: Replicated) -> None:
    assert POSITION_COOKIE not in replicated.client.get("/api/v1/changes").cookies


def test_an_embedded_store_has_no_replicas(instance: Instance) -> None:
    config = instance.directory / CONFIG_FILE
    text = re.sub(r"\[store\]", '[store]\nreplicas = ["db-2"]', config.read_text(encoding="utf-8"))
    config.write_text(text, encoding="utf-8")
    with (
        open_instance(instance.directory) as opened,
        pytest.raises(StoreError, match="cannot be a replica of the store"),
    ):
        create_app(opened)
