"""Time DuckDB on a matrix, in its own environment, and print what came out as JSON.

``python store_peers.py MATRIX.npy IDS.npy DATABASE REPEATS`` loads the matrix (traces × commits) as rows of
(trace, commit, value), one Arrow batch a commit, and reads all of it, and the traces of IDS, back as matrices.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from typing import Any

import numpy as np

from stopwatch import fastest

__all__: list[str] = []


def main() -> None:
    """Load, read, compare, print."""
    duckdb, arrow = import_module("duckdb"), import_module("pyarrow")
    matrix, ids = np.load(sys.argv[1]), np.load(sys.argv[2])
    traces, commits = matrix.shape
    connection = duckdb.connect(sys.argv[3])
    connection.execute("CREATE TABLE point (trace INTEGER, commit_ INTEGER, value FLOAT)")
    every = np.arange(traces, dtype=np.int32)
    writes = []
    for commit in range(commits):
        batch = arrow.table(
            {
                "trace": every,
                "commit_": np.full(traces, commit, np.int32),
                "value": np.ascontiguousarray(matrix[:, commit]),
            }
        )
        start = time.perf_counter()
        connection.register("batch", batch)
        connection.execute("INSERT INTO point SELECT * FROM batch")
        writes.append(time.perf_counter() - start)
        connection.unregister("batch")
    connection.execute("CHECKPOINT")

    def dense() -> Any:
        found = connection.execute("SELECT trace, commit_, value FROM point").fetchnumpy()
        out = np.full((traces, commits), np.nan, dtype=np.float32)
        out[found["trace"], found["commit_"]] = found["value"]
        return out

    def some() -> Any:
        connection.register(
            "wanted", arrow.table({"trace": ids.astype(np.int32), "row": np.arange(len(ids), dtype=np.int32)})
        )
        found = connection.execute(
            "SELECT wanted.row, commit_, value FROM point JOIN wanted USING (trace)"
        ).fetchnumpy()
        out = np.full((len(ids), commits), np.nan, dtype=np.float32)
        out[found["row"], found["commit_"]] = found["value"]
        return out

    repeats = int(sys.argv[4])
    dense_seconds, whole = fastest(dense, repeats)
    some_seconds, part = fastest(some, repeats)
    assert np.array_equal(whole, matrix)
    assert np.array_equal(part, matrix[ids])
    print(json.dumps({"write": sorted(writes)[commits // 2], "dense": dense_seconds, "some": some_seconds}))


main()
