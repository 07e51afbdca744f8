"""Locust and mitata."""

from __future__ import annotations

import json

import pytest
from tests.formats.files import HERE, by, golden, made

from knickpoint.formats import read_found, read_report
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome
from knickpoint.model.unit_names import Better

_HISTORY = (
    b"Timestamp,User Count,Type,Name,Requests/s,Failures/s,50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,100%,"
    b"Total Request Count,Total Failure Count,Total Median Response Time,Total Average Response Time,"
    b"Total Min Response Time,Total Max Response Time,Total Average Content Size\n"
    b"1795331133,3,,Aggregated,0.0,0.0,5,6,6,7,9,11,85,85,85,85,85,48,9,5,7.2,1.6,85.0,2.0\n"
    b"1795331134,3,,Aggregated,9.5,1.0,5,6,6,6,9,10,11,27,85,85,85,102,18,5,5.9,1.5,85.0,2.0\n"
)
_FAILURES = b"Method,Name,Error,Occurrences,First Seen,Last Seen\nGET,/bad,HTTPError('500'),44,2026-11-22T07:05:33Z,\n"
_EXCEPTIONS = b"Count,Message,Traceback,Nodes\n"


def test_locust_gives_the_median_response_time_of_every_request_and_of_all() -> None:
    report = golden("locust-*.csv")
    result = by(report, benchmark="list items", method="GET", metric="response_time")
    assert (result.samples, result.unit, result.better) == ((5.0,), "ms", Better.LOWER)
    assert result.summary == {"requests": 126.0, "failures": 0.0}
    assert by(report, benchmark="Aggregated", metric="response_time").summary["requests"] == 213.0


@pytest.mark.parametrize(
    ("stat", "value"), [("mean", 5.521349317470075), ("p99", 27.0), ("p99.9", 85.0), ("max", 85.0937889999841)]
)
def test_locust_gives_other_statistics_as_series(stat: str, value: float) -> None:
    report = golden("locust-*.csv")
    assert by(report, benchmark="list items", method="GET", metric="response_time", stat=stat).samples == (value,)


def test_of_locust_more_requests_and_fewer_failures_per_second_are_better() -> None:
    report = golden("locust-*.csv")
    requests = by(report, benchmark="/bad", method="GET", metric="requests")
    failures = by(report, benchmark="/bad", method="GET", metric="failures")
    assert (requests.unit, requests.better) == ("requests/s", Better.HIGHER)
    assert (failures.unit, failures.better, failures.samples) == ("failures/s", Better.LOWER, requests.samples)


def test_a_request_that_locust_never_made_was_skipped() -> None:
    head, *rest = (HERE / "golden" / "locust-2.47.0.csv").read_text().splitlines()
    cells = ["GET", "/never", "0", "0", "0", "0.0", "0", "0", "0", "0.0", "0.0", *["N/A"] * (head.count(",") - 10)]
    report, _ = read_report("\n".join([head, ",".join(cells), *rest, ""]).encode())
    assert by(report, benchmark="/never", method="GET", metric="response_time").outcome is Outcome.SKIPPED


@pytest.mark.parametrize("data", [_HISTORY, _FAILURES, _EXCEPTIONS], ids=["history", "failures", "exceptions"])
def test_the_other_tables_of_locust_are_refused_with_the_one_to_import_and_left_alone_in_folders(data: bytes) -> None:
    with pytest.raises(FormatError, match=r"holds no results.*Import PREFIX_stats.csv"):
        read_report(data, name="out_stats_history.csv")
    assert read_found(data) is None


def test_the_history_of_locust_is_refused_where_its_format_is_named() -> None:
    with pytest.raises(FormatError, match=r"a row for each second.*Import PREFIX_stats.csv"):
        read_report(_HISTORY, format="locust")


def test_the_json_of_locust_has_the_series_of_its_table_from_the_histogram() -> None:
    (entry,) = (
        entry
        for entry in json.loads((HERE / "golden" / "locust-2.47.0.json").read_text())
        if entry["name"] == "list items"
    )
    report = golden("locust-*.json")
    median = by(report, benchmark="list items", method="GET", metric="response_time")
    times = sorted(float(time) for time, count in entry["response_times"].items() for _ in range(count))
    assert (median.samples, median.unit) == ((times[(len(times) - 1) // 2],), "ms")
    assert median.summary == {"requests": entry["num_requests"], "failures": 0.0}
    assert by(report, benchmark="list items", method="GET", metric="requests").better is Better.HIGHER
    assert by(report, benchmark="/bad", method="GET", metric="failures").samples[0] > 0
    table = {tuple(result.params.items()) for result in golden("locust-*.csv").runs[0].results}
    assert {tuple(result.params.items()) for result in report.runs[0].results} <= table


def test_mitata_gives_the_median_in_nanoseconds_and_memory_in_bytes() -> None:
    report = golden("mitata-*.json")
    time = by(report, benchmark="sort 100", suite="sorts", metric="time")
    assert (time.samples, time.unit, time.better) == ((7847.659912109375,), "ns", Better.LOWER)
    heap = by(report, benchmark="sort 100", suite="sorts", metric="heap")
    assert (heap.samples, heap.unit) == ((3005.496484375,), "B")


def test_arguments_of_mitata_are_params() -> None:
    result = by(golden("mitata-*.json"), benchmark="arr($n,$m)", n="100", m="2", metric="time", stat="p99")
    assert result.samples == (212.281494140625,)


def test_a_benchmark_of_mitata_that_threw_failed_with_its_message() -> None:
    result = by(golden("mitata-*.json"), benchmark="throws", metric="time")
    assert (result.outcome, result.message) == (Outcome.FAILED, "boom")


def test_mitata_tells_when_and_where_it_ran() -> None:
    run = golden("mitata-*.json").runs[0]
    assert run.time is not None
    assert run.time.isoformat() == "2026-11-22T07:05:13.506000+00:00"
    assert {"arch", "runtime", "version", "cpu"} == run.environment.keys()


def _mitata(**run: object) -> bytes:
    benchmark = {"alias": "a $x", "group": 0, "runs": [{"name": "a 1", "args": {}, **run}]}
    return json.dumps({"layout": [{"name": None}], "benchmarks": [benchmark], "context": {}}).encode()


@pytest.mark.parametrize("arguments", [{"x": [1, 2]}, {"x": {"y": 1}}, {"metric": 1}])
def test_arguments_that_are_no_plain_params_leave_the_name_of_the_run(arguments: object) -> None:
    report, _ = read_report(_mitata(args=arguments, stats={"p50": 1.5}))
    assert report.runs[0].results[0].params == {"benchmark": "a 1", "metric": "time"}


def test_samples_of_mitata_stay_out() -> None:
    report, _ = read_report(_mitata(stats={"samples": [1.0, 2.0, 9.0], "p50": 2.0}))
    assert [result.samples for result in report.runs[0].results] == [(2.0,)]


def test_memory_that_mitata_never_saw_grow_makes_no_series() -> None:
    report, _ = read_report(_mitata(stats={"p50": 2.0, "heap": {"_": 0, "total": 0, "avg": None}}))
    assert len(report.runs[0].results) == 1


def test_vegeta_gives_latency_and_the_requests_that_succeeded() -> None:
    report = made("vegeta.json")
    latency = by(report, benchmark="vegeta", metric="latency")
    assert (latency.samples, latency.unit, latency.better) == ((9870250.0,), "ns", Better.LOWER)
    assert by(report, benchmark="vegeta", metric="latency", stat="p99").samples == (31007000.0,)
    rate = by(report, benchmark="vegeta", metric="throughput")
    assert (rate.samples, rate.unit, rate.better) == ((50.7758,), "requests/s", Better.HIGHER)
    assert rate.message == "4 of 200 requests failed"


def test_oha_gives_requests_bytes_and_response_times() -> None:
    report = made("oha.json")
    assert by(report, benchmark="oha", metric="requests").samples == (5021.25,)
    assert by(report, benchmark="oha", metric="throughput").unit == "B/s"
    time = by(report, benchmark="oha", metric="response_time")
    assert (time.samples, time.unit, time.better) == ((0.00187,), "s", Better.LOWER)
    assert by(report, benchmark="oha", metric="response_time", stat="p99.9").samples == (0.0251,)


def test_requests_that_the_end_of_the_test_of_oha_cut_off_are_no_failures() -> None:
    assert by(made("oha.json"), benchmark="oha", metric="requests").message == "11 of 10,050 requests failed"


@pytest.mark.parametrize(
    ("name", "changed"),
    [("vegeta", {"success": 0}), ("oha", {"statusCodeDistribution": {"503": 10050}})],
)
def test_a_load_test_of_which_all_requests_failed_has_no_values(name: str, changed: dict[str, object]) -> None:
    document = json.loads((HERE / "made" / f"{name}.json").read_bytes()) | changed
    report, _ = read_report(json.dumps(document).encode())
    assert {result.outcome for result in report.runs[0].results} == {Outcome.FAILED}
