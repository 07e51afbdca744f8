"""Remember what alerts last detected in, so that a trace that did not change is not detected in again.

A digest is a number made of all that a detection depends on: the values, the method, its parameters. When the digest of
a trace is the one that was kept, the detection would give the same result, and the alert skips it. Digests of 1,024
neighbouring traces are one row. A further digest of such a row stands for all of its traces, so that a run over everything
need not read the values of a chunk in which nothing changed. A damaged row counts as none, so that its traces are detected in anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, select

from knickpoint.store.array_codec import checked, is_damaged
from knickpoint.store.database import Database
from knickpoint.store.tables.findings import judged as table

__all__ = ["DigestTable"]

_CHUNK: Final = 1024
_DIGEST: Final = np.dtype("<u8")


class DigestTable:
    """Keep one digest for each alert and trace, 0 for none."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, alert: str, ids: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the digests of the traces ``ids`` (ascending), 0 where there is none."""
        found = np.zeros(len(ids), dtype=np.uint64)
        with self._database.reading() as connection:
            for part, digests in self._stored(connection, alert, ids):
                found[part] = digests[ids[part] % _CHUNK]
        return found

    def set(self, alert: str, ids: NDArray[np.int64], digests: NDArray[np.uint64]) -> None:
        """Write the digests of the traces ``ids`` (ascending), in the transaction of the caller."""
        if not len(ids):
            return
        with self._database.transaction() as connection:
            known = {int(ids[part.start]) // _CHUNK: kept for part, kept in self._stored(connection, alert, ids)}
            rows = []
            for chunk, part in _chunks(ids):
                changed = known.get(chunk, np.zeros(_CHUNK, dtype=_DIGEST)).copy()
                changed[ids[part] % _CHUNK] = digests[part]
                rows.append({"alert": alert, "chunk": chunk, "digests": checked(changed.tobytes())})
            insert = self._database.insert(table)
            changing = {"digests": insert.excluded.digests}
            connection.execute(insert.on_conflict_do_update(index_elements=["alert", "chunk"], set_=changing), rows)

    def whole(self, alert: str) -> dict[int, int]:
        """Return the digests of whole chunks at the last run of ``alert`` over everything, by chunk."""
        query = select(table.c.chunk, table.c.whole).where(table.c.alert == alert, table.c.whole.is_not(None))
        with self._database.reading() as connection:
            return {row.chunk: row.whole for row in connection.execute(query)}

    def set_whole(self, alert: str, digests: Mapping[int, int]) -> None:
        """Write the digests of whole chunks, in the transaction of the caller; chunks without digests have none."""
        changing = table.update().where(table.c.alert == alert, table.c.chunk == bindparam("number"))
        rows = [{"number": chunk, "digest": digest} for chunk, digest in sorted(digests.items())]
        if rows:
            with self._database.transaction() as connection:
                connection.execute(changing.values(whole=bindparam("digest")), rows)

    def forget(self, alert: str) -> None:
        """Delete all digests of ``alert``."""
        with self._database.transaction() as connection:
            connection.execute(table.delete().where(table.c.alert == alert))

    def _stored(
        self, connection: Connection, alert: str, ids: NDArray[np.int64]
    ) -> Iterator[tuple[slice, NDArray[np.uint64]]]:
        """Yield, for each stored chunk, the part of ``ids`` that lies in it, and its digests."""
        if not len(ids):
            return
        parts = dict(_chunks(ids))
        query = select(table.c.chunk, table.c.digests).where(
            table.c.alert == alert, self._database.among(table.c.chunk, "chunks")
        )
        listed = {"chunks": self._database.listed(list(parts))}
        for chunk, digests in connection.execute(query, listed):
            if not is_damaged(digests):
                yield parts[chunk], np.frombuffer(digests, dtype=_DIGEST, count=_CHUNK)


def _chunks(ids: NDArray[np.int64]) -> Iterator[tuple[int, slice]]:
    """Yield each chunk, and the part of ``ids`` that lies in it."""
    chunks, begins = np.unique(ids // _CHUNK, return_index=True)
    ends = np.append(begins[1:], len(ids))[: len(chunks)].tolist()
    for chunk, begin, end in zip(chunks.tolist(), begins.tolist(), ends, strict=True):
        yield chunk, slice(begin, end)
