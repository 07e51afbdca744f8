"""Chunks of the catalogue: 1,024 neighbouring traces in the blobs of one row.

The catalogue holds tens of millions of traces, so a trace is not a row of its own. A chunk keeps columns: the keys as
one compressed text, unit, dimension and direction as packed arrays, and for each name of a param an array of codes
(see :mod:`knickpoint.store.traces.vocabulary`), which queries read without the keys. A trace id names its chunk and
its place there, so a trace is found by id without an index.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.errors import StoreError
from knickpoint.store.array_codec import checked, pack, unpack

CHUNK: Final = 1024
"""Traces in a chunk. Trace ``id`` is number ``id % CHUNK`` of chunk ``id // CHUNK``."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """The traces of a chunk: their repository by id, and keys, units by number and directions by code."""

    repository: int
    keys: list[str]
    units: list[int]
    betters: list[int]

    @classmethod
    def of(cls, row: Any) -> StoredChunk:
        """Read a row of the table."""
        unit, _, better = unpack(row.facts, 3)
        keys = _keys_text(row.keys).split("\n")
        return cls(row.repository_id, keys, unit.tolist(), better.tolist())


def _keys_text(packed: bytes) -> str:
    """Return the keys of a chunk, a line each.

    Raises:
        StoreError: they are damaged.
    """
    try:
        return zlib.decompress(packed).decode()
    except (zlib.error, UnicodeDecodeError) as error:
        raise StoreError(
            f"keys of traces are damaged ({error})", remedy="Restore the newest backup with knick restore."
        ) from error


def extended(
    old: Any, names: Sequence[str], facts: NDArray[np.int64], columns: Mapping[int, NDArray[np.int64]]
) -> dict[str, object]:
    """Return the blobs of a chunk with more traces at its end."""
    before = 0
    texts = "\n".join(names)
    whole = dict(columns)
    if old is not None:
        before = old.count
        texts = _keys_text(old.keys) + "\n" + texts
        facts = np.concatenate([np.stack(unpack(old.facts, 3), axis=1), facts])
        known = _unpack_codes(old.codes)
        for name in known.keys() | columns.keys():
            head = known.get(name, np.zeros(before, dtype=np.int64))
            tail = columns.get(name, np.zeros(len(names), dtype=np.int64))
            whole[name] = np.concatenate([head, tail])
    ordered = sorted(name for name, column in whole.items() if column.any())
    return {
        "count": before + len(names),
        "facts": checked(pack(facts[:, 0], facts[:, 1], facts[:, 2])),
        "codes": checked(pack(np.array(ordered, dtype=np.int64), *(whole[name] for name in ordered))),
        "keys": zlib.compress(texts.encode(), 1),
    }


def free_places(count: int, last: int, held: int, next_chunk: int) -> list[tuple[int, int, slice]]:
    """Return the places of ``count`` new traces: chunk, first place in it, and the part of the new ones.

    Chunk ``last`` has ``held`` traces and is filled up first; the others go to chunks from ``next_chunk`` on.
    """
    places: list[tuple[int, int, slice]] = []
    done = min(count, CHUNK - held)
    if done:
        places.append((last, held, slice(0, done)))
    while done < count:
        end = min(count, done + CHUNK)
        places.append((next_chunk, 0, slice(done, end)))
        next_chunk, done = next_chunk + 1, end
    return places


def _unpack_codes(data: bytes) -> dict[int, NDArray[np.int64]]:
    """Return name id → code of each trace of a chunk."""
    (names,) = unpack(data, 1)
    columns = unpack(data, 1 + len(names))[1:]
    return dict(zip(names.tolist(), columns, strict=True))
