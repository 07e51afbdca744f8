"""A store that is read from servers which follow the primary: real ones, which are held back, ended and promoted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from sqlalchemy.engine import make_url
from tests.store.conftest import Cluster
from tests.waiting import wait_until

from knickpoint.model.direction import DirectionRule
from knickpoint.model.errors import StoreError
from knickpoint.model.query import parse_query
from knickpoint.model.unit_names import Better
from knickpoint.store import Replicas, Store, create_store
from knickpoint.store.database_engine import replica_location
from knickpoint.store.replicas import MOST_BEHIND_SECONDS


@dataclass
class Clock:
    """A clock that the test moves."""

    seconds: float = 0.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class Pair:
    """A primary with a store, and a server that follows it."""

    primary: Cluster
    standby: Cluster
    store: Store
    replicas: Replicas
    clock: Clock

    def names(self, position: int = 0) -> set[str] | None:
        """Return the repositories as a replica has them, None where the primary has to answer."""
        found = self.replicas.store_for(position)
        return None if found is None else {each.name for each in found.commits.repositories()}

    def write(self, name: str) -> int:
        self.store.commits.add_repository(name)
        return self.replicas.written()

    def hold(self) -> None:
        """Have the standby repeat nothing more."""
        self.standby.execute("SELECT pg_wal_replay_pause()")

    def go_on(self) -> None:
        self.standby.execute("SELECT pg_wal_replay_resume()")

    def keeps_up(self) -> bool:
        self.replicas.check()
        return self.names() is not None


@pytest.fixture
def pair(own_cluster: Cluster) -> Iterator[Pair]:
    own_cluster.execute("CREATE DATABASE lab")
    with create_store(own_cluster.url("lab")) as store:
        standby = own_cluster.standby(own_cluster.data.with_name("standby"))
        clock = Clock()
        servers = [f"127.0.0.1:{standby.port}"]
        replicas = Replicas(store, own_cluster.url("lab"), servers, clock=clock)
        made = Pair(own_cluster, standby, store, replicas, clock)
        wait_until("the standby keeps up", made.keeps_up)
        yield made
        replicas.close()


@pytest.mark.postgres
def test_a_replica_answers_what_it_has_repeated(pair: Pair) -> None:
    position = pair.write("main")
    wait_until("the standby has it", lambda: pair.names(position) == {"main"})


@pytest.mark.postgres
def test_who_wrote_something_is_not_answered_by_a_replica_that_does_not_have_it(pair: Pair) -> None:
    pair.hold()
    position = pair.write("main")
    assert pair.names() == set()
    assert pair.names(position) is None
    pair.go_on()
    wait_until("the standby has it", lambda: pair.names(position) == {"main"})


@pytest.mark.postgres
def test_what_the_server_notes_to_itself_keeps_no_replica_behind(pair: Pair) -> None:
    """Such a record waits in memory until something is committed, or for fifteen seconds."""
    written = pair.write("main")
    wait_until("the standby has it", lambda: pair.names(written) == {"main"})
    pair.primary.execute("SELECT pg_logical_emit_message(false, 'note', 'to itself')", "lab")
    position = pair.replicas.written()
    wait_until("the standby has it", lambda: pair.names(position) == {"main"}, seconds=5)


@pytest.mark.long
@pytest.mark.postgres
def test_a_replica_that_is_long_behind_is_left_out_until_it_has_caught_up(pair: Pair) -> None:
    pair.hold()
    pair.write("main")
    pair.replicas.check()
    pair.clock.seconds += MOST_BEHIND_SECONDS + 1
    (problem,) = pair.replicas.problems()
    assert problem == f"replica 127.0.0.1:{pair.standby.port} is more than 20 s behind the primary"
    assert pair.names() is None
    pair.go_on()
    wait_until("it is well", lambda: pair.replicas.problems() == [])
    assert pair.names() == {"main"}


@pytest.mark.postgres
def test_a_replica_is_shown_to_be_behind_however_often_it_is_asked_for(pair: Pair) -> None:
    pair.hold()
    pair.write("main")
    found = []
    for _ in range(250):
        pair.clock.seconds += 0.1
        found = pair.replicas.problems()
    assert found == [f"replica 127.0.0.1:{pair.standby.port} is more than 20 s behind the primary"]


@pytest.mark.postgres
def test_a_replica_that_is_gone_is_left_out_and_comes_back(pair: Pair) -> None:
    pair.standby.stop()
    assert pair.names() is None
    (problem,) = pair.replicas.problems()
    assert problem.startswith(f"replica 127.0.0.1:{pair.standby.port} does not answer")
    position = pair.write("main")
    pair.standby.start()
    wait_until("it is well", lambda: pair.replicas.problems() == [])
    wait_until("it answers", lambda: pair.keeps_up() and pair.names(position) == {"main"})


@pytest.mark.long
@pytest.mark.postgres
def test_a_replica_that_was_promoted_is_left_out_without_a_problem(pair: Pair) -> None:
    pair.standby.promote()
    assert pair.names() is None
    assert pair.replicas.problems() == []


@pytest.mark.long
@pytest.mark.postgres
def test_a_replica_with_an_older_schema_waits_for_the_upgrade(pair: Pair) -> None:
    pair.primary.execute("UPDATE alembic_version SET version_num = '0001'", "lab")
    wait_until("the standby has it", lambda: pair.replicas.problems() != [])
    assert "has schema 0001 still" in pair.replicas.problems()[0]
    assert pair.names() is None


@pytest.mark.long
@pytest.mark.postgres
def test_the_primary_answers_until_a_replica_was_asked(pair: Pair) -> None:
    fresh = Replicas(pair.store, pair.primary.url("lab"), [f"127.0.0.1:{pair.standby.port}"])
    try:
        assert fresh.store_for(0) is None
        fresh.check()
        assert fresh.store_for(0) is not None
    finally:
        fresh.close()


@pytest.mark.long
@pytest.mark.postgres
def test_replicas_answer_in_turn_and_as_the_primary_is_set_up(pair: Pair) -> None:
    rule = DirectionRule(parse_query("a=b"), Better.HIGHER)
    server = f"127.0.0.1:{pair.standby.port}"
    prepared = Replicas(
        pair.store, pair.primary.url("lab"), [server, server], lambda store: store.traces.set_directions([rule])
    )
    try:

        def keep_up() -> bool:
            prepared.check()
            return prepared.store_for(0) is not None

        wait_until("they keep up", keep_up)
        first, second = prepared.store_for(0), prepared.store_for(0)
        assert first is not None
        assert second is not None
        assert first is not second
        assert first.traces.directions == second.traces.directions == (rule,)
    finally:
        prepared.close()


@pytest.mark.parametrize(
    ("location", "server", "host", "port"),
    [
        ("postgresql://u:p@one:7,two:8/lab", "two:8", "two", 8),
        ("postgresql://u:p@one/lab", "[::1]:9", "::1", 9),
        ("postgresql://u:p@one:7/lab?target_session_attrs=read-write", "two", "two", 5432),
    ],
)
def test_a_replica_has_the_address_of_the_store_but_for_the_server(
    location: str, server: str, host: str, port: int
) -> None:
    url = make_url(replica_location(location, server))
    assert (url.username, url.password, url.host, url.port, url.database) == ("u", "p", host, port, "lab")
    assert "target_session_attrs" not in url.query


def test_a_replica_is_given_up_sooner_than_the_primary_unless_the_address_says_when() -> None:
    assert make_url(replica_location("postgresql://one/lab", "two")).query["connect_timeout"] == "2"
    assert make_url(replica_location("postgresql://one/lab?connect_timeout=9", "two")).query["connect_timeout"] == "9"


@pytest.mark.parametrize(
    ("location", "server"), [("here.db", "two"), ("postgresql://u:p@one/lab", "two/other"), ("postgresql://one/l", "")]
)
def test_what_cannot_be_a_replica_is_refused_without_the_password(location: str, server: str) -> None:
    with pytest.raises(StoreError, match="cannot be a replica of the store") as caught:
        replica_location(location, server)
    assert "p@" not in str(caught.value)
