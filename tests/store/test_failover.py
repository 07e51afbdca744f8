"""A store on several PostgreSQL servers, of which one is the primary."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import text
from tests.store.conftest import Cluster
from tests.waiting import wait_until

from knickpoint.access.tokens import create_token, verify_token
from knickpoint.model.access import Permission
from knickpoint.model.errors import StoreError
from knickpoint.store import Store, create_store, open_store
from knickpoint.store.database import Database
from knickpoint.store.database_engine import location_url, shown
from knickpoint.store.replicas import Primaries


@pytest.mark.parametrize(
    ("address", "hosts", "ports"),
    [
        ("postgresql://u:p@one:5432,two:5433/db", "one,two", "5432,5433"),
        ("postgresql://u:p@one,two/db", "one,two", "5432,5432"),
        ("postgresql://u:p@[::1]:7,[fe80::2]/db", "::1,fe80::2", "7,5432"),
        ("postgresql://u:p,q@one,two/db", "one,two", "5432,5432"),
    ],
)
def test_several_servers_are_named_as_libpq_names_them(address: str, hosts: str, ports: str) -> None:
    url = location_url(address)
    assert (url.query["host"], url.query["port"], url.database) == (hosts, ports, "db")


def test_of_several_servers_the_primary_is_used_unless_the_address_says_otherwise() -> None:
    assert location_url("postgresql://one,two/db").query["target_session_attrs"] == "read-write"
    assert location_url("postgresql://one,two/db?target_session_attrs=any").query["target_session_attrs"] == "any"


def test_messages_name_all_servers_and_no_secret() -> None:
    assert (
        shown(location_url("postgresql://u:p@one:1,[::1]/db?sslmode=require")) == "postgresql://u@one:1,[::1]:5432/db"
    )
    assert shown(location_url("postgresql://u@/db?host=one:1&host=two:2")) == "postgresql://u@one:1,two:2/db"


@pytest.mark.parametrize(
    "address", ["postgresql://one,two:x/db", "postgresql://one,/db", "postgresql://u:a@b@one,two/d"]
)
def test_servers_that_cannot_be_read_are_refused(address: str) -> None:
    with pytest.raises(StoreError, match="the address of the store cannot be read"):
        location_url(address)


@pytest.mark.postgres
def test_a_server_and_this_program_give_up_each_other_after_the_time_of_the_address(cluster: Cluster) -> None:
    limits = "tcp_keepalives_idle", "tcp_keepalives_interval", "tcp_keepalives_count", "tcp_user_timeout"
    for parameters, expected in (
        ("", ["10", "5", "3", "25000"]),
        ("?keepalives_idle=2&tcp_user_timeout=4000", ["2", "5", "3", "4000"]),
    ):
        database = Database(cluster.url() + parameters)
        with database.reading() as connection:
            assert [connection.execute(text(f"SHOW {limit}")).scalar_one() for limit in limits] == expected
        database.close()


@pytest.mark.postgres
def test_after_a_standby_was_promoted_an_open_store_writes_there(own_cluster: Cluster) -> None:
    own_cluster.execute("CREATE DATABASE moved")
    create_store(own_cluster.url("moved")).close()
    standby = own_cluster.standby(own_cluster.data.with_name("standby"))
    with open_store(f"postgresql://postgres@127.0.0.1:{standby.port},127.0.0.1:{own_cluster.port}/moved") as store:
        store.commits.add_repository("before")
        with open_store(standby.url("moved")) as copy:
            wait_until("the standby has it", lambda: bool(copy.commits.repositories()))
        own_cluster.stop()
        with pytest.raises(StoreError):
            store.commits.add_repository("meanwhile")
        with pytest.raises(StoreError, match="None of the database servers is a primary"):
            store.commits.add_repository("meanwhile")
        standby.promote()
        store.commits.add_repository("after")
        assert {each.name for each in store.commits.repositories()} == {"before", "after"}


@pytest.mark.postgres
def test_a_write_to_a_standby_says_how_the_primary_is_found(own_cluster: Cluster) -> None:
    own_cluster.execute("CREATE DATABASE copied")
    create_store(own_cluster.url("copied")).close()
    standby = own_cluster.standby(own_cluster.data.with_name("standby"))
    with (
        open_store(standby.url("copied")) as store,
        pytest.raises(StoreError, match="is a standby, which cannot be written"),
    ):
        store.commits.add_repository("main")


@pytest.fixture
def alone(own_cluster: Cluster) -> Iterator[tuple[Store, str]]:
    """Return a store whose server waits with each write for a standby that is away, and the secret of a token."""
    own_cluster.execute("CREATE DATABASE alone")
    with create_store(own_cluster.url("alone")) as store:
        secret = create_token(store, "reader", [Permission.READ], by="test").secret
        own_cluster.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        own_cluster.execute("SELECT pg_reload_conf()")
        wait_until("the server waits for it", lambda: _waits(store))
        yield store, secret


def _waits(store: Store) -> bool:
    with store.database.reading() as connection:
        return bool(connection.execute(text("SHOW synchronous_standby_names")).scalar_one())


@pytest.mark.postgres
@pytest.mark.timeout(60)
def test_reading_with_a_token_waits_for_no_standby(alone: tuple[Store, str]) -> None:
    store, secret = alone
    assert verify_token(store, secret).name == "token:reader"


def both(primary: Cluster, standby: Cluster) -> str:
    return f"postgresql://postgres@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/postgres"


@pytest.mark.postgres
def test_two_servers_that_take_writes_are_named(own_cluster: Cluster) -> None:
    standby = own_cluster.standby(own_cluster.data.with_name("standby"))
    standby.promote()
    (problem,) = Primaries(both(own_cluster, standby)).problems()
    assert problem.startswith(
        f"the servers 127.0.0.1:{own_cluster.port} and 127.0.0.1:{standby.port} all take writes, and each lacks"
    )


@pytest.mark.postgres
def test_a_standby_beside_its_primary_is_as_it_should_be(own_cluster: Cluster) -> None:
    standby = own_cluster.standby(own_cluster.data.with_name("standby"))
    assert Primaries(both(own_cluster, standby)).problems() == []


@pytest.mark.postgres
def test_after_the_former_primary_is_gone_one_server_takes_writes(own_cluster: Cluster) -> None:
    standby = own_cluster.standby(own_cluster.data.with_name("standby"))
    standby.promote()
    now = 0.0
    primaries = Primaries(both(own_cluster, standby), clock=lambda: now)
    assert len(primaries.problems()) == 1
    own_cluster.stop()
    assert len(primaries.problems()) == 1, "the last answer counts for a while"
    now = 10.0
    assert primaries.problems() == []
    own_cluster.start()


@pytest.mark.postgres
def test_two_names_of_one_server_are_one_primary(cluster: Cluster) -> None:
    location = f"postgresql://postgres@127.0.0.1:{cluster.port},localhost:{cluster.port}/postgres"
    assert Primaries(location).problems() == []


@pytest.mark.parametrize("location", ["store.db", "postgresql://nobody@192.0.2.1:1/none"])
def test_where_one_server_is_named_none_is_asked(location: str) -> None:
    assert Primaries(location).problems() == []
