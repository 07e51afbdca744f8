"""Workers that read the store themselves find what one process finds, and bring back the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.conftest import Cluster, Databases
from tests.store.conftest import cluster as cluster  # noqa: PLC0414  # a fixture
from tests.store.conftest import databases as databases  # noqa: PLC0414  # a fixture

from knickpoint.model.alert import Alert
from knickpoint.model.direction import DirectionRule
from knickpoint.model.errors import ServiceError, StoreError
from knickpoint.model.query import Query, parse_query
from knickpoint.model.unit_names import Better
from knickpoint.store import (
    StoreReference,
    close_references,
    open_reference,
    open_store,
    refer_to_file,
    refer_to_server,
)
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.detection import trace_detection
from knickpoint.watch.detection.judged_rows import JudgedRows
from knickpoint.watch.detection.trace_detection import (
    StoredShard,
    StoredWindow,
    UnreadStore,
    detect_traces,
    judge_stored_shard,
    shard_ids,
    store_reference,
)
from knickpoint.watch.lines import Lines
from knickpoint.watch.newest_values import NewestShard, judge_newest_early, judge_newest_values
from knickpoint.work import Dask, Place, Processes, Runner, Serial

from .conftest import QUICK, World, copied, levels, make_world

Item = TypeVar("Item")
Found = TypeVar("Found")

_NUMBERS = count()


@dataclass
class Reading:
    """Work in this process as workers of ``place`` do: from what they are sent.

    Those that are ``blind`` reach no store.
    """

    place: Place = Place.THIS_MACHINE
    blind: Callable[[int], bool] = lambda _: False
    cores: int = 1
    unread: str = ""
    sent: list[object] = field(default_factory=list)

    def connect(self) -> None:
        """Be there."""

    def map(self, function: Callable[[Item], Found], items: Iterable[Item]) -> Iterator[Found]:
        """Apply ``function`` to each item."""
        for item in items:
            given_item = item
            if isinstance(item, StoredShard | StoredWindow | NewestShard) and self.blind(len(self.sent)):
                given_item = replace(item, store=replace(item.store, location="/nowhere/store.db"))
            self.sent.append(item)
            yield function(given_item)

    def close(self) -> None:
        """Hold nothing."""


@pytest.fixture(autouse=True)
def close_workers() -> Iterator[None]:
    """Close what stands for workers."""
    yield
    close_references()


def _fill(world: World) -> None:
    store = world.store
    store.commits.set_line(world.repository, "main", range(60))
    store.commits.set_line(world.repository, "topic", [*range(40), *range(60, 80)], base="main", merge_base=39)
    series = {f"t{number}": levels((60, 20.0 + number)) for number in range(300)}
    series["t7"] = levels((30, 20.0), (30, 25.0))
    series["t8"] = levels((30, 20.0), (29, 25.0), (1, 50.0))
    series["t9"] = [value if position % 3 else float("nan") for position, value in enumerate(levels((60, 9.0)))]
    series["t280"] = levels((20, 20.0), (20, 25.0), (20, 20.0))
    series["t281"] = levels((59, 20.0), (1, 40.0))
    world.measure(series)
    world.measure({"t7": levels((20, 30.0))}, first=60)


@pytest.fixture(scope="module")
def watched_file(empty_world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the store of ``watched`` once, as a file."""
    place = tmp_path_factory.mktemp("watched") / "store.db"
    world = copied(empty_world, place)
    with world.store:
        _fill(world)
    return place


@pytest.fixture(scope="module")
def watched_database(cluster: Cluster, databases: Databases) -> str:
    """Make the store of ``watched`` once, as a database."""
    name = f"shards_{next(_NUMBERS)}"
    databases.create(name)
    world = make_world(cluster.url(name))
    with world.store:
        _fill(world)
    return name


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    """Return 300 traces, of which some step, flip, have gaps or a remarkable newest value; and a branch."""
    if request.param == "sqlite":
        world = copied(request.getfixturevalue("watched_file"), tmp_path / "store.db")
    else:
        template = request.getfixturevalue("watched_database")
        databases: Databases = request.getfixturevalue("databases")
        cluster: Cluster = request.getfixturevalue("cluster")
        name = f"shards_{next(_NUMBERS)}"
        databases.copy(template, name)
        store = open_store(cluster.url(name))
        world = World(store, store.commits.repository("project"))
    yield world
    world.store.close()


def described(found: Iterable[JudgedRows]) -> list[object]:
    """Return all that was found, as text and plain numbers; some of them are nan."""
    return [
        (
            each.detection.trace,
            each.detection.measured.tolist(),
            each.detection.reported_after,
            repr(each.detection.sightings),
            each.digests,
            repr(each.detection.group),
        )
        for rows in found
        for each in rows.detections()
    ]


def detected(world: World, alerts: Sequence[Alert], runner: Runner) -> list[object]:
    """Detect in all traces of the first alert; nothing is written."""
    lines = Lines(world.store, world.repository)
    ids = world.store.traces.select(world.repository, parse_query(alerts[0].query))
    return described(
        detect_traces(world.store, alerts, lines.existing(alerts[0].line), ids, lines=lines, runner=runner)
    )


def place_of(world: World) -> Place:
    return Place.THIS_MACHINE if world.store.database.embedded else Place.CLUSTER


def reference_of(world: World) -> StoreReference:
    reference = store_reference(world.store, Reading(place_of(world)))
    assert reference is not None
    return reference


@pytest.mark.alike
@pytest.mark.parametrize(
    "alerts",
    [
        [Alert("default")],
        [QUICK, replace(QUICK, name="rises", minimum_effect=0.1)],
        [Alert("recent", method="threshold", window=20)],
        [Alert("topic", method="threshold", line="topic")],
        [Alert("samples", samples=True)],
    ],
    ids=["default", "shared", "window", "branch", "samples"],
)
def test_workers_that_read_the_store_bring_back_what_one_process_finds(watched: World, alerts: list[Alert]) -> None:
    watched.run(*alerts)  # a window depends on what is known
    runner = Reading(place_of(watched))
    assert detected(watched, alerts, runner) == detected(watched, alerts, Serial())
    assert [type(item) for item in runner.sent] == [StoredShard, StoredShard]


@pytest.mark.long
@pytest.mark.parametrize("method", ["cluster", "siblings"])
@pytest.mark.parametrize("blind", [lambda _: False, lambda sent: sent == 1], ids=["all read", "one does not"])
def test_groups_are_judged_by_workers_as_in_one_process(
    watched: World, method: str, blind: Callable[[int], bool]
) -> None:
    alert = Alert("together", query="benchmark=~t[1289].?$", method=method, group_by=("benchmark",))
    alert = replace(alert, parameters={"edge": 1, "k": 1, "interesting": 1.0} if method == "cluster" else {})
    runner = Reading(place_of(watched), blind)
    found = detected(watched, [alert], runner)
    assert found == detected(watched, [alert], Serial())
    assert len(runner.sent) > 20


@pytest.mark.parametrize("blind", [lambda _: False, lambda sent: sent == 1], ids=["all read", "one does not"])
def test_windows_of_one_large_group_are_clustered_by_workers_as_in_one_process(
    watched: World, blind: Callable[[int], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_detection, "LEAST_TRACES", 300)
    alert = Alert("together", method="cluster", parameters={"edge": 1, "k": 40, "interesting": 1.0})
    runner = Reading(Place.CLUSTER, blind)
    found = detected(watched, [alert], runner)
    assert found == detected(watched, [alert], Serial())
    assert any("Sighting(" in str(each) for each in found)
    sent = [item.window.width for item in runner.sent if isinstance(item, StoredWindow)]
    assert sent == ([] if watched.store.database.embedded else [100, 50, 50])  # other machines reach no file


@pytest.mark.long
@pytest.mark.postgres
def test_a_cluster_of_dask_finds_in_a_large_group_what_one_process_finds(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed: Any = pytest.importorskip("distributed")
    name = f"shards_{next(_NUMBERS)}"
    cluster.execute(f"CREATE DATABASE {name}")
    world = make_world(cluster.url(name))
    world.store.commits.set_line(world.repository, "main", range(60))
    world.measure({f"t{number}": levels((20 + number % 20, 20.0), (40 - number % 20, 25.0)) for number in range(60)})
    monkeypatch.setattr(trace_detection, "LEAST_TRACES", 60)
    alert = Alert("together", method="cluster", parameters={"k": 10})
    workers = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")
    with world.store, workers, Dask(workers.scheduler_address) as runner:
        found = detected(world, [alert], runner)
        assert found == detected(world, [alert], Serial())
    assert runner.unread == ""
    assert any("Sighting(" in str(each) for each in found)


@pytest.mark.long
def test_processes_read_the_store_and_find_what_one_process_finds(watched: World) -> None:
    with Processes(1) as processes:
        found = detected(watched, [Alert("default")], processes)
    assert found == detected(watched, [Alert("default")], Serial())


def test_directions_of_the_configuration_hold_where_workers_read(watched: World) -> None:
    watched.store.traces.set_directions([DirectionRule(parse_query("benchmark=t7"), Better.HIGHER)])
    assert detected(watched, [QUICK], Reading(place_of(watched))) == detected(watched, [QUICK], Serial())


def test_directions_that_traces_keep_hold_where_workers_read(watched: World) -> None:
    by_unit = detected(watched, [QUICK], Serial())
    watched.store.traces.keep_directions({watched.trace("t7"): Better.HIGHER})
    kept = detected(watched, [QUICK], Reading(place_of(watched)))
    assert kept == detected(watched, [QUICK], Serial()) != by_unit


@pytest.mark.alike
@pytest.mark.parametrize("blind", [lambda _: True, lambda sent: sent == 1], ids=["all", "one of them"])
def test_what_workers_cannot_read_is_sent_to_them(watched: World, blind: Callable[[int], bool]) -> None:
    runner = Reading(place_of(watched), blind)
    found = detected(watched, [Alert("default")], runner)
    assert sorted(found, key=repr) == sorted(detected(watched, [Alert("default")], Serial()), key=repr)


@pytest.mark.alike
def test_a_run_keeps_the_same_findings_and_verdicts_as_in_one_process(watched: World) -> None:
    def run(runner: Runner) -> tuple[object, ...]:
        run_alerts(watched.store, [Alert("default")], runner=runner, afresh=True)
        ids = watched.store.traces.select(watched.repository, Query()).tolist()
        newest = watched.store.findings.newest.get(ids)
        return watched.places("t7"), watched.places("t280"), repr(sorted(newest.items())), repr(watched.points("t8"))

    assert run(Reading(place_of(watched))) == run(Serial())


@pytest.mark.alike
def test_newest_values_are_judged_early_where_the_level_stays(watched: World) -> None:
    line = watched.store.commits.line(watched.repository)
    ids = watched.store.traces.select(watched.repository, Query())
    runner = Reading(place_of(watched))
    early = judge_newest_early(watched.store, line, ids, runner)
    run_alerts(watched.store, [Alert("default")])  # the levels of t7, t8 and t280 begin later now
    known = early.hold(ids, np.array([0 if key not in map(watched.trace, ("t7",)) else 30 for key in ids.tolist()]))
    assert known.sum() == len(ids) - 1
    now = judge_newest_values(watched.store, line, ids)
    assert repr(sorted(judge_newest_values(watched.store, line, ids, early), key=repr)) == repr(sorted(now, key=repr))
    assert watched.trace("t281") in {verdict.trace_id for verdict in now}


def test_a_worker_of_another_version_is_named(watched: World) -> None:
    line = watched.store.commits.line(watched.repository)
    shard = StoredShard(reference_of(watched), [QUICK], [line], [], np.arange(1), 1, version="0.0.1")
    with pytest.raises(ServiceError, match=r"uses 0\.0\.1"):
        judge_stored_shard(shard)


def test_an_open_transaction_keeps_work_here_as_nobody_else_sees_it(watched: World) -> None:
    with watched.store.transaction():
        assert store_reference(watched.store, Reading(place_of(watched))) is None


def test_work_of_this_process_names_no_store(watched: World) -> None:
    assert store_reference(watched.store, Serial()) is None


def test_an_embedded_store_is_not_named_to_other_machines(world: World) -> None:
    assert store_reference(world.store, Reading(Place.CLUSTER)) is None
    assert refer_to_file(world.store) is not None


@pytest.mark.postgres
def test_a_server_that_is_another_one_is_not_read(cluster: Cluster) -> None:
    name = f"shards_{next(_NUMBERS)}"
    cluster.execute(f"CREATE DATABASE {name}")
    world = make_world(cluster.url(name))
    with world.store:
        reference = refer_to_server(world.store)
        assert reference is not None
        with pytest.raises(StoreError, match="another server answers"):
            open_reference(replace(reference, system="1"))


def test_a_store_that_is_gone_is_said_to_be_unread(watched: World) -> None:
    line = watched.store.commits.line(watched.repository)
    gone = replace(reference_of(watched), location="/nowhere/store.db")
    found = judge_stored_shard(StoredShard(gone, [QUICK], [line], [], np.arange(1), 1))
    assert isinstance(found, UnreadStore)
    assert "there is no store here" in found.reason


def test_who_detects_says_why_the_store_was_not_read_until_it_is_read_again(watched: World) -> None:
    runner = Reading(place_of(watched), blind=lambda sent: sent == 0)
    detected(watched, [QUICK], runner)
    assert "there is no store here" in runner.unread
    runner.blind = lambda _: False
    detected(watched, [QUICK], runner)
    assert runner.unread == ""


def test_a_reference_does_not_show_the_address(watched: World) -> None:
    reference = reference_of(watched)
    assert reference.location not in repr(reference)


@given(st.lists(st.integers(0, 40_000), unique=True, max_size=300), st.sampled_from(["few", "many"]))
@settings(max_examples=50)
def test_shards_are_all_traces_in_their_order(ids: list[int], number: str) -> None:
    wanted = np.array(sorted(ids), dtype=np.int64) if number == "few" else np.arange(len(ids) * 100)
    for times in (1, 4):
        shards = list(shard_ids(wanted, times=times))
        assert np.array_equal(np.concatenate(shards) if shards else wanted, wanted)
        assert all(0 < shard.size <= 1024 * times for shard in shards)


@pytest.mark.long
def test_workers_compare_drifts_with_a_date_as_one_process_does(watched: World) -> None:
    watched.measure({"creep": [100 + 0.5 * max(0, position - 10) for position in range(60)]})
    alerts = [Alert("slow", since="2026-01-02")]
    here = detected(watched, alerts, Serial())
    assert detected(watched, alerts, Reading()) == here
    assert "reference='2026-01-02'" in str(here)
