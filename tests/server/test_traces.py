"""Traces: lists, facets, values, changes, runs, explanations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.server.client import Client
from tests.server.story import COMMITS, FASTER, SLOWER, UNMEASURED, commit_hash

from knickpoint.answers.values import value_factors
from knickpoint.instance import Instance
from knickpoint.model.errors import StoreError
from knickpoint.model.judged_benchmark import NewestVerdict
from knickpoint.model.step import Verdict
from knickpoint.plots.shapes import thin
from knickpoint.server import create_app


def ask(reader: Client, path: str, **parameters: Any) -> Any:
    answer = reader.get(f"/api/v1/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def trace_id(reader: Client, benchmark: str) -> int:
    found = ask(reader, "traces", query=f"benchmark={benchmark}")["traces"]
    return int(found[0]["id"])


def series(reader: Client, ids: list[int], **parameters: Any) -> list[tuple[int, NDArray[Any], NDArray[Any]]]:
    answer = reader.get("/api/v1/values", params={"traces": ",".join(map(str, ids)), **parameters})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/octet-stream"
    numbers = np.frombuffer(answer.content, dtype="<f8")
    found = []
    while len(numbers):
        points, measured = int(numbers[0]), int(numbers[1])
        found.append((measured, numbers[2 : 2 + points], numbers[2 + points : 2 + 2 * points]))
        numbers = numbers[2 + 2 * points :]
    return found


def test_traces_are_found_by_query(reader: Client) -> None:
    answer = ask(reader, "traces", query="benchmark=parse|print")
    assert answer["total"] == 2
    assert [trace["params"]["benchmark"] for trace in answer["traces"]] == ["parse", "print"]


def test_traces_come_page_by_page(reader: Client) -> None:
    answer = ask(reader, "traces", offset=1, limit=2)
    assert (answer["total"], answer["offset"], len(answer["traces"])) == (4, 1, 2)


def test_a_query_that_cannot_be_read_says_where(reader: Client) -> None:
    answer = reader.get("/api/v1/traces", params={"query": "benchmark~["})
    assert answer.status_code == 400
    assert answer.json()["error"]


def test_facets_offer_the_other_values_of_a_param_that_is_asked_for(reader: Client) -> None:
    answer = ask(reader, "facets", query="benchmark=parse")
    facet = next(facet for facet in answer["facets"] if facet["name"] == "benchmark")
    assert answer["total"] == 1
    assert {value["value"] for value in facet["values"]} == {"idle", "load", "parse", "print"}


def test_values_come_as_binary_numbers_with_their_positions(reader: Client) -> None:
    ((measured, positions, values),) = series(reader, [trace_id(reader, "parse")])
    assert measured == COMMITS
    assert positions.tolist() == list(range(COMMITS))
    assert values[SLOWER:].mean() == pytest.approx(1250, rel=0.01)


def test_a_stored_value_reads_back_as_it_came(reader: Client) -> None:
    key = trace_id(reader, "load")
    ((_, positions, values),) = series(reader, [key])
    (run,) = ask(reader, f"traces/{key}/runs", commit=commit_hash(3))
    assert values[positions.tolist().index(3)] == run["value"] == run["samples"][0]


def test_commits_that_were_not_measured_have_no_value(reader: Client) -> None:
    ((measured, positions, _),) = series(reader, [trace_id(reader, "load")])
    assert measured == COMMITS - len(UNMEASURED)
    assert not set(positions) & set(UNMEASURED)


def test_several_traces_come_in_the_order_asked_for(reader: Client) -> None:
    ids = [trace_id(reader, name) for name in ("print", "load", "parse")]
    levels = [values[0] for _, _, values in series(reader, ids)]
    assert levels == pytest.approx([500, 8000, 1000], rel=0.02)


def test_values_of_a_window_keep_their_positions_on_the_line(reader: Client) -> None:
    ((_, positions, _),) = series(reader, [trace_id(reader, "parse")], first=10, last=12)
    assert positions.tolist() == [10, 11, 12]


def test_a_window_beyond_the_line_is_empty(reader: Client) -> None:
    ((measured, positions, _),) = series(reader, [trace_id(reader, "parse")], first=500, last=600)
    assert (measured, len(positions)) == (0, 0)


def test_many_values_are_thinned_out_and_say_so(reader: Client) -> None:
    key = trace_id(reader, "parse")
    ((_, _, whole),) = series(reader, [key])
    ((measured, positions, values),) = series(reader, [key], points=10)
    assert measured == COMMITS
    assert len(positions) <= 10
    assert (values.min(), values.max()) == (whole.min(), whole.max())


@given(st.lists(st.floats(-1e9, 1e9), max_size=200), st.integers(2, 50))
def test_thinning_keeps_order_and_extremes_within_its_budget(values: list[float], points: int) -> None:
    array = np.array(values, dtype=np.float64)
    kept = thin(array, points)
    assert len(kept) <= max(points, 2)
    assert (np.diff(kept) > 0).all()
    if values:
        assert {array[kept].min(), array[kept].max()} == {array.min(), array.max()}


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=200), st.integers(4, 50))
def test_thinning_keeps_the_first_and_the_newest_value(values: list[float], points: int) -> None:
    kept = thin(np.array(values, dtype=np.float64), points)
    assert (kept[0], kept[-1]) == (0, len(values) - 1)


def test_values_come_compressed_for_who_takes_that(reader: Client) -> None:
    parameters = {"traces": "0,1,2,3"}
    plain = reader.get("/api/v1/values", params=parameters, headers={"accept-encoding": "identity"})
    packed = reader.get("/api/v1/values", params=parameters, headers={"accept-encoding": "gzip"})
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"])
    assert packed.content == plain.content


def compact_series(content: bytes) -> list[tuple[int, list[float], list[float]]]:
    found = []
    while content:
        points, measured = (int(number) for number in np.frombuffer(content[:8], "<u4"))
        factor = np.frombuffer(content[8:16], "<f8")[0]
        positions = np.frombuffer(content[16 : 16 + 4 * points], "<u4").cumsum()
        values = np.frombuffer(content[16 + 4 * points : 16 + 8 * points], "<f4").astype(np.float64) * factor
        found.append((measured, positions.tolist(), values.tolist()))
        content = content[16 + 8 * points :]
    return found


def rounded(found: list[tuple[int, NDArray[Any], NDArray[Any]]]) -> list[Any]:
    return [
        (measured, positions.tolist(), pytest.approx(values.tolist(), rel=1e-6))
        for measured, positions, values in found
    ]


def found_values(reader: Client, **parameters: Any) -> tuple[list[int], bool, bytes]:
    """Return the ids of the traces that a query finds, whether the values are compact, and these."""
    content = reader.get("/api/v1/values", params=parameters).content
    count, compact = np.frombuffer(content[:16], "<f8").astype(int)
    ids = np.frombuffer(content[16 : 16 + 8 * count], "<f8").astype(int).tolist()
    return ids, bool(compact), content[16 + 8 * count :]


@pytest.mark.parametrize("parameters", [{"first": 3}, {"points": 10}])
def test_compact_values_are_the_same_in_half_the_size(reader: Client, parameters: dict[str, Any]) -> None:
    ids = [trace_id(reader, "load"), trace_id(reader, "print")]
    named = {"traces": ",".join(map(str, ids)), "compact": True, **parameters}
    content = reader.get("/api/v1/values", params=named).content
    assert compact_series(content) == rounded(series(reader, ids, **parameters))


def test_values_of_a_query_come_with_the_ids_of_its_traces(reader: Client) -> None:
    listed = [trace["id"] for trace in ask(reader, "traces", query="benchmark=load|parse")["traces"]]
    ids, compact, content = found_values(reader, query="benchmark=load|parse", first=3)
    assert (ids, compact) == (listed, False)
    named = reader.get("/api/v1/values", params={"traces": ",".join(map(str, ids)), "first": 3})
    assert content == named.content
    as_json = ask(reader, "values", query="benchmark=load|parse", first=3, format="json")
    assert [each["trace"] for each in as_json] == listed


def test_without_a_query_there_are_the_values_of_the_first_traces_of_all(reader: Client) -> None:
    everything = [trace["id"] for trace in ask(reader, "traces")["traces"]]
    assert found_values(reader, limit=3)[0] == everything[:3]
    assert found_values(reader, query="benchmark=nothing") == ([], False, b"")


def test_a_crowd_shares_the_points_of_fewer_traces_and_is_compact(reader: Client) -> None:
    ids, compact, content = found_values(reader, points=40, crowd=2)
    assert (len(ids), compact) == (4, True)
    assert compact_series(content) == rounded(series(reader, ids, points=20))
    few, compact, content = found_values(reader, limit=2, points=40, crowd=2)
    assert (len(few), compact) == (2, False)
    whole = reader.get("/api/v1/values", params={"traces": ",".join(map(str, few)), "points": 40})
    assert content == whole.content


def test_values_are_of_ids_or_of_a_query(reader: Client) -> None:
    refused = reader.get("/api/v1/values", params={"traces": "0", "query": "benchmark=load"})
    assert (refused.status_code, refused.json()["where"]) == (400, "traces")


@pytest.mark.parametrize(("greatest", "factor"), [(0.0, 1), (1e30, 1), (1e300, 1e300), (3e-300, 3e-300)])
def test_values_beyond_the_range_of_float32_have_a_factor(greatest: float, factor: float) -> None:
    assert value_factors(np.array([greatest, 1.0])).tolist() == [factor, 1]


def test_traces_come_by_id_in_the_order_of_the_request(reader: Client) -> None:
    ids = [trace_id(reader, "print"), trace_id(reader, "parse")]
    answer = ask(reader, "traces", ids=",".join(map(str, ids)))
    assert [trace["id"] for trace in answer["traces"]] == ids
    assert answer["total"] == 2
    refused = reader.get("/api/v1/traces", params={"ids": "0", "query": "benchmark=parse"})
    assert (refused.status_code, refused.json()["where"]) == (400, "ids")


@pytest.mark.parametrize("traces", ["", "x", "1,-2", "9" * 20])
def test_ids_that_are_none_are_refused(reader: Client, traces: str) -> None:
    assert reader.get("/api/v1/values", params={"traces": traces}).status_code == 400


def test_levels_lie_between_the_changes(reader: Client) -> None:
    answer = ask(reader, f"traces/{trace_id(reader, 'parse')}/change-points")
    assert [(level["first"], level["last"]) for level in answer["regions"]] == [(0, SLOWER - 1), (SLOWER, COMMITS - 1)]
    assert [change["suspect_range"]["position"] for change in answer["change_points"]] == [SLOWER]
    assert (answer["measured"], answer["commits"]) == (COMMITS, COMMITS)


def test_a_level_ends_before_commits_that_were_not_measured(reader: Client) -> None:
    answer = ask(reader, f"traces/{trace_id(reader, 'load')}/change-points")
    assert [(level["first"], level["last"]) for level in answer["regions"]] == [(0, 39), (FASTER, COMMITS - 1)]


def test_a_trace_without_changes_is_one_level(reader: Client) -> None:
    answer = ask(reader, f"traces/{trace_id(reader, 'idle')}/change-points")
    assert (len(answer["regions"]), answer["change_points"]) == (1, [])
    assert answer["newest"] is None


def test_a_newest_value_that_does_not_belong_to_its_level_is_a_first_sign(instance: Instance, client: Client) -> None:
    key = trace_id(client, "idle")
    (repository, *_) = instance.store.commits.repositories()
    slot = instance.store.commits.line(repository).slots[-1]
    verdict = NewestVerdict(key, slot, Verdict.REGRESSED, 12.0, 10.0, 9.5, 10.5, 0.2, 0.001)
    instance.store.findings.newest.replace(repository, np.array([key]), [verdict])
    newest = ask(client, f"traces/{key}/change-points")["newest"]
    assert (newest["verdict"], newest["value"], newest["position"]) == ("regressed", 12.0, COMMITS - 1)


def test_a_change_has_a_kind_and_a_certainty(reader: Client) -> None:
    (change,) = ask(reader, f"traces/{trace_id(reader, 'parse')}/change-points")["change_points"]
    assert (change["kind"], change["certainty"], change["certainty_reason"]) == ("step", "settled", "")
    (change,) = ask(reader, f"traces/{trace_id(reader, 'load')}/change-points")["change_points"]
    listed = ask(reader, "changes", certainty=change["certainty"], kind="step", size=500)["changes"]
    assert change["change"] in {group["id"] for group in listed}
    assert ask(reader, "changes", kind="drift")["changes"] == []


def test_an_explanation_tells_the_place_that_was_accepted_and_why(reader: Client) -> None:
    answer = ask(reader, f"traces/{trace_id(reader, 'parse')}/explanation")
    accepted = [candidate for candidate in answer["candidates"] if candidate["accepted"]]
    assert [candidate["commit"]["hash"] for candidate in accepted] == [commit_hash(SLOWER)]
    assert accepted[0]["checks"]
    assert answer["alert"] == "default"


def test_a_place_that_was_accepted_leads_to_its_finding(reader: Client) -> None:
    key = trace_id(reader, "parse")
    finding = ask(reader, f"traces/{key}/change-points")["change_points"][0]["id"]
    answer = ask(reader, f"traces/{key}/explanation", commit=commit_hash(SLOWER))
    assert [each["finding"] for each in answer["candidates"] if each["accepted"]] == [finding]


def test_an_explanation_keeps_to_the_commit_that_is_asked_for(reader: Client) -> None:
    path = f"traces/{trace_id(reader, 'parse')}/explanation"
    whole, near = ask(reader, path), ask(reader, path, commit=commit_hash(3))
    assert [each for each in near["candidates"] if each["accepted"]] == []
    assert len(near["candidates"]) + near["omitted"] == len(whole["candidates"]) + whole["omitted"]


def test_an_alert_that_does_not_exist_cannot_explain(reader: Client) -> None:
    answer = reader.get(f"/api/v1/traces/{trace_id(reader, 'parse')}/explanation", params={"alert": "none"})
    assert answer.status_code == 404
    assert "default" in answer.json()["remedy"]


@pytest.mark.parametrize(
    "path", ["traces/77777", "traces/77777/change-points", "traces/77777/explanation", "values?traces=77777"]
)
def test_a_trace_that_does_not_exist_is_not_found(reader: Client, path: str) -> None:
    answer = reader.get(f"/api/v1/{path}")
    assert answer.status_code == 404
    assert answer.json()["where"] == "trace 77777"


def test_a_store_that_cannot_be_read_is_not_a_trace_that_is_not_there(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(_ids: object) -> None:
        raise StoreError("the store is damaged")

    monkeypatch.setattr(instance.store.traces, "owned", damaged)
    answer = Client(create_app(instance)).get("/api/v1/traces/0")
    assert (answer.status_code, answer.json()["error"]) == (503, "The store is damaged.")
