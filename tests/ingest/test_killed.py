from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.ingest.conftest import Lab
from tests.ingest.test_file_import import history

from knickpoint.instance import create_instance, open_instance
from knickpoint.model.params import decode_key
from knickpoint.model.query import Query
from knickpoint.store import FileState, Store

_FILES = 12
_RESULTS = 20
_ENTRIES = 20
_IMPORT = """
import sys
from knickpoint.ingest import import_files
from knickpoint.instance import open_instance
with open_instance(sys.argv[1]) as instance:
    print("ready", flush=True)
    import_files(instance, sys.argv[2:])
"""


def results(lab: Lab) -> Path:
    """Write a folder of results: many files of one commit each, and a history."""
    for index in range(_FILES):
        values = {f"bench{number:02}": float(index * 100 + number) for number in range(_RESULTS)}
        lab.skia(f"results/{index:02}.json", f"{index + 1:040x}", **values)
    entries = [(f"{index:x}".rjust(40, "f"), index % 60, float(index)) for index in range(_ENTRIES)]
    lab.write("results/data.js", history(*entries))
    return lab.directory / "results"


def kill_an_import(instance: Path, folder: Path, patience: float) -> bool:
    """Begin an import, kill it after ``patience`` seconds; return whether it ended by itself."""
    with subprocess.Popen(
        [sys.executable, "-c", _IMPORT, str(instance), str(folder)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            process.wait(timeout=patience)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            return False
    return True


def points_of(store: Store, repository: str) -> dict[str, dict[str, float]]:
    known = next((stored for stored in store.commits.repositories() if stored.name == repository), None)
    if known is None:
        return {}
    line = store.commits.line(known)
    frame = store.frames.read(line, store.traces.select(known, Query()))
    names = [decode_key(trace.key)["benchmark"] for trace in frame.traces]
    hashes = [slotted.commit.hash for slotted in store.commits.get(known, line.slots)]
    columns = frame.values.T.tolist()
    return {
        commit: {name: value for name, value in zip(names, column, strict=True) if value == value}  # noqa: PLR0124
        for commit, column in zip(hashes, columns, strict=True)
    }


def check_whole(store: Store) -> int:
    """Assert that every file is in as the ledger says, once and whole; return how many are."""
    stored = {Path(entry.source).name for entry in store.ledger.files(FileState.STORED, limit=1000)}
    points = points_of(store, "main")
    for index in range(_FILES):
        values = {f"bench{number:02}": float(index * 100 + number) for number in range(_RESULTS)}
        expected = values if f"{index:02}.json" in stored else {}
        assert points.get(f"{index + 1:040x}", {}) == expected
    whole = points_of(store, "o/r")
    assert len(whole) == (_ENTRIES if "data.js" in stored else 0)
    assert sum(len(values) for values in whole.values()) == len(whole)
    for repository in store.commits.repositories():
        slots = store.commits.line(repository).slots
        assert [run.slot for run in store.runs.at(repository, slots)] == sorted(slots)
    return len(stored)


def kill_and_finish(lab: Lab, rounds: int, seed: int) -> None:
    lab.instance.close()
    folder = results(lab)
    place = lab.directory / "instance"
    chance = random.Random(seed)
    for _ in range(rounds):
        if kill_an_import(place, folder, chance.uniform(0.0, 0.5)):
            place = lab.directory / f"instance{chance.random()}"
            create_instance(place).close()
        with open_instance(place) as instance:
            check_whole(instance.store)
    assert kill_an_import(place, folder, 60.0)
    with open_instance(place) as instance:
        assert check_whole(instance.store) == _FILES + 1
    lab.instance = open_instance(place)


def test_a_killed_import_leaves_every_file_whole_and_the_next_one_finishes(lab: Lab) -> None:
    kill_and_finish(lab, rounds=1, seed=1)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_ten_kills_at_random_moments_leave_every_file_whole(lab: Lab, seed: int) -> None:
    kill_and_finish(lab, rounds=10, seed=seed)
