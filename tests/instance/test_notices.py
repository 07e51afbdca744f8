from __future__ import annotations

import json
import os
from itertools import count
from pathlib import Path

import pytest

from knickpoint.instance import (
    CONFIG_FILE,
    NoticeKind,
    Worker,
    create_instance,
    find_notices,
    open_instance,
    read_config,
)
from knickpoint.model.bisection import PROBE_FACT
from knickpoint.model.errors import ConfigError

_OLD = (1_700_000_000, 1_700_000_000)
CANARY = '[canaries.machine]\nquery = "benchmark=canary"\n'


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make an instance that takes in the folder ``results``."""
    create_instance(tmp_path).close()
    (tmp_path / CONFIG_FILE).write_text(
        '[history]\nas_work = true\n[ingest.sources.here]\nlocation = "results"\n' + CANARY, encoding="utf-8"
    )
    (tmp_path / "results").mkdir()
    return tmp_path


def measure(place: Path, number: int, bisection: str = "", /, **values: float) -> None:
    path = place / "results" / f"{number:03}{bisection}.json"
    results = [
        {"key": {"benchmark": name, "unit": "ms"}, "measurement": value + 0.01 * (number % 3)}
        for name, value in values.items()
    ]
    path.write_text(json.dumps({"version": 1, "git_hash": f"CP:{number}", "results": results}), encoding="utf-8")
    if bisection:
        sidecar = {"environment": {PROBE_FACT: bisection}}
        beside = path.with_name(f"{path.name}.sidecar.json")
        beside.write_text(json.dumps(sidecar), encoding="utf-8")
        os.utime(beside, _OLD)
    os.utime(path, _OLD)


def work(place: Path) -> list[str]:
    announced: list[str] = []
    with open_instance(place) as opened:
        Worker(opened, announced.append, clock=lambda: 0.0).step()
    return announced


def test_a_canary_that_steps_is_noticed_with_what_it_puts_in_doubt(place: Path) -> None:
    for number in range(30):
        level = 1.0 if number < 15 else 1.5
        measure(place, number, canary=10 * level, sort=20 * level)
    announced = work(place)
    assert any(
        line.startswith("canary machine: ,benchmark=canary,unit=ms, stepped by +") and "R1 in doubt" in line
        for line in announced
    )
    with open_instance(place) as opened:
        (notice,) = find_notices(opened)
    assert (notice.kind, notice.canary, notice.changes) == (NoticeKind.CANARY, "machine", (1,))


def test_a_benchmark_that_stopped_is_noticed(place: Path) -> None:
    for number in range(30):
        measure(place, number, sort=20.0, **({"find": 5.0} if number < 20 else {}))
    announced = work(place)
    assert any(
        "benchmark=find,unit=ms, has no results at the last 10 measured commits" in line for line in announced
    ), announced


def test_what_only_a_bisection_measured_did_not_stop(place: Path) -> None:
    for number in range(30):
        measure(place, number, sort=20.0)
    for number in range(10, 20):
        measure(place, number, "B1", elsewhere=5.0)
    assert not [line for line in work(place) if "no results at the last" in line]
    with open_instance(place) as opened:
        (repository,) = opened.store.commits.repositories()
        assert opened.store.traces.count(repository) == 2


def test_silence_is_not_reported_where_the_configuration_says_so(place: Path) -> None:
    path = place / CONFIG_FILE
    path.write_text(path.read_text(encoding="utf-8") + "[missing]\nwatch = false\n", encoding="utf-8")
    for number in range(30):
        measure(place, number, sort=20.0, **({"find": 5.0} if number < 20 else {}))
    work(place)
    with open_instance(place) as opened:
        assert find_notices(opened) == []


def test_the_same_thing_is_told_once(place: Path) -> None:
    for number in range(30):
        measure(place, number, sort=20.0, **({"find": 5.0} if number < 20 else {}))
    announced: list[str] = []
    clock = count(0, 4000)
    with open_instance(place) as opened:
        worker = Worker(opened, announced.append, clock=lambda: float(next(clock)))
        worker.step()
        measure(place, 30, sort=20.0)
        worker.step()
        worker.step()
    assert len([line for line in announced if "has no results" in line]) == 1


@pytest.mark.parametrize("section", ["canaries.a", "missing"])
def test_a_query_that_cannot_be_read_is_refused_with_its_section(place: Path, section: str) -> None:
    (place / CONFIG_FILE).write_text(f'[{section}]\nquery = "a=~("\n', encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"\[{section}\]: the query cannot be read"):
        read_config(place / CONFIG_FILE)


def test_the_worker_takes_over_the_tickets_of_a_file(place: Path) -> None:
    path = place / CONFIG_FILE
    path.write_text(path.read_text(encoding="utf-8") + '[tickets]\nfile = "tickets.csv"\n', encoding="utf-8")
    for number in range(30):
        measure(place, number, sort=20.0 if number < 15 else 30.0)
    (place / "tickets.csv").write_text("name,commit\nT-1,CP:15\n", encoding="utf-8")
    announced = work(place)
    assert any(line.startswith("tickets: ") for line in announced), announced


def test_a_file_of_tickets_that_cannot_be_used_is_told_and_stops_nothing(place: Path) -> None:
    path = place / CONFIG_FILE
    path.write_text(path.read_text(encoding="utf-8") + '[tickets]\nfile = "tickets.csv"\n', encoding="utf-8")
    for number in range(30):
        measure(place, number, sort=20.0 if number < 15 else 30.0)
    announced = work(place)
    assert any(line.startswith("tickets: ") and "cannot be read" in line for line in announced)
    assert any("1 new change" in line for line in announced)
