"""Notice where several servers of one store take writes: each then has results and decisions that the other lacks.

After a standby was promoted, the former primary may come back, and takes writes as before. Processes that connect anew use
whichever server of the address answers first.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from knickpoint.store.database_address import replica_location, servers_of

__all__ = ["Primaries"]

_CHECK_SECONDS: Final = 10.0
"""How long an answer counts: monitoring asks more often."""

_STANDING: Final = "SELECT pg_is_in_recovery(), pg_postmaster_start_time()"


class Primaries:
    """The servers of the address of a store; safe for threads. With one server, or without any, nothing is asked."""

    def __init__(self, location: str | Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._servers = servers_of(location)
        self._location = location
        self._clock = clock
        self._lock = threading.Lock()
        self._asked = -_CHECK_SECONDS
        self._problems: list[str] = []

    def problems(self) -> list[str]:
        """Return that more than one server takes writes, if so. A server that does not answer takes none."""
        if len(self._servers) < 2:
            return []
        with self._lock:
            if self._clock() - self._asked >= _CHECK_SECONDS:
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
