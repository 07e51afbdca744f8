"""Print how the tables of a store on PostgreSQL grow with its traces and commits.

``python store_growth.py postgresql://… TRACES COMMITS`` fills an empty database with files of all traces, seals them,
and prints the size of each large table after the first file, before and after sealing.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sqlalchemy import text

from knickpoint.store import Store, create_store
from store import begin, put, report, sparse_keys

_LARGE_BYTES = 1_000_000

_SIZES = text(
    "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r'"
    " AND relnamespace = CAST('public' AS regnamespace) AND pg_total_relation_size(oid) > :bytes ORDER BY 2 DESC"
)


def main() -> None:
    """Fill the store, and print what it takes."""
    location, traces, commits = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with create_store(location) as store:
        repository, _ = begin(store, commits)
        rng, keys = np.random.default_rng(1), sparse_keys(range(traces))
        for slot in range(commits):
            values = rng.normal(100, 1, traces).astype(np.float32).astype(np.float64)
            start = time.process_time()
            put(store, repository, slot, report(keys, values), f"file-{slot}")
            if slot in (0, commits - 1):
                show(store, f"file {slot + 1}: {time.process_time() - start:.2f} s of processor time")
        store.seal(everything=True)
        with store.database.engine.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT").execute(text("VACUUM FULL"))
        show(store, "sealed")


def show(store: Store, when: str) -> None:
    """Print the size of each large table."""
    with store.database.reading() as connection:
        sizes = connection.execute(_SIZES, {"bytes": _LARGE_BYTES}).all()
    print(when, *(f"  {name}: {size / 1e6:,.0f} MB" for name, size in sizes), sep="\n", flush=True)


if __name__ == "__main__":
    main()
