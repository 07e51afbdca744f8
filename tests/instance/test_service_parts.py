"""The parts of an instance, run by different processes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text
from tests.instance.test_worker import Clock, points, with_a_step
from tests.instance.test_worker import instance as instance  # noqa: PLC0414  # a fixture

from knickpoint.instance import Instance, Worker
from knickpoint.instance.worker.heartbeat import check_machine, this_machine
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.service_part import ALL_PARTS, ServicePart, joined_parts, parse_parts
from knickpoint.store import EventKind

INGEST, WORKER = frozenset({ServicePart.INGEST}), frozenset({ServicePart.WORKER})


def test_parts_are_named_in_any_order() -> None:
    assert parse_parts("ingest, api") == {ServicePart.API, ServicePart.INGEST}
    assert joined_parts(parse_parts("ingest,worker,api")) == "api,worker,ingest"
    assert parse_parts(joined_parts(ALL_PARTS)) == ALL_PARTS


@pytest.mark.parametrize(("wrong", "reason"), [("api,web", "'web' is not part"), (" ,", "no part is named")])
def test_a_part_that_does_not_exist_is_refused(wrong: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        parse_parts(wrong)


def test_one_process_imports_and_another_finds(instance: Instance) -> None:
    with_a_step(instance)
    announced: list[str] = []
    worker = Worker(instance, announced.append, clock=Clock(), name="w", parts=WORKER)
    worker.step()
    assert (instance.store.commits.repositories(), announced) == ([], [])
    Worker(instance, clock=Clock(), name="i", parts=INGEST).step()
    assert (points(instance), instance.store.findings.changes(instance.store.commits.repository("main"))) == (
        30,
        [],
    )
    worker.step()
    assert any("1 new change" in line for line in announced)
    assert {each.name: each.parts for each in instance.store.workers.all()} == {"w": WORKER, "i": INGEST}


def test_a_worker_does_nothing_to_a_store_that_a_newer_version_migrated(instance: Instance) -> None:
    with_a_step(instance)
    announced: list[str] = []
    worker = Worker(instance, announced.append, clock=Clock(), name="w")
    with instance.store.transaction() as connection:
        known = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    assert not worker.step()
    assert "has schema 9999" in announced[0]
    assert instance.store.commits.repositories() == []
    assert [each.failures for each in instance.store.workers.all()] == [1]
    with instance.store.database.transaction(alone=False) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :known"), {"known": known})


def test_an_embedded_store_that_another_machine_works_on_is_refused(instance: Instance) -> None:
    instance.store.workers.report("far/1/2", started=1.0, machine="far 0000")
    with pytest.raises(ConfigError, match="far/1/2 on another machine uses this embedded store"):
        check_machine(instance)
    check_machine(instance, datetime.now(UTC) + timedelta(seconds=91))


@pytest.mark.parametrize("kept", [0, 1])
def test_a_container_or_a_machine_that_began_anew_is_the_same_machine(instance: Instance, kept: int) -> None:
    names = this_machine().split()
    if kept >= len(names):
        pytest.skip("this system has no id of its start")
    instance.store.workers.report("one", started=1.0, machine=" ".join(["other", names[kept]]))
    check_machine(instance)


def test_a_worker_that_was_killed_is_forgotten_once_another_one_of_its_machine_replaced_it(instance: Instance) -> None:
    workers = instance.store.workers
    now = datetime.now(UTC).timestamp()
    workers.report("killed", started=now - 100, failures=3, reason="the database is away", machine="here 1")
    workers.report("beside", started=now - 50, machine="here 1")
    assert [each.name for each in workers.all()] == ["beside", "killed"]
    workers.report("elsewhere", started=now + 60, machine="there 2")
    workers.report("importer", started=now + 60, parts=INGEST, machine="here 1")
    assert "killed" in {each.name for each in workers.all()}
    workers.report("next", started=now + 60, machine="here 1")
    workers.report("beside", started=now - 50, machine="here 1")
    assert "killed" not in {each.name for each in workers.all()}


def test_events_of_a_worker_that_ends_early_are_given_back(instance: Instance) -> None:
    with_a_step(instance)
    Worker(instance, clock=Clock(), parts=INGEST).step()
    held = instance.store.outbox.claim([EventKind.TRACES_CHANGED], "w", 300, 100)
    assert held
    assert instance.store.outbox.claim([EventKind.TRACES_CHANGED], "v", 300, 100) == []
    assert Worker(instance, name="w").release() == len(held)
    again = instance.store.outbox.claim([EventKind.TRACES_CHANGED], "v", 300, 100)
    assert [(each.id, each.attempts) for each in again] == [(each.id, 1) for each in held]


class Measured:
    """Keeps what a worker measures."""

    def __init__(self) -> None:
        self.methods: set[str] = set()
        self.delays: list[float] = []

    def detected(self, method: str, seconds: float, traces: int) -> None:
        if seconds > 0 and traces == 1:
            self.methods.add(method)

    def judged(self, seconds: float) -> None:
        self.delays.append(seconds)


def test_a_worker_measures_how_long_methods_take_and_results_wait(instance: Instance) -> None:
    with_a_step(instance)
    measured = Measured()
    Worker(instance, clock=Clock(), measures=measured).step()
    assert measured.methods == {"default"}
    assert len(measured.delays) == 30
    assert all(0 <= delay < 60 for delay in measured.delays)
