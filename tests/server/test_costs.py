"""What one request may cost: seconds, values, and the size of the question."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import pytest
from tests.server.client import Client
from tests.server.story import COMMITS

from knickpoint.budget import Budget, check_time, check_values, remaining_seconds, spending
from knickpoint.calc import Traces, evaluate
from knickpoint.instance import Instance, create_instance
from knickpoint.instance.config import LimitSettings
from knickpoint.model.commit import Commit
from knickpoint.model.errors import DeadlineError, InputError, QueryError
from knickpoint.model.query import parse_query
from knickpoint.model.report import ResultTable, RunReport
from knickpoint.server import create_app
from knickpoint.store import RunWrite

TRACES: Final = 8000
EVERYTHING: Final = 'filter("")'


def limited(instance: Instance, **limits: Any) -> Client:
    """Return a client of the server of ``instance`` with other limits."""
    changed = replace(instance, config=replace(instance.config, limits=LimitSettings(**limits)))
    return Client(create_app(changed))


def nested(function: str, argument: str, depth: int = 50) -> str:
    return f"{function}(" * depth + argument + ")" * depth


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """Open an instance with many traces, each measured at one commit."""
    keys = tuple(f",benchmark=b{number},unit=ms," for number in range(TRACES))
    codes, small = np.zeros(TRACES, dtype=np.uint16), np.zeros(TRACES, dtype=np.uint8)
    table = ResultTable(keys, np.arange(TRACES, dtype=np.float64), np.arange(TRACES + 1), ("ms",), codes, small, small)
    with create_instance(tmp_path_factory.mktemp("wide") / "instance") as opened:
        repository = opened.store.commits.add_repository("wide")
        slots = list(
            opened.store.commits.add(
                repository, [Commit("1" * 40, "", "", datetime(2026, 1, 1, tzinfo=UTC), "")]
            ).values()
        )
        opened.store.commits.set_line(repository, "main", slots)
        opened.store.runs.write(repository, [RunWrite(slots[0], RunReport(table), "a", "a", "a")])
        yield opened


def test_a_request_that_works_too_long_is_stopped_and_the_next_one_is_answered(wide: Instance) -> None:
    client = limited(wide, request_seconds=0.3)
    answer = client.get("/api/v1/formulas", params={"formula": nested("iqrr", EVERYTHING)})
    assert answer.status_code == 503
    assert answer.json()["error"] == "The request took longer than 0.3 seconds and was stopped."
    assert answer.json()["remedy"]
    assert limited(wide).get("/api/v1/traces").json()["total"] == TRACES


@pytest.mark.parametrize("formula", [EVERYTHING, f"ave({EVERYTHING})", f"{EVERYTHING} + 1"])
def test_a_formula_over_too_many_values_is_refused(wide: Instance, formula: str) -> None:
    answer = limited(wide, request_values=TRACES - 1).get("/api/v1/formulas", params={"formula": formula})
    assert answer.status_code == 400
    assert answer.json()["error"] == "8,000 traces of 1 commit are too many for one formula."


def test_a_formula_counts_all_that_it_reads(wide: Instance) -> None:
    client = limited(wide, request_values=TRACES)
    once, twice = (
        client.get("/api/v1/formulas", params={"formula": formula}).status_code
        for formula in (f"ave({EVERYTHING})", f"ave({EVERYTHING}) + ave({EVERYTHING})")
    )
    assert (once, twice) == (200, 400)


def test_values_of_too_many_commits_are_refused_and_a_range_of_them_is_not(instance: Instance) -> None:
    client = limited(instance, request_values=COMMITS)
    ids = ",".join(str(each["id"]) for each in client.get("/api/v1/traces").json()["traces"][:2])
    assert client.get("/api/v1/values", params={"traces": ids}).status_code == 400
    some = {"traces": ids, "first": 0, "last": COMMITS // 2 - 1}
    assert client.get("/api/v1/values", params=some).status_code == 200


@pytest.mark.parametrize(
    ("path", "parameters", "code"),
    [
        ("traces", {"query": "a" * 10_001}, 422),
        ("traces", {"query": " ".join(f"!n{number}" for number in range(201))}, 400),
        ("facets", {"query": " ".join(f"a~{number}" for number in range(51))}, 400),
        ("traces", {"query": f"a~{'(a+)+' * 300}"}, 400),
        ("traces", {"query": f"a~{'(a{{1000}}){{1000}}'.format()}"}, 400),
        ("formulas", {"formula": nested("fill", EVERYTHING, 100)}, 400),
        ("formulas", {"formula": "a" * 10_001}, 422),
        ("changes", {"filter": "a " * 21}, 400),
        ("members", {"filter": "a " * 21, "change": 1}, 400),
        ("values", {"traces": ",".join(["1"] * 257)}, 400),
        ("values", {"traces": "1", "first": 10**30}, 422),
        ("commits", {"limit": 10**9}, 422),
        ("traces", {"limit": 10**9}, 422),
        ("shortcuts/" + "a" * 200, {}, 422),
    ],
)
def test_a_question_that_is_too_large_is_refused(reader: Client, path: str, parameters: Any, code: int) -> None:
    answer = reader.get(f"/api/v1/{path}", params=parameters)
    assert answer.status_code == code, answer.text
    assert answer.json()["error"]


def test_a_pattern_that_takes_others_exponential_time_is_answered(reader: Client) -> None:
    answer = reader.get("/api/v1/traces", params={"query": 'benchmark~"^(([a-z])+.)+[A-Z]([a-z])+$"'})
    assert (answer.status_code, answer.json()["total"]) == (200, 0)


def test_a_query_of_a_million_characters_is_refused() -> None:
    with pytest.raises(QueryError, match="1,000,000 characters"):
        parse_query("a" * 1_000_000)


def test_short_ids_within_short_ids_count_as_reads(client: Client) -> None:
    nothing = ['filter("benchmark=none")' + " " * number for number in range(100)]
    name = client.post("/api/v1/shortcuts", json={"formulas": nothing}).json()["id"]
    formula = f'ave(shortcut("{name}"))'
    assert client.get("/api/v1/formulas", params={"formula": formula}).status_code == 200
    many = " + ".join([formula] * 12)
    answer = client.get("/api/v1/formulas", params={"formula": many})
    assert answer.status_code == 400
    assert "1,000 queries and short ids" in answer.json()["error"]


def test_only_so_many_short_ids_are_kept_and_those_stay(instance: Instance) -> None:
    client = limited(instance, shortcuts=1)

    def keep(key: str) -> int:
        return client.post("/api/v1/shortcuts", json={"keys": [key]}).status_code

    assert [keep(",a=1,"), keep(",a=2,"), keep(",a=1,")] == [200, 400, 200]


@pytest.mark.parametrize("body", [{"keys": ["," * 5000]}, {"formulas": ["1" * 10_001]}, {"keys": [",a=1,"] * 10_001}])
def test_a_short_id_of_too_much_is_refused(reader: Client, body: dict[str, list[str]]) -> None:
    assert reader.post("/api/v1/shortcuts", json=body).status_code == 422


def test_the_names_of_calculated_traces_stay_small() -> None:
    traces = Traces(tuple(f",a={number}," for number in range(20_000)), np.ones((20_000, 1)))
    long = "ave(" + "(" * 30 + 'filter("x")' + " " * 9000 + ")" * 30 + ")"
    with pytest.raises(QueryError, match="characters each"):
        evaluate(f'{long} + filter("")', lambda _: traces)


def test_a_checkpoint_stops_a_formula_between_two_blocks() -> None:
    traces = Traces(tuple(f",a={number}," for number in range(10_000)), np.ones((10_000, 3)))
    calls = 0

    def stop() -> None:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise DeadlineError("stopped")

    with pytest.raises(DeadlineError):
        evaluate('iqrr(filter(""))', lambda _: traces, checkpoint=stop)


def test_functions_in_blocks_give_what_they_give_at_once() -> None:
    values = np.random.default_rng(1).normal(10, 1, (9000, 300))
    traces = Traces(tuple(f",a={number}," for number in range(9000)), values)
    found = evaluate('norm(filter(""))', lambda _: traces).values
    expected = (values - values.mean(axis=1, keepdims=True)) / values.std(axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_allclose(evaluate('ave(filter(""))', lambda _: traces).values[0], values.mean(axis=0))


def test_without_a_budget_nothing_is_limited() -> None:
    check_time()
    check_values(10**9, 10**9)
    assert remaining_seconds() is None


def test_a_budget_counts_values_before_they_are_read() -> None:
    with spending(Budget.begin(60, 100)):
        check_values(10, 10)
        with pytest.raises(InputError, match="would read 10 traces × 11 commits"):
            check_values(10, 11)
    check_values(10, 11)


OVER: Final = Budget(1.0, 10**9, 0.0)
"""A budget whose time is up."""


def test_the_store_begins_nothing_when_the_time_is_up(wide: Instance) -> None:
    (repository,) = wide.store.commits.repositories()
    with spending(OVER), pytest.raises(DeadlineError):
        wide.store.traces.select(repository, parse_query(""))
    with spending(OVER), pytest.raises(DeadlineError), wide.store.transaction():
        pass
    assert len(wide.store.traces.select(repository, parse_query(""))) == TRACES


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 1_000_000,
        b'{"ids":' * 100_000,
        b"1" * 1_000_000,
        b'{"ids": [1e999999]}',
        b'{"ids": [' + b"9" * 5000 + b"]}",
        b'{"ids": [' + b"1," * 200_000 + b"1]}",
        b'{"keys": ["\\ud800"]}',
        b"\xff\xfe",
    ],
)
@pytest.mark.parametrize("path", ["triage", "shortcuts"])
def test_a_body_that_is_made_to_break_the_parser_is_refused(instance: Instance, path: str, body: bytes) -> None:
    client = Client(create_app(instance))
    answer = client.post(f"/api/v1/{path}", content=body, headers={"content-type": "application/json"})
    assert answer.status_code in {400, 422}
    assert answer.json()["error"]
    assert answer.json()["remedy"]


def test_many_large_bodies_are_refused_before_they_are_parsed(instance: Instance) -> None:
    client = limited(instance, large_bodies_per_minute=2)
    body = b"{" + b" " * 30_000 + b"}"
    codes = [client.post("/api/v1/triage", content=body).status_code for _ in range(3)]
    assert (429 in codes[:2], codes[2]) == (False, 429)
    assert client.post("/api/v1/triage", content=body[:10]).status_code != 429
    refused = client.post("/api/v1/triage", content=body)
    assert int(refused.headers["retry-after"]) > 0
    assert refused.json()["remedy"]
