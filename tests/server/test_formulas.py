"""Formulas over traces, and short ids for sets of them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.client import Client
from tests.server.story import COMMITS, SLOWER


def calculate(client: Client, formula: str, **parameters: Any) -> Any:
    answer = client.get("/api/v1/formulas", params={"formula": formula, **parameters})
    assert answer.status_code == 200, answer.text
    return answer.json()


def key_of(client: Client, benchmark: str) -> str:
    found = client.get("/api/v1/traces", params={"query": f"benchmark={benchmark}"}).json()["traces"]
    return str(found[0]["key"])


def keep(client: Client, **what: list[str]) -> str:
    answer = client.post("/api/v1/shortcuts", json=what)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["id"])


def test_an_average_is_one_trace_in_the_unit_of_its_traces(reader: Client) -> None:
    answer = calculate(reader, 'ave(filter("benchmark=parse|print"))')
    (trace,) = answer["traces"]
    assert (answer["total"], trace["trace"], trace["unit"]) == (1, None, "ns/iter")
    assert trace["positions"] == list(range(COMMITS))
    assert trace["values"][0] == pytest.approx(750, rel=0.02)
    assert trace["values"][SLOWER] == pytest.approx(930, rel=0.02)


@pytest.mark.parametrize(
    ("formula", "unit"),
    [
        ('norm(filter("benchmark=parse"))', "σ"),
        ('ave(norm(filter("")))', "σ"),
        ('norm(filter("benchmark=parse")) - norm(filter("benchmark=print"))', "σ"),
        ('log(norm(filter("benchmark=parse")))', ""),
        ('filter("benchmark=parse") / filter("benchmark=print")', ""),
        ('2 * filter("benchmark=parse") - ave(filter(""))', "ns/iter"),
        ('1 / filter("benchmark=parse")', ""),
    ],
)
def test_a_unit_is_told_where_the_formula_keeps_it(reader: Client, formula: str, unit: str) -> None:
    assert {trace["unit"] for trace in calculate(reader, formula)["traces"]} == {unit}


def test_what_is_calculated_from_one_trace_leads_to_it(reader: Client) -> None:
    (trace,) = calculate(reader, 'norm(filter("benchmark=parse"))')["traces"]
    assert reader.get(f"/api/v1/traces/{trace['trace']}").json()["params"]["benchmark"] == "parse"


def test_only_as_many_traces_and_points_are_told_as_were_asked_for(reader: Client) -> None:
    answer = calculate(reader, 'filter("")', limit=2, points=10)
    assert (answer["total"], len(answer["traces"])) == (4, 2)
    assert (answer["traces"][0]["measured"] >= COMMITS - 5, len(answer["traces"][0]["values"]) <= 10) == (True, True)


@pytest.mark.parametrize(
    ("formula", "column"),
    [('ave(filter("a=b")', 18), ("nothing(1)", 1), ('filter("name~[")', 8), ('shortcut("x")', 10)],
)
def test_an_error_points_at_the_column(reader: Client, formula: str, column: int) -> None:
    answer = reader.get("/api/v1/formulas", params={"formula": formula})
    assert answer.status_code == 400
    assert f"column {column}" in answer.json()["where"], answer.json()
    assert answer.json()["error"]


def test_a_query_without_traces_gives_none(reader: Client) -> None:
    assert calculate(reader, 'filter("benchmark=none")')["traces"] == []


def test_the_same_set_has_the_same_short_id_in_any_order(client: Client) -> None:
    keys = [key_of(client, "parse"), key_of(client, "print")]
    assert keep(client, keys=keys) == keep(client, keys=keys[::-1])


def test_a_short_id_gives_back_its_traces_and_formulas(client: Client) -> None:
    formula = 'ave(filter("benchmark=load"))'
    name = keep(client, keys=[key_of(client, "parse")], formulas=[formula])
    answer = client.get(f"/api/v1/shortcuts/{name}").json()
    assert [trace["params"]["benchmark"] for trace in answer["traces"]] == ["parse"]
    assert answer["formulas"] == [formula]
    assert calculate(client, f'shortcut("{name}")')["total"] == 2


def test_a_short_id_that_was_never_given_is_not_found(reader: Client) -> None:
    assert reader.get("/api/v1/shortcuts/abc").status_code == 404


@pytest.mark.parametrize("body", [{}, {"keys": ["parse"]}, {"formulas": ["ave("]}])
def test_what_is_no_key_and_no_formula_gets_no_short_id(client: Client, body: dict[str, list[str]]) -> None:
    assert client.post("/api/v1/shortcuts", json=body).status_code == 400
