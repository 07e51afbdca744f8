"""Remember what alerts judged at their last look, so that what did not change is not judged again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from knickpoint.store.database import Database
from knickpoint.store.tables.findings import judged as table

__all__ = ["DigestTable"]

_CHUNK: Final = 1024
_NUMBER: Final = np.dtype("<u8")


class DigestTable:
    """Hold one number for each alert and trace: a digest of all that the judgement depended on, 0 for none."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, alert: str, ids: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the digests of the traces ``ids`` (ascending), 0 where there is none."""
        found = np.zeros(len(ids), dtype=np.uint64)
        with self._database.reading() as connection:
            for place, digests in self._held(connection, alert, ids):
                found[place] = digests[ids[place] % _CHUNK]
        return found

    def set(self, alert: str, ids: NDArray[np.int64], digests: NDArray[np.uint64]) -> None:
        """Write the digests of the traces ``ids`` (ascending), in the transaction of the caller."""
        if not len(ids):
            return
        with self._database.transaction() as connection:
            known = {int(ids[place.start]) // _CHUNK: held for place, held in self._held(connection, alert, ids)}
            rows = []
            for chunk, place in _chunks(ids):
                held = known.get(chunk, np.zeros(_CHUNK, dtype=_NUMBER)).copy()
                held[ids[place] % _CHUNK] = digests[place]
                rows.append({"alert": alert, "chunk": chunk, "digests": held.tobytes()})
            insert = self._database.insert(table)
            changing = {"digests": insert.excluded.digests}
            connection.execute(insert.on_conflict_do_update(index_elements=["alert", "chunk"], set_=changing), rows)

    def forget(self, alert: str) -> None:
        """Drop everything of ``alert``."""
        with self._database.transaction() as connection:
            connection.execute(table.delete().where(table.c.alert == alert))

    def _held(
        self, connection: Connection, alert: str, ids: NDArray[np.int64]
    ) -> Iterator[tuple[slice, NDArray[np.uint64]]]:
        """Yield what is stored: the part of ``ids`` that lies in a chunk, and the digests of the chunk."""
        places = dict(_chunks(ids))
        query = select(table.c.chunk, table.c.digests).where(
            table.c.alert == alert, self._database.among(table.c.chunk, "chunks")
        )
        listed = {"chunks": self._database.listed(list(places))}
        for chunk, digests in connection.execute(query, listed):
            yield places[chunk], np.frombuffer(digests, dtype=_NUMBER)


def _chunks(ids: NDArray[np.int64]) -> Iterator[tuple[int, slice]]:
    """Yield each chunk, and the part of ``ids`` that lies in it."""
    chunks, begins = np.unique(ids // _CHUNK, return_index=True)
    ends = np.append(begins[1:], len(ids))[: len(chunks)].tolist()
    for chunk, begin, end in zip(chunks.tolist(), begins.tolist(), ends, strict=True):
        yield chunk, slice(begin, end)
