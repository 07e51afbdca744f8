"""Print what partitions by chunk would change for the tiles of a billion traces on PostgreSQL.

``python store_partitions.py postgresql://…`` fills two tables of an empty database with a row for each chunk of a
billion traces: one whole, one in 64 partitions of 16,384 chunks. Both answer the same reads in turns, those of a page
(three chunks) and of a shard (390 neighbouring chunks); rates are medians of the rounds. Small tiles stand for large
ones, as rows are found by their index.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Final

import numpy as np
import psycopg
from psycopg import sql

_CHUNKS: Final = 976_563
_PARTITIONS: Final = 64
_WIDTH: Final = 16_384
_ROUNDS: Final = 9
_SECONDS: Final = 1.0
_COLUMNS: Final = "chunk BIGINT, first INT, span INT, width INT, data BYTEA, PRIMARY KEY (chunk, first)"
_SIZE: Final = "SELECT sum(pg_indexes_size(oid)) FROM pg_class WHERE relkind = 'r' AND relname ~ '^{table}'"

_ROWS: Final = (
    "INSERT INTO {} SELECT chunk, 0, 64, 4, decode(repeat('ab', 60), 'hex') FROM generate_series(0, {}) AS chunk"
)
_READ: Final = "SELECT first, data FROM {} WHERE chunk = ANY(%s) ORDER BY chunk, first"

Connection = psycopg.Connection[tuple[int, ...]]


def main() -> None:
    """Fill the tables, ask them in turns, and print rates and sizes."""
    with psycopg.connect(sys.argv[1], autocommit=True) as connection:
        fill(connection)
        rng = np.random.default_rng(1)
        for name, chunks in (("3 chunks", 3), ("390 chunks", 390)):
            rates: dict[str, list[float]] = {"whole": [], "parted": []}
            for _ in range(_ROUNDS):
                for table, found in rates.items():
                    found.append(rate(connection, table, chunks, rng))
            whole, parted = (statistics.median(found) for found in rates.values())
            print(
                f"reads of {name} a second: whole {whole:,.0f}, in partitions {parted:,.0f}, {parted / whole:.2f} times"
            )
        for table in ("whole", "parted"):
            (size,) = connection.execute(_SIZE.format(table=table).encode()).fetchone() or (0,)
            print(f"index, {table}: {float(size) / 1e6:,.0f} MB")


def fill(connection: Connection) -> None:
    """Make both tables with the same rows."""
    connection.execute(f"CREATE TABLE whole ({_COLUMNS})".encode())
    connection.execute(f"CREATE TABLE parted ({_COLUMNS}) PARTITION BY RANGE (chunk)".encode())
    for number in range(_PARTITIONS):
        bounds = f"FROM ({number * _WIDTH}) TO ({(number + 1) * _WIDTH})"
        connection.execute(f"CREATE TABLE parted_{number} PARTITION OF parted FOR VALUES {bounds}".encode())
    for table in map(sql.Identifier, ("whole", "parted")):
        connection.execute(sql.SQL(_ROWS).format(table, _CHUNKS - 1))
        connection.execute(sql.SQL("VACUUM ANALYZE {}").format(table))


def rate(connection: Connection, table: str, chunks: int, rng: np.random.Generator) -> float:
    """Return how many reads of so many neighbouring chunks a table answers in a second."""
    statement = sql.SQL(_READ).format(sql.Identifier(table))
    number, start = 0, time.perf_counter()
    while (passed := time.perf_counter() - start) < _SECONDS:
        first = int(rng.integers(_CHUNKS - chunks))
        connection.execute(statement, [list(range(first, first + chunks))]).fetchall()
        number += 1
    return number / passed


if __name__ == "__main__":
    main()
