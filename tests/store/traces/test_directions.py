"""Directions of traces: what results state, what units say, and what rules say; and how older stores learn of it."""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import text
from tests.store.conftest import Bench

from knickpoint.model.direction import DirectionRule
from knickpoint.model.frame import Trace
from knickpoint.model.query import Query, parse_query
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.model.unit import Better
from knickpoint.store import Store, open_store
from knickpoint.store.array_codec import pack, unpack
from knickpoint.store.schema import HEAD, migrate
from knickpoint.store.traces.trace_requests import BETTERS

pytestmark = pytest.mark.alike


def put(bench: Bench, slot: int, unit: str, better: Better = Better.UNKNOWN, **params: str) -> None:
    """Put one value of the trace ``params``, in ``unit``."""
    result = Result(params or {"name": "a"}, (1.0,), unit, better=better)
    bench.put(slot, RunReport(ResultTable.of([result])), identity=f"{slot}:{unit}:{params}")


def traces(store: Store) -> list[Trace]:
    (repository,) = store.commits.repositories()
    return store.traces.get(store.traces.select(repository, Query()))


def better(store: Store) -> Better:
    (trace,) = traces(store)
    return trace.better


def test_a_trace_has_the_direction_of_its_unit(bench: Bench) -> None:
    put(bench, 0, "errors/s", Better.LOWER)
    assert better(bench.store) is Better.LOWER


def test_what_a_result_states_goes_before_its_unit(bench: Bench) -> None:
    put(bench, 0, "MB/s", Better.LOWER)
    assert better(bench.store) is Better.LOWER


@pytest.mark.parametrize("stated", [(Better.LOWER, Better.HIGHER), (Better.HIGHER, Better.LOWER)])
def test_what_any_result_states_goes_before_the_unit_in_any_order(bench: Bench, stated: tuple[Better, Better]) -> None:
    for slot, one in enumerate(stated):
        put(bench, slot, "MB/s", one)
    assert better(bench.store) is Better.LOWER


def test_a_rule_goes_before_results_and_units(bench: Bench) -> None:
    put(bench, 0, "MB/s", Better.HIGHER)
    bench.store.traces.set_directions([DirectionRule(parse_query("name=a"), Better.LOWER)])
    assert better(bench.store) is Better.LOWER


def test_of_several_rules_the_last_one_that_matches_counts(bench: Bench) -> None:
    put(bench, 0, "score")
    rules = [("name=*", Better.LOWER), ("name=a", Better.HIGHER), ("name=b", Better.LOWER)]
    bench.store.traces.set_directions([DirectionRule(parse_query(query), direction) for query, direction in rules])
    assert better(bench.store) is Better.HIGHER


def test_a_rule_for_another_repository_does_not_count(bench: Bench) -> None:
    put(bench, 0, "score")
    bench.store.traces.set_directions([DirectionRule(Query(), Better.LOWER, "elsewhere")])
    assert better(bench.store) is Better.UNKNOWN


def test_a_rule_that_is_taken_back_leaves_what_was_before(bench: Bench) -> None:
    put(bench, 0, "MB/s")
    bench.store.traces.set_directions([DirectionRule(Query(), Better.LOWER)])
    assert better(bench.store) is Better.LOWER
    bench.store.traces.set_directions([])
    assert better(bench.store) is Better.HIGHER


def test_a_trace_of_which_neither_is_better_by_rule_does_not_lack_a_direction(bench: Bench) -> None:
    put(bench, 0, "score")
    ids = [trace.id for trace in traces(bench.store)]
    assert [trace.id for trace in bench.store.traces.without_direction(ids)] == ids
    bench.store.traces.set_directions([DirectionRule(Query(), Better.UNKNOWN)])
    assert (better(bench.store), bench.store.traces.without_direction(ids)) == (Better.UNKNOWN, [])


def aged(bench: Bench, *, directions: dict[str, Better], dimensions: dict[str, int]) -> None:
    """Make the store one of revision 0008: with these directions of traces, and dimensions of units, by unit."""
    store = bench.store
    with store.transaction() as connection:
        units = {row.id: row for row in connection.execute(text("SELECT id, text, dimension FROM unit"))}
        codes = {row.id: BETTERS.index(directions[row.text]) for row in units.values() if row.text in directions}
        for written, dimension in dimensions.items():
            values = {"text": written, "dimension": dimension}
            connection.execute(text("UPDATE unit SET dimension = :dimension WHERE text = :text"), values)
            having = "unit_id = (SELECT id FROM unit WHERE text = :text)"
            connection.execute(text(f"UPDATE trace_identity SET dimension = :dimension WHERE {having}"), values)
        for number, code in codes.items():
            values = {"unit": number, "better": code}
            connection.execute(text("UPDATE trace_identity SET better = :better WHERE unit_id = :unit"), values)
        for row in connection.execute(text("SELECT id, facts FROM chunk")).all():
            unit, dimension, better_code = (column.tolist() for column in unpack(row.facts, 3))
            moved = [dimensions.get(units[number].text, before) for number, before in zip(unit, dimension, strict=True)]
            learned = [codes.get(number, before) for number, before in zip(unit, better_code, strict=True)]
            facts = pack(np.array(unit), np.array(moved), np.array(learned))
            connection.execute(text("UPDATE chunk SET facts = :facts WHERE id = :id"), {"facts": facts, "id": row.id})
        connection.execute(text("UPDATE alembic_version SET version_num = '0008'"))
    # Only revision 0009 is repeated: what later ones add is there.
    migrate(bench.store.database, "0009")
    with bench.store.transaction() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :newest"), {"newest": HEAD})


@pytest.mark.parametrize(
    ("series", "before", "after"),
    [
        (("errors/s", "e"), Better.HIGHER, Better.LOWER),
        (("MB/sec", "gc.alloc.rate"), Better.HIGHER, Better.LOWER),
        (("ops/s", "throughput"), Better.HIGHER, Better.HIGHER),
        (("ops/s", "inverse"), Better.LOWER, Better.LOWER),
        (("widgets/s", "w"), Better.HIGHER, Better.UNKNOWN),
        (("Mbps", "net"), Better.UNKNOWN, Better.HIGHER),
        (("ms/req", "wait"), Better.UNKNOWN, Better.LOWER),
        (("points", "score"), Better.HIGHER, Better.HIGHER),
        (("", "errors"), Better.UNKNOWN, Better.LOWER),
    ],
)
def test_a_trace_of_an_older_store_gets_its_direction(
    bench: Bench, location: str, series: tuple[str, str], before: Better, after: Better
) -> None:
    unit, metric = series
    put(bench, 0, unit, name="a", metric=metric)
    aged(bench, directions={unit: before}, dimensions={})
    with open_store(location) as store:
        assert better(store) is after


@pytest.mark.parametrize(
    ("written", "metric", "unit"),
    [
        ("", "ms", "ms"),
        ("", "net_mbps", "mbps"),
        ("s", "requests_per_s", "requests/s"),
        ("min", "latency_min", ""),
        ("s", "ops_s", "ops/s"),
        ("s", "latency_s", "s"),
        ("ms", "p99_ms", "ms"),
        ("MB", "ms", "MB"),
    ],
)
def test_a_trace_of_an_older_store_goes_on_in_the_unit_of_its_metrics_name(
    bench: Bench, location: str, written: str, metric: str, unit: str
) -> None:
    put(bench, 0, written, name="a", metric=metric)
    put(bench, 0, "us", name="b")
    aged(bench, directions={}, dimensions={})
    with open_store(location) as store:
        bench.store = store
        put(bench, 1, unit, name="a", metric=metric)
        assert sorted(trace.unit for trace in traces(store)) == sorted([unit, "us"])


def test_an_older_trace_keeps_its_unit_where_its_key_has_a_trace_in_the_other(bench: Bench, location: str) -> None:
    put(bench, 0, "", name="a", metric="ms")
    put(bench, 0, "s", name="a", metric="ms")
    aged(bench, directions={}, dimensions={})
    with open_store(location) as store:
        assert sorted(trace.unit for trace in traces(store)) == ["", "s"]


def test_a_trace_in_a_unit_that_was_unknown_goes_on(bench: Bench, location: str) -> None:
    put(bench, 0, "Mbps")
    aged(bench, directions={"Mbps": Better.UNKNOWN}, dimensions={})
    with open_store(location) as store:
        bench.store = store
        put(bench, 1, "Mbps")
        put(bench, 2, "Gbit/s")
        (trace,) = traces(store)
        assert store.frames.values(bench.line, [trace.id], first=0, last=2).tolist() == [[1.0, 1.0, 1000.0]]


def test_units_that_were_strangers_once_share_a_trace_where_only_one_has_it(bench: Bench, location: str) -> None:
    put(bench, 0, "MB/s", name="b")
    put(bench, 0, "Mbps")
    aged(bench, directions={}, dimensions={"Mbps": 2})
    with open_store(location) as store:
        bench.store = store
        put(bench, 1, "MB/s")
        (trace,) = store.traces.find(bench.repository, ",name=a,")
        assert store.frames.values(bench.line, [trace.id], first=1, last=1).tolist() == [[8.0]]


def test_traces_that_were_split_once_go_on_as_they_are(bench: Bench, location: str) -> None:
    put(bench, 0, "MB/s")
    put(bench, 0, "ops/s")
    with bench.store.transaction() as connection:
        connection.execute(text("UPDATE unit SET text = 'Mbps' WHERE text = 'ops/s'"))
    with open_store(location) as store:
        bench.store = store
        put(bench, 1, "MB/s")
        put(bench, 2, "Mbps")
        ids = [trace.id for trace in traces(store)]
        held = store.frames.values(bench.line, ids, first=0, last=2)
        assert [[value == 1.0 for value in row] for row in held.tolist()] == [[True, True, False], [True, False, True]]
