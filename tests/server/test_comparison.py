"""Two commits, and results that are sent with a commit, are compared through the API."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.server.client import Client
from tests.server.story import COMMITS, SLOWER, commit_hash, results_of

from knickpoint.answers.comparisons import mean_change
from knickpoint.instance import Instance
from knickpoint.model.judged_benchmark import JudgedBenchmark
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better
from knickpoint.server import create_app

URL = "/api/v1/comparison"


def compare(client: Client, **params: Any) -> dict[str, Any]:
    answer = client.get(URL, params=params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_the_verdicts_are_those_between_the_two_commits_the_worst_first(reader: Client) -> None:
    found = compare(reader, base=commit_hash(SLOWER - 1), head=commit_hash(SLOWER + 5))
    verdicts = {row["params"]["benchmark"]: row["verdict"] for row in found["traces"]}
    assert verdicts == {"parse": "regressed", "print": "regressed", "load": "unchanged", "idle": "unchanged"}
    parse = found["traces"][0]
    assert parse["params"]["benchmark"] == "parse"
    assert parse["low"] < parse["relative_size"] < parse["high"]
    assert parse["relative_size"] == pytest.approx(0.25, abs=0.02)
    assert len(parse["new"]) == 3
    assert found["counts"] == {"regressed": 2, "unchanged": 2}


def test_only_what_changed_is_listed_on_request_and_all_is_counted(reader: Client) -> None:
    found = compare(reader, base=commit_hash(SLOWER - 1), head=commit_hash(SLOWER + 5), changed=True)
    assert {row["verdict"] for row in found["traces"]} == {"regressed"}
    assert (found["total"], found["compared"]) == (2, 4)


def test_a_query_selects_the_traces(reader: Client) -> None:
    found = compare(reader, base=commit_hash(SLOWER - 1), head=commit_hash(SLOWER + 5), query="benchmark=load")
    assert [row["params"]["benchmark"] for row in found["traces"]] == ["load"]


def test_a_day_stands_for_its_last_commit_and_newest_for_the_newest(reader: Client) -> None:
    # Commits are 7 hours apart, the first one at 9:00 on 1 January.
    found = compare(reader, base="2026-01-02")
    assert (found["base"]["commit"]["position"], found["head"]["commit"]["position"]) == (5, COMMITS - 1)


def test_the_list_comes_in_pages(reader: Client) -> None:
    both = {"base": commit_hash(SLOWER - 1), "head": commit_hash(SLOWER + 5)}
    whole = [row["trace_id"] for row in compare(reader, **both)["traces"]]
    pages = [row["trace_id"] for first in (0, 3) for row in compare(reader, **both, first=first, limit=3)["traces"]]
    assert pages == whole


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"base": "nothing"}, "no commit 'nothing'"),
        ({"base": "2025-01-01"}, "no commit up to 2025-01-01"),
        ({"base": "newest"}, "base has every commit of the head"),
        ({"base": commit_hash(9), "head": commit_hash(5)}, "base has every commit of the head"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_reason(
    reader: Client, params: dict[str, str], message: str
) -> None:
    answer = reader.get(URL, params=params)
    assert answer.status_code in {400, 404}
    assert message in answer.json()["error"]
    assert answer.json()["remedy"]


# ---- Results that are sent


SLOW = results_of({"speed": {"parse": 1400.0, "print": 500.0, "load": 8000.0, "idle": 200.0}})


def send(client: Client, content: bytes, **params: Any) -> dict[str, Any]:
    answer = client.post(URL, params={"name": "mine.json", "base": commit_hash(SLOWER - 1), **params}, content=content)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_results_file_is_judged_against_the_history_up_to_a_commit(reader: Client) -> None:
    found = send(reader, SLOW)
    verdicts = {row["params"]["benchmark"]: row["verdict"] for row in found["traces"]}
    assert verdicts == {"parse": "regressed", "print": "unchanged", "load": "unchanged", "idle": "unchanged"}
    assert found["traces"][0]["new"] == [1400.0]
    assert len(found["traces"][0]["past"]) == SLOWER
    assert (found["head"]["file"], found["head"]["runs"], found["head"]["commit"]) == ("mine.json", 1, None)
    assert found["base"]["commit"]["hash"] == commit_hash(SLOWER - 1)


def test_results_that_are_compared_are_not_stored(reader: Client) -> None:
    def stored() -> list[Any]:
        return [reader.get(f"/api/v1/{path}").json() for path in ("traces", "commits")]

    before = stored()
    send(reader, results_of({"speed": {"never seen": 1.0}}), partial=True)
    assert stored() == before


def test_a_benchmark_that_the_file_lacks_has_vanished_unless_it_is_only_a_part(reader: Client) -> None:
    content = results_of({"speed": {"parse": 1000.0, "print": 500.0}})
    vanished = {row["params"]["benchmark"] for row in send(reader, content)["traces"] if row["verdict"] == "regressed"}
    assert vanished == {"load", "idle"}
    assert send(reader, content, partial=True)["counts"] == {"unchanged": 2}


def test_a_result_whose_name_cannot_be_read_refuses_the_file_unless_it_is_only_a_part(reader: Client) -> None:
    content = b"BenchmarkSound-2 \t 100\t 2 ns/op\n20727379\t 1.474 ns/op\nPASS\n"
    answer = reader.post(URL, params={"name": "mine.txt", "base": commit_hash(SLOWER - 1)}, content=content)
    assert answer.status_code == 400
    assert "looks like a result, and has no name" in answer.json()["error"]
    assert "line 2" in send(reader, content, partial=True)["warnings"][0]


def test_a_benchmark_that_the_history_does_not_know_has_no_data_and_no_trace(reader: Client) -> None:
    [row] = send(reader, results_of({"speed": {"never seen": 1.0}}), partial=True)["traces"]
    assert (row["trace_id"], row["verdict"]) == (None, "no data")


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"\x00\x01", "No format fits this file"),
        (b'[{"name": "parse", "value": 1', "incomplete"),
        (results_of({"speed": {f"case {number}": 1.0 for number in range(2_001)}}), "results of 2,001 traces"),
    ],
    ids=["no format", "cut off", "too many"],
)
def test_a_file_that_cannot_be_compared_is_refused_with_its_name_and_the_remedy(
    reader: Client, content: bytes, error: str
) -> None:
    answer = reader.post(URL, params={"name": "mine.json"}, content=content)
    assert answer.status_code == 400
    found = answer.json()
    assert error in found["error"]
    assert "mine.json" in found["where"]
    assert found["remedy"]


def test_a_file_larger_than_a_body_may_be_is_refused(reader: Client) -> None:
    answer = reader.post(URL, params={"name": "mine.json"}, content=b" " * 4_000_001)
    assert answer.status_code == 413
    assert "larger than 4,000,000 bytes" in answer.json()["error"]


def test_someone_unknown_from_elsewhere_compares_nothing_where_they_may_not_read(instance: Instance) -> None:
    client = Client(create_app(instance), peer="203.0.113.7")
    assert client.post(URL, params={"name": "mine.json"}, content=SLOW).status_code == 401


# ---- Two files


def several(*runs: dict[str, float]) -> bytes:
    """Return a results file of several runs without commits: benchmark → nanoseconds."""
    rows = [f"{number},{name},ns,{value}" for number, run in enumerate(runs) for name, value in run.items()]
    return "\n".join(["run,benchmark,unit,value", *rows, ""]).encode()


STEADY = several(*({"parse": 1000.0 + wobble, "print": 500.0 + wobble} for wobble in (0, 3, -2, 1, -3, 2)))
SLOWER_PARSE = several({"parse": 1300.0, "print": 500.0}, {"parse": 1305.0, "print": 501.0})


def send_both(client: Client, base: bytes, new: bytes, **params: Any) -> Any:
    sizes = {"base_name": "old.csv", "base_bytes": len(base), "name": "new.csv"}
    return client.post(URL, params={**sizes, **params}, content=base + new)


def test_two_files_in_one_body_are_judged_against_each_other(reader: Client) -> None:
    found = send_both(reader, STEADY, SLOWER_PARSE).json()
    verdicts = {row["params"]["benchmark"]: row["verdict"] for row in found["traces"]}
    assert verdicts == {"parse": "regressed", "print": "unchanged"}
    assert [(found[side]["file"], found[side]["runs"]) for side in ("base", "head")] == [("old.csv", 6), ("new.csv", 2)]
    assert not found["by_samples"]


def test_traces_of_two_files_lead_to_the_history_where_it_knows_them(reader: Client) -> None:
    content = results_of({"speed": {"parse": 1.0, "never seen": 1.0}})
    found = send_both(reader, content, content).json()
    known = {row["params"]["benchmark"]: row["trace_id"] for row in found["traces"]}
    trace = reader.get("/api/v1/traces", params={"query": "benchmark=parse"}).json()
    assert known == {"parse": trace["traces"][0]["id"], "never seen": None}


def test_the_file_that_is_wrong_is_named_with_the_place_in_it(reader: Client) -> None:
    broken = STEADY.replace(b"2,parse,ns,998.0", b"2,parse,ns")
    for base, new, name in ((broken, STEADY, "old.csv"), (STEADY, broken, "new.csv")):
        answer = send_both(reader, base, new)
        assert answer.status_code == 400
        assert answer.json()["where"] == f"{name}, line 6"


def test_a_value_that_is_none_is_named_with_its_file_and_line(reader: Client) -> None:
    odd = STEADY.replace(b"2,parse,ns,998.0", b"2,parse,ns,fast")
    [warning] = send_both(reader, odd, SLOWER_PARSE).json()["warnings"]
    assert warning.startswith("old.csv: ,benchmark=parse, has no value in one run: 'fast'")
    assert warning.endswith("line 6")
    assert send_both(reader, STEADY, SLOWER_PARSE).json()["warnings"] == []


def test_two_files_of_one_name_are_told_apart(reader: Client) -> None:
    answer = send_both(reader, STEADY, b"\x00\x01", base_name="results.csv", name="results.csv")
    assert answer.json()["where"].startswith("new results.csv")


def test_an_empty_file_and_a_size_beyond_the_body_are_refused(reader: Client) -> None:
    for params, where in (({"base_bytes": 0}, "old.csv"), ({"base_bytes": 10_000}, "base_bytes")):
        answer = send_both(reader, STEADY, SLOWER_PARSE, **params)
        assert answer.status_code == 400
        assert answer.json()["where"].startswith(where)
    assert send_both(reader, STEADY, b"").json()["where"].startswith("new.csv")


def test_two_files_together_may_be_as_large_as_a_body(reader: Client) -> None:
    answer = send_both(reader, STEADY, b" " * 4_000_000)
    assert answer.status_code == 413


def test_two_files_are_not_stored(reader: Client) -> None:
    def stored() -> list[Any]:
        return [reader.get(f"/api/v1/{path}").json() for path in ("traces", "commits")]

    before = stored()
    send_both(reader, STEADY, SLOWER_PARSE)
    assert stored() == before


def test_a_query_selects_traces_of_sent_files_too(reader: Client) -> None:
    for found in (
        send(reader, SLOW, query="parse"),
        send_both(reader, STEADY, SLOWER_PARSE, query="parse").json(),
    ):
        assert [row["params"]["benchmark"] for row in found["traces"]] == ["parse"]
        assert found["query"] == "parse"


def test_a_query_that_selects_nothing_of_a_file_is_refused(reader: Client) -> None:
    answer = send_both(reader, STEADY, SLOWER_PARSE, query="nothing")
    assert (answer.status_code, answer.json()["where"]) == (400, "query")


# ---- A summary of the samples


def test_a_percentile_without_its_samples_is_refused_by_the_same_words_for_commits_and_files(reader: Client) -> None:
    commits = compare(reader, base=commit_hash(SLOWER - 1), summary="p99")
    sent = send(reader, SLOW, summary="p99")
    for found in (commits, sent):
        assert found["summary"] == "p99"
        assert {row["verdict"] for row in found["traces"]} == {"no data"}
        assert "too few samples: p99 needs 100 samples of a run" in found["traces"][0]["reason"]


def test_a_summary_that_there_is_not_is_refused(reader: Client) -> None:
    answer = reader.get(URL, params={"base": commit_hash(1), "summary": "p100"})
    assert answer.status_code == 400
    assert "no summary 'p100'" in answer.json()["error"]


# ---- By suite


def test_the_list_is_parted_by_suite_with_a_sum_for_each_that_with_the_worst_first(reader: Client) -> None:
    slower, same = {"parse": 1400.0, "print": 500.0}, {"parse": 1.0, "print": 2.0}
    content = results_of({"fresh": same, "speed": slower})
    found = send(reader, content, partial=True, by_suite=True)
    assert found["by"] == "suite"
    assert found["suites"] == [
        {"name": "speed", "counts": {"regressed": 1, "unchanged": 1}},
        {"name": "fresh", "counts": {"no data": 2}},
    ]
    assert [row["suite"] for row in found["traces"]] == ["speed", "speed", "fresh", "fresh"]


def test_a_suite_in_which_nothing_changed_has_a_sum_without_rows(reader: Client) -> None:
    content = results_of({"fresh": {"a": 1.0, "b": 1.0}, "speed": {"parse": 1400.0, "print": 500.0}})
    found = send(reader, content, partial=True, by_suite=True, changed=True)
    assert [row["suite"] for row in found["traces"]] == ["speed"]
    assert [suite["name"] for suite in found["suites"]] == ["speed", "fresh"]


def test_traces_of_one_suite_are_one_list(reader: Client) -> None:
    found = send(reader, SLOW, by_suite=True)
    assert (found["by"], found["suites"]) == ("", [])


# ---- The sum, and the search for commits


def test_the_mean_of_a_comparison_has_an_interval_and_the_range_of_the_changes(reader: Client) -> None:
    found = compare(reader, base=commit_hash(SLOWER - 1), head=commit_hash(SLOWER + 5))
    mean, sizes = found["mean"], [row["relative_size"] for row in found["traces"]]
    assert mean["traces"] == 4
    assert mean["better"] == "lower"
    assert mean["change"] == pytest.approx(math.prod(1 + size for size in sizes) ** 0.25 - 1)
    assert mean["low"] < mean["change"] < mean["high"]
    assert (mean["least"], mean["most"]) == (pytest.approx(min(sizes)), pytest.approx(max(sizes)))


def test_traces_for_which_higher_is_better_count_by_their_inverse_beside_others() -> None:
    def judged(size: float, better: Better) -> JudgedBenchmark:
        return JudgedBenchmark(
            ",a=1,", "x", Verdict.UNCHANGED, "", better, relative_size=size, low=size - 0.01, high=size + 0.01
        )

    mean = mean_change([judged(1.0, Better.HIGHER), judged(-0.5, Better.LOWER)])
    assert mean.better is Better.LOWER
    assert mean.change == pytest.approx(-0.5)
    alone = mean_change([judged(1.0, Better.HIGHER)])
    assert alone.better is Better.HIGHER
    assert alone.change == pytest.approx(1.0)
    assert mean_change([]).change is None


def test_commits_are_found_by_words_the_newest_first(reader: Client) -> None:
    def search(text: str) -> list[int]:
        found = reader.get("/api/v1/commits", params={"text": text, "limit": 3}).json()["commits"]
        return [commit["position"] for commit in found]

    assert search("") == [COMMITS - 1, COMMITS - 2, COMMITS - 3]
    assert search("BRACKET every") == [SLOWER]
    assert search(commit_hash(7)[:12]) == [7]
    assert search("nothing like it") == []


def test_only_commits_with_results_are_listed_on_request(client: Client, instance: Instance) -> None:
    store = instance.store
    (repository,) = store.commits.repositories()
    newest = store.commits.line(repository).slots[-1]
    store.runs.remove(repository, [run.id for run in store.runs.heads(repository) if run.slot == newest])
    found = client.get("/api/v1/commits", params={"measured": True, "limit": 2}).json()["commits"]
    assert [commit["position"] for commit in found] == [COMMITS - 2, COMMITS - 3]
