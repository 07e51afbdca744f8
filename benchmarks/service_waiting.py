"""Many files that wait in two watched folders, and whether the smaller one has its turn."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path
from typing import Final

import numpy as np

from knickpoint.instance import CONFIG_FILE
from service_uploads import results_file
from service_world import COMMITS, World, keys_of
from table import Reach, Row

__all__ = ["waiting_rows"]

_FILE_TRACES: Final = 10
_MOST_SECONDS: Final = 1800.0
_OLD: Final = (1_700_000_000, 1_700_000_000)


def waiting_rows(place: World, files: int) -> list[Row]:
    """Import ``files`` of one folder and ten of another one, both there from the start."""
    large, small = place.directory / "large", place.directory / "small"
    _write(large, files, "a")
    _write(small, 10, "b")
    path = place.directory / CONFIG_FILE
    usual = path.read_text(encoding="utf-8")
    sources = "".join(
        f'[ingest.sources.{name}]\nlocation = "{name}"\nrepository = "bench"\n' for name in ("large", "small")
    )
    path.write_text(usual + sources, encoding="utf-8")
    try:
        start = time.perf_counter()
        process = place.serve("--only", "ingest")
        begun_with = process.memory
        at_small = _wait_for(place, "small", 10)["large"]
        seconds_small = time.perf_counter() - start
        stored = _wait_for(place, "large", files)
        seconds = time.perf_counter() - start
        most = process.most_memory
        process.process.terminate()
        process.process.wait(60)
    finally:
        path.write_text(usual, encoding="utf-8")
    return [
        Row(
            f"{files:,} files that wait in a folder: stored",
            "",
            float(stored.total()),
            files + 10,
            "sent",
            Reach.TIMES_MORE,
            1.0,
        ),
        Row("… seconds until all were stored", "s", seconds),
        Row("… seconds until the ten files of another folder were", "s", seconds_small),
        Row("… files of the large folder that were stored by then", "", float(at_small)),
        Row("… most memory / memory at the start", "MB", most, begun_with, "start", Reach.AT_MOST_TIMES, 1.5),
    ]


def _write(folder: Path, files: int, prefix: str) -> None:
    folder.mkdir()
    for number in range(files):
        keys = tuple(key.replace("draw_rect", f"waiting_{prefix}") for key in keys_of(number % 20, _FILE_TRACES))
        body = results_file(4 * COMMITS + number // 20, keys, np.full(_FILE_TRACES, 100.0 + number % 7))
        path = folder / f"{number:06}.json"
        path.write_bytes(body)
        os.utime(path, _OLD)


def _wait_for(place: World, folder: str, files: int) -> Counter[str]:
    """Wait until ``files`` of a folder are stored; return how many of each folder are."""
    import psycopg

    statement = "SELECT source FROM ledger_file WHERE state = 'stored' AND source ~ '/(large|small)/'"
    until = time.monotonic() + _MOST_SECONDS
    with psycopg.connect(place.location, autocommit=True) as connection:
        while time.monotonic() < until:
            stored = Counter("large" if "/large/" in source else "small" for (source,) in connection.execute(statement))
            if stored[folder] >= files:
                return stored
            time.sleep(0.2)
    raise AssertionError(f"{files} files of {folder} are not stored after {_MOST_SECONDS:g} seconds: {stored}")
