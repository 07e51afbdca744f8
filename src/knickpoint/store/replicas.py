"""Several PostgreSQL servers of one store: standbys that answer reads, and primaries that must not be two."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Final

from sqlalchemy import text

from knickpoint.model.errors import StoreError
from knickpoint.store.database import Database
from knickpoint.store.database_engine import replica_location, servers_of
from knickpoint.store.schema import HEAD
from knickpoint.store.store import Store

# Read from PostgreSQL servers that follow the primary, as far as they have come.
#
# A replica repeats the log of the primary, a moment later. So it may answer who has seen nothing newer than what it
# repeated: each answer to a write gives the position of the log behind that write, and each read names the position
# that it must see. A replica has a store object of its own, because what a store keeps in memory may not be newer than
# what it reads.


MOST_BEHIND_SECONDS: Final = 20.0
"""A replica answers if it has repeated what the primary had written this long ago."""

_CHECK_SECONDS: Final = 1.0
"""How often the primary is asked how far it has come, and each replica whether it is there, while anybody reads."""

_WRITTEN: Final = text(
    "SELECT pg_wal_lsn_diff(CASE current_setting('synchronous_commit') WHEN 'off' THEN pg_current_wal_insert_lsn()"
    " ELSE pg_current_wal_flush_lsn() END, '0/0')::bigint"
)
"""The end of what was committed. A commit waits until the log is on the disk, unless the server is set not to.

What comes behind
that, such as a note of the server to itself, may get to a replica fifteen seconds later.
"""

_REPEATED: Final = text(
    "SELECT pg_is_in_recovery(), coalesce(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0'), 0)::bigint,"
    " (SELECT max(version_num) FROM alembic_version)"
)


@dataclass(frozen=True, slots=True)
class _Standing:
    """Where a server stands: whether it follows another one, how far it has come, and the schema of its store."""

    follows: bool
    position: int
    schema: str


class _Replica:
    """One server, its store, and what is wrong with it: "" where it may answer."""

    def __init__(self, server: str, location: str, prepare: Callable[[Store], None]) -> None:
        self.server = server
        self.problem = ""
        self.gone = False
        self._location = location
        self._prepare = prepare
        self.store = self._made()
        self._position = 0

    def standing(self) -> _Standing:
        """Ask the server where it stands.

        Raises:
            StoreError: it does not answer.
        """
        before = self._position
        try:
            with self.store.database.reading() as connection:
                follows, position, schema = connection.execute(_REPEATED).one()
        except StoreError:
            self.gone = True
            raise
        # A server that came back, or was made anew, may have less than what its store object remembers.
        if self.gone or position < before:
            self._renew()
        self.gone, self._position = False, int(position)
        return _Standing(bool(follows), int(position), str(schema))

    def close(self) -> None:
        """Close its connections."""
        self.store.close()

    def _renew(self) -> None:
        before, self.store = self.store, self._made()
        before.close()  # connections in use are closed when they are given back

    def _made(self) -> Store:
        store = Store(Database(self._location))
        self._prepare(store)
        return store


class Replicas:
    """The replicas of a store, which answer in turn; safe to use from many threads.

    Nothing is asked before the first read, and nothing while nobody reads. Then the primary answers the first read.
    """

    def __init__(
        self,
        primary: Store,
        location: str,
        servers: Sequence[str],
        prepare: Callable[[Store], None] = lambda _: None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Name the ``servers``; ``prepare`` sets up the store object of each.

        Raises:
            StoreError: a server cannot be read.
        """
        self._primary = primary
        self._replicas = [_Replica(each, replica_location(location, each), prepare) for each in servers]
        self._clock = clock
        self._targets: deque[tuple[float, int]] = deque()
        self._turn = count()
        self._checking = threading.Lock()

    def __bool__(self) -> bool:
        """Return True if there are any."""
        return bool(self._replicas)

    def written(self) -> int:
        """Return the position in the log behind everything that was written until now.

        Raises:
            StoreError: the primary does not answer.
        """
        with self._primary.database.reading() as connection:
            return int(connection.execute(_WRITTEN).scalar_one())

    def store_for(self, position: int) -> Store | None:
        """Return the store of a replica that has repeated the log up to ``position``.

        None where the primary has to answer.
        """
        found = self._chosen(position)
        if self._replicas:
            self._check_soon()
        return found

    def _chosen(self, position: int) -> Store | None:
        """Return the store of the first replica, from the one whose turn it is, that has come far enough."""
        first = next(self._turn)
        for number in range(len(self._replicas)):
            replica = self._replicas[(first + number) % len(self._replicas)]
            if replica.gone:
                continue
            with suppress(StoreError):
                standing = replica.standing()
                if standing.position >= position and self._may_answer(standing):
                    return replica.store
        return None

    def check(self) -> None:
        """Ask the primary how far it has come, and each replica where it stands."""
        with self._checking:
            with suppress(StoreError):
                self._targets.append((self._clock(), self.written()))
            # By age, not by number: however often health is asked for, one look is older than a replica may be behind.
            oldest = self._clock() - MOST_BEHIND_SECONDS
            while len(self._targets) > 1 and self._targets[1][0] < oldest:
                self._targets.popleft()
            for replica in self._replicas:
                try:
                    replica.problem = self._problem(replica.standing())
                except StoreError as error:
                    replica.problem = f"does not answer: {error.message}"

    def problems(self) -> list[str]:
        """Return the present problem of each faulty replica; the primary answers in its place."""
        if not self._replicas:
            return []
        self.check()
        return [f"replica {each.server} {each.problem}" for each in self._replicas if each.problem]

    def close(self) -> None:
        """Close the connections to all replicas."""
        for replica in self._replicas:
            replica.close()

    def _check_soon(self) -> None:
        """Have another thread check, unless that was done lately or is under way: an unreachable server is slow."""
        recent = bool(self._targets) and self._clock() - self._targets[-1][0] < _CHECK_SECONDS
        if not recent and not self._checking.locked():
            threading.Thread(target=self.check, name="knickpoint-replicas", daemon=True).start()

    def _may_answer(self, standing: _Standing) -> bool:
        return standing.follows and standing.schema >= HEAD and self._keeps_up(standing)

    def _keeps_up(self, standing: _Standing) -> bool:
        oldest = self._clock() - MOST_BEHIND_SECONDS
        return any(moment >= oldest and position <= standing.position for moment, position in list(self._targets))

    def _problem(self, standing: _Standing) -> str:
        """Return the reason for which a server may not answer, "" for none.

        One that was promoted may not, and is not faulty.
        """
        if not standing.follows:
            return ""
        if standing.schema < HEAD:
            return f"has schema {standing.schema} still, and {HEAD} is needed"
        oldest = self._clock() - MOST_BEHIND_SECONDS
        behind = any(moment < oldest and position > standing.position for moment, position in list(self._targets))
        return f"is more than {MOST_BEHIND_SECONDS:.0f} s behind the primary" if behind else ""


# Notice where several servers of one store take writes: each then has results and decisions that the other lacks.
#
# After a standby was promoted, the former primary may come back, and takes writes as before. Processes that connect
# anew use whichever server of the address answers first.


_PRIMARY_CHECK_SECONDS: Final = 10.0
"""How long an answer counts: monitoring asks more often."""

_STANDING: Final = "SELECT pg_is_in_recovery(), pg_postmaster_start_time()"


class Primaries:
    """The servers of the address of a store; safe for threads. With one server, or without any, nothing is asked."""

    def __init__(self, location: str | Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._servers = servers_of(location)
        self._location = location
        self._clock = clock
        self._lock = threading.Lock()
        self._asked = -_PRIMARY_CHECK_SECONDS
        self._problems: list[str] = []

    def problems(self) -> list[str]:
        """Return that more than one server takes writes, if so. A server that does not answer takes none."""
        if len(self._servers) < 2:
            return []
        with self._lock:
            if self._clock() - self._asked >= _PRIMARY_CHECK_SECONDS:
                self._problems = _problems(self._location, self._servers)
                self._asked = self._clock()
            return list(self._problems)


def _problems(location: str | Path, servers: Sequence[str]) -> list[str]:
    import psycopg

    primaries: dict[object, str] = {}
    for server in servers:
        with suppress(psycopg.Error), psycopg.connect(replica_location(location, server)) as connection:
            row = connection.execute(_STANDING).fetchone()
            if row is not None and not row[0]:
                primaries.setdefault(row[1], server)  # two names of one server are one primary
    if len(primaries) < 2:
        return []
    names = " and ".join(primaries.values())
    return [f"the servers {names} all take writes, and each lacks what another one has: stop those that were replaced"]
