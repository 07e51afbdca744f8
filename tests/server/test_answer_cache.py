"""An answer is kept for as long as the store holds the same data, and given to all who may read as much."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from tests.instance.disturbance import results
from tests.instance.test_worker import Clock
from tests.server.client import Client
from tests.store.conftest import Cluster, temporary_cluster
from tests.store.conftest import own_cluster as own_cluster  # noqa: PLC0414  # a fixture
from tests.waiting import wait_until
from tests.watch.conftest import asked as asked  # noqa: PLC0414  # a fixture

from knickpoint.answers.triage import LastEntryAnswer
from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import Instance, Worker, create_instance
from knickpoint.model.errors import InputError
from knickpoint.server import create_app
from knickpoint.server.reads import AnswerCache
from knickpoint.store import Store, create_store, open_store
from knickpoint.store.data_changes import HOUSEKEEPING
from knickpoint.store.events import EventKind, FindingsChanged

_NUMBERS = count()


class Builder:
    """Build an answer that says which one it is."""

    def __init__(self) -> None:
        self.built = 0

    def __call__(self) -> LastEntryAnswer:
        self.built += 1
        return LastEntryAnswer(entry=self.built)


@pytest.fixture(scope="module")
def alone() -> Iterator[Cluster]:
    """Start a server for this module, with a store to copy: what is written elsewhere on a server ends an answer, too."""
    with temporary_cluster() as made:
        made.execute("CREATE DATABASE template_lab")
        create_store(made.url("template_lab")).close()
        yield made


@pytest.fixture
def location(alone: Cluster) -> str:
    name = f"lab_{next(_NUMBERS)}"
    alone.execute(f"CREATE DATABASE {name} TEMPLATE template_lab")
    return alone.url(name)


@pytest.fixture
def store(location: str) -> Iterator[Store]:
    with open_store(location) as made:
        yield made


@pytest.mark.postgres
def test_an_answer_is_built_once_while_nothing_is_written(store: Store) -> None:
    kept, build = AnswerCache(), Builder()
    assert [kept.get(store, "question", build).json for _ in range(3)] == [b'{"entry":1}'] * 3


@pytest.mark.postgres
def test_another_question_has_an_answer_of_its_own(store: Store) -> None:
    kept, build = AnswerCache(), Builder()
    assert [kept.get(store, question, build).json for question in ("one", "other", "one")] == [
        b'{"entry":1}',
        b'{"entry":2}',
        b'{"entry":1}',
    ]


@pytest.mark.postgres
def test_what_any_process_writes_ends_an_answer(store: Store, location: str) -> None:
    kept, build = AnswerCache(), Builder()
    kept.get(store, "question", build)
    with open_store(location) as elsewhere:
        elsewhere.commits.add_repository("main")
    assert kept.get(store, "question", build).json == b'{"entry":2}'


@pytest.mark.postgres
def test_a_write_counts_from_its_commit_on(store: Store) -> None:
    """An answer that was read while a write was under way does not have it, and ends when it takes place."""
    kept, build = AnswerCache(), Builder()
    begun, read = threading.Event(), threading.Event()

    def write() -> None:
        with store.transaction():
            store.commits.add_repository("main")
            begun.set()
            assert read.wait(30)

    writer = threading.Thread(target=write)
    writer.start()
    assert begun.wait(30)
    answers = [kept.get(store, "question", build).json for _ in range(2)]
    read.set()
    writer.join()
    assert answers == [b'{"entry":1}'] * 2
    assert kept.get(store, "question", build).json == b'{"entry":2}'


@pytest.mark.postgres
def test_who_asks_while_an_answer_is_built_waits_for_it(store: Store) -> None:
    kept, count = AnswerCache(), Builder()
    building, asked = threading.Event(), threading.Event()

    def build() -> LastEntryAnswer:
        building.set()
        assert asked.wait(30)
        return count()

    answers: list[bytes] = []
    first, second = (
        threading.Thread(target=lambda: answers.append(kept.get(store, "question", build).json)) for _ in range(2)
    )
    first.start()
    assert building.wait(30)
    second.start()
    asked.set()
    first.join()
    second.join()
    assert answers == [b'{"entry":1}'] * 2


@pytest.mark.postgres
def test_an_answer_that_failed_is_not_kept(store: Store) -> None:
    def refuse() -> LastEntryAnswer:
        raise InputError("there is none")

    kept, build = AnswerCache(), Builder()
    with pytest.raises(InputError, match="there is none"):
        kept.get(store, "question", refuse)
    assert kept.get(store, "question", build).json == b'{"entry":1}'


@pytest.mark.postgres
def test_a_large_answer_is_not_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knickpoint.server.reads._MOST_BYTES", 10)
    kept, build = AnswerCache(), Builder()
    assert [kept.get(store, "question", build).json for _ in range(2)] == [b'{"entry":1}', b'{"entry":2}']


@pytest.mark.postgres
def test_the_oldest_of_many_answers_goes(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knickpoint.server.reads._MOST", 2)
    kept, build = AnswerCache(), Builder()
    for question in (1, 2, 1, 3, 1, 2):
        kept.get(store, question, build)
    assert build.built == 4


@pytest.mark.postgres
def test_the_oldest_answers_make_room_for_the_bytes_of_newer_ones(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knickpoint.server.reads._MOST_TOGETHER", 70)
    kept, build = AnswerCache(), Builder()  # each answer has about 31 bytes
    for question in (1, 2, 3, 2, 3, 1):
        kept.get(store, question, build)
    assert build.built == 4


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Store]:
    with create_store(tmp_path / "store.db") as made:
        yield made


def test_an_answer_from_the_embedded_database_is_built_once_while_nothing_is_written(embedded: Store) -> None:
    kept, build = AnswerCache(), Builder()
    assert [kept.get(embedded, "question", build).json for _ in range(3)] == [b'{"entry":1}'] * 3


def test_a_write_to_the_embedded_database_ends_an_answer(embedded: Store) -> None:
    kept, build = AnswerCache(), Builder()
    kept.get(embedded, "question", build)
    embedded.commits.add_repository("main")
    assert kept.get(embedded, "question", build).json == b'{"entry":2}'


def test_what_another_process_writes_to_the_embedded_database_ends_an_answer(embedded: Store, tmp_path: Path) -> None:
    kept, build = AnswerCache(), Builder()
    kept.get(embedded, "question", build)
    write = (
        "import sys; from knickpoint.store import open_store; open_store(sys.argv[1]).commits.add_repository('main')"
    )
    subprocess.run([sys.executable, "-c", write, str(tmp_path / "store.db")], check=True)
    assert kept.get(embedded, "question", build).json == b'{"entry":2}'


def test_a_write_while_an_answer_is_read_from_the_embedded_database_ends_it(embedded: Store) -> None:
    """The answer may have been read before the write, so it is not kept as one that was read after it."""
    kept, count = AnswerCache(), Builder()

    def build() -> LastEntryAnswer:
        writer = threading.Thread(target=lambda: embedded.commits.add_repository("main"))
        writer.start()
        writer.join()
        return count()

    kept.get(embedded, "question", build)
    assert kept.get(embedded, "question", count).json == b'{"entry":2}'


def test_inside_a_snapshot_without_a_name_each_answer_is_read(embedded: Store) -> None:
    kept, build = AnswerCache(), Builder()
    with embedded.database.reading():
        assert [kept.get(embedded, "question", build).json for _ in range(2)] == [b'{"entry":1}', b'{"entry":2}']


@pytest.mark.postgres
def test_work_that_workers_claim_ends_no_answer(store: Store) -> None:
    kept, build = AnswerCache(), Builder()
    kept.get(store, "question", build)
    store.workers.report("one", started=1.0)
    store.outbox.publish(FindingsChanged("main", 1, (), (), 0, False, 0, 0, 0, 0, 0))
    (claimed,) = store.outbox.claim([EventKind.CHANGES_UPDATED], "one", 60.0, 1)
    store.outbox.done(claimed)
    assert kept.get(store, "question", build).json == b'{"entry":1}'


@pytest.mark.postgres
def test_a_standby_is_read_again_when_it_has_repeated_a_write(own_cluster: Cluster) -> None:
    own_cluster.execute("CREATE DATABASE lab")
    create_store(own_cluster.url("lab")).close()
    standby = own_cluster.standby(own_cluster.data.with_name("standby"))
    try:
        kept, build = AnswerCache(), Builder()
        with open_store(own_cluster.url("lab")) as store, open_store(standby.url("lab")) as replica:
            assert [kept.get(replica, "question", build).json for _ in range(2)] == [b'{"entry":1}'] * 2
            store.commits.add_repository("main")
            wait_until("the standby has repeated it", lambda: bool(replica.commits.repositories()))
            assert kept.get(replica, "question", build).json == b'{"entry":2}'
    finally:
        standby.stop()


@pytest.mark.parametrize(
    "path",
    [
        "changes?members=5",
        "changes?condition=recovered&alert_kind=canary",
        "overview?since=1970-01-01T00:00:00Z",
        "commits?limit=100",
        "trends?by=benchmark",
        "alert-quality",
        "changes/1/breakdown",
        "missing",
        "notices",
    ],
)
def test_no_cached_answer_reads_what_ends_none(path: str, instance: Instance, asked: list[str]) -> None:
    assert Client(create_app(instance)).get(f"/api/v1/{path}").status_code == 200
    named = {word for statement in asked for word in re.findall(r"\w+", statement)}
    assert "repository" in named
    assert named & HOUSEKEEPING == set()


@pytest.mark.long
@pytest.mark.postgres
def test_a_list_shows_each_decision_at_once(alone: Cluster, tmp_path: Path) -> None:
    alone.execute("CREATE DATABASE listed")
    with create_instance(
        tmp_path / "here", store=alone.url("listed"), repositories={"main": ""}, as_work=True
    ) as instance:
        for number in range(40):
            import_data(instance, results(number), source=f"upload:{number}", stated=Sidecar(repository="main"))
        Worker(instance, clock=Clock()).step()
        client = Client(create_app(instance))
        pages = ("/api/v1/changes", "/api/v1/overview?since=2026-01-01T00:00:00Z")
        before = [[client.get(page).json() for page in pages] for _ in range(2)]
        assert before[0] == before[1]
        (change,) = before[0][0]["changes"]
        client.post("/api/v1/triage", json={"changes": [change["id"]], "status": "hidden"})
        listed, overview = (client.get(page).json() for page in pages)
    assert listed["changes"] == []
    assert (before[0][1]["waiting"], overview["waiting"]) == (1, 0)
    assert (len(before[0][1]["largest"]), overview["largest"]) == (1, [])
