"""Directions of traces: what results state, what units say, and what rules say.

And units that older versions did not know.
"""

from __future__ import annotations

import numpy as np
import pytest
from sqlalchemy import text
from tests.store.conftest import Bench

from knickpoint.model.direction import DirectionRule
from knickpoint.model.frame import Trace
from knickpoint.model.query import Query, parse_query
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.model.unit_names import Better
from knickpoint.store import Store, open_store
from knickpoint.store.array_codec import pack, unpack

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


def set_apart(store: Store, unit: str, dimension: int) -> None:
    """Give a unit and its only trace the dimension that a version would have stored which did not know the unit."""
    with store.transaction() as connection:
        values = {"text": unit, "dimension": dimension}
        connection.execute(text("UPDATE unit SET dimension = :dimension WHERE text = :text"), values)
        of_unit = "unit_id = (SELECT id FROM unit WHERE text = :text)"
        connection.execute(text(f"UPDATE trace_identity SET dimension = :dimension WHERE {of_unit}"), values)
        (number,) = connection.execute(text("SELECT id FROM unit WHERE text = :text"), {"text": unit}).one()
        for row in connection.execute(text("SELECT id, facts FROM chunk")).all():
            units, dimensions, better_codes = unpack(row.facts, 3)
            facts = pack(units, np.where(units == number, dimension, dimensions), better_codes)
            connection.execute(text("UPDATE chunk SET facts = :facts WHERE id = :id"), {"facts": facts, "id": row.id})


def test_units_that_were_strangers_once_share_a_trace_where_only_one_has_it(bench: Bench, location: str) -> None:
    put(bench, 0, "MB/s", name="b")
    put(bench, 0, "Mbps")
    set_apart(bench.store, "Mbps", 2)
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
