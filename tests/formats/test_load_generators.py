"""ApacheBench, fio, hey, iperf3, pgbench, redis-benchmark, sysbench and wrk: what they printed here."""

from __future__ import annotations

import json
import re

import pytest
from tests.formats.files import HERE, by, golden, only

from knickpoint.formats import fio, read_report
from knickpoint.formats.toolbox.file_content import FileContent
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome, Report
from knickpoint.model.unit_names import Better

_GOLDEN = HERE / "golden"


def text_of(pattern: str) -> str:
    (path,) = _GOLDEN.glob(pattern)
    return path.read_text(encoding="utf-8")


def read_text(text: str) -> Report:
    return read_report(text.encode())[0]


def address_in(text: str) -> str:
    found = re.search(r"http://127\.0\.0\.1:\d+/", text)
    assert found
    return found[0]


def test_wrk_gives_requests_per_second_by_address_threads_and_connections() -> None:
    text = text_of("wrk-4.1.0.txt")
    params = {"benchmark": address_in(text), "threads": "2", "connections": "4"}
    result = by(read_text(text), **params, metric="requests")
    rate = re.search(r"Requests/sec: +(\S+)", text)
    assert rate
    assert (result.samples, result.unit, result.better) == ((float(rate[1]),), "requests/s", Better.HIGHER)
    assert result.summary["failures"] == 0


def test_wrk_counts_its_kilobytes_by_1024() -> None:
    text = re.sub(r"Transfer/sec: +\S+", "Transfer/sec:     12.50MB", text_of("wrk-4.1.0.txt"))
    params = {"benchmark": address_in(text), "threads": "2", "connections": "4"}
    result = by(read_text(text), **params, metric="throughput")
    assert (result.samples, result.unit, result.better) == ((12.5,), "MiB/s", Better.HIGHER)


@pytest.mark.parametrize("printed", [True, False], ids=["with percentiles", "without"])
def test_the_median_is_the_latency_of_wrk_where_it_was_printed_else_the_mean(*, printed: bool) -> None:
    text = re.sub(r"( +Latency) +\S+ +\S+ +\S+", r"\1     2.00ms    1.00ms   9.00ms", text_of("wrk-4.1.0.txt"))
    text = re.sub(r"( +50%) +\S+", r"\1  750.00us", text)
    if not printed:
        text = re.sub(r" +Latency Distribution\n( +\d+% +\S+\n)+", "", text)
    params = {"benchmark": address_in(text), "threads": "2", "connections": "4", "metric": "latency"}
    report = read_text(text)
    value = by(report, **params)
    assert (value.samples, value.unit, value.better) == (
        ((750.0,), "us", Better.LOWER) if printed else ((2.0,), "ms", Better.LOWER)
    )
    assert by(report, **params, stat="max").samples == (9.0,)


@pytest.mark.parametrize(
    ("pattern", "metrics"),
    [
        ("wrk-*-failing.txt", {"requests", "throughput", "latency"}),
        ("hey-*-failing.txt", {"requests", "response_time"}),
        ("apache-bench-*-failing.txt", {"requests", "throughput", "latency"}),
        ("pgbench-*-failing.txt", {"transactions", "latency"}),
        ("sysbench-*-failing.txt", {"latency"}),
        ("iperf3-*-failing.json", {"throughput"}),
    ],
)
def test_a_test_of_which_nothing_succeeded_has_no_value(pattern: str, metrics: set[str]) -> None:
    results = golden(pattern).runs[0].results
    assert {result.params["metric"] for result in results} == metrics
    assert {result.outcome for result in results} == {Outcome.FAILED}
    assert all(result.message for result in results)


def test_values_beside_failed_requests_stay_with_their_number_and_a_warning() -> None:
    text = text_of("wrk-4.1.0.txt").replace("Requests/sec:", "  Non-2xx or 3xx responses: 3\nRequests/sec:")
    report, (warning,) = read_report(text.encode(), name="wrk.txt")
    params = {"benchmark": address_in(text), "threads": "2", "connections": "4"}
    result = by(report, **params, metric="requests")
    assert result.summary["failures"] == 3
    assert result.message == warning.message
    assert warning.where == "wrk.txt, line 1"


def test_requests_that_wrk_got_no_answer_to_are_failures_beside_those_it_counted() -> None:
    text = text_of("wrk-4.1.0.txt").replace(
        "Requests/sec:", "  Socket errors: connect 1, read 2, write 3, timeout 4\nRequests/sec:"
    )
    params = {"benchmark": address_in(text), "threads": "2", "connections": "4"}
    counted = re.search(r"(\d+) requests in", text)
    assert counted
    summary = by(read_text(text), **params, metric="requests").summary
    assert summary == {"requests": int(counted[1]) + 10, "failures": 10}


def test_several_reports_in_one_file_are_samples() -> None:
    text = text_of("wrk-4.1.0.txt")
    params = {"benchmark": address_in(text), "threads": "2", "connections": "4"}
    assert len(by(read_text(text + text), **params, metric="requests").samples) == 2


def test_hey_gives_the_median_response_time_in_seconds() -> None:
    text = text_of("hey-0.1.4.txt")
    median = re.search(r"50% in (\S+) secs", text)
    assert median
    report = read_text(text)
    result = by(report, benchmark="hey", metric="response_time")
    assert (result.samples, result.unit, result.better) == ((float(median[1]),), "s", Better.LOWER)
    assert by(report, benchmark="hey", metric="requests").summary == {"requests": 400, "failures": 0}


def test_of_hey_answers_with_an_error_status_are_failures() -> None:
    text = text_of("hey-0.1.4.txt").replace("[200]\t400 responses", "[200]\t380 responses\n  [503]\t20 responses")
    result = by(read_text(text), benchmark="hey", metric="requests")
    assert (result.summary["failures"], result.message) == (20, "20 of 400 requests failed")


def test_the_mean_is_the_latency_of_apache_bench_because_percentiles_are_rounded() -> None:
    text = text_of("apache-bench-2.3.txt")
    port = re.search(r"Server Port: +(\d+)", text)
    mean = re.search(r"Time per request: +(\S+) \[ms\] \(mean\)\n", text)
    assert port
    assert mean
    params = {"benchmark": f"http://127.0.0.1:{port[1]}/", "connections": "2"}
    report = read_text(text)
    assert by(report, **params, metric="latency").samples == (float(mean[1]),)
    assert by(report, **params, metric="latency", stat="p99").unit == "ms"
    assert by(report, **params, metric="throughput").unit == "KiB/s"


def test_documents_of_another_length_are_no_failures_of_apache_bench() -> None:
    text = text_of("apache-bench-2.3.txt").replace(
        "Failed requests:        0\n",
        "Failed requests:        7\n   (Connect: 0, Receive: 0, Length: 7, Exceptions: 0)\n",
    )
    assert {result.message for result in read_text(text).runs[0].results} == {""}
    broken = text.replace("Receive: 0", "Receive: 5")
    assert "5 of 400 requests failed" in {result.message for result in read_text(broken).runs[0].results}


def test_pgbench_gives_transactions_per_second_without_the_time_to_connect() -> None:
    text = text_of("pgbench-15.18.txt")
    rate = re.search(r"tps = (\S+) \(without", text)
    assert rate
    params = {"benchmark": "select only", "scale": "1", "mode": "simple", "clients": "2", "threads": "1"}
    result = by(read_text(text), **params, metric="transactions")
    assert (result.samples, result.unit, result.better) == ((float(rate[1]),), "transactions/s", Better.HIGHER)


def test_older_pgbench_prints_both_rates() -> None:
    text = re.sub(
        r"tps = .*",
        "tps = 85.2 (including connections establishing)\ntps = 86.5 (excluding connections establishing)",
        text_of("pgbench-15.18.txt"),
    )
    rates = [result.samples for result in read_text(text).runs[0].results if result.params["metric"] == "transactions"]
    assert rates == [(86.5,)]


def test_scripts_of_pgbench_have_series_of_their_own_with_their_weight() -> None:
    common = {"scale": "1", "mode": "prepared", "clients": "2", "threads": "2", "connect": "each transaction"}
    result = by(
        golden("pgbench-*-scripts.txt"),
        benchmark="multiple scripts",
        **common,
        script="select only",
        weight="8",
        metric="latency",
    )
    assert result.unit == "ms"
    assert "stddev" in result.summary


@pytest.mark.parametrize(
    ("kind", "params", "metric", "unit"),
    [
        ("cpu", {"threads": "2", "prime_limit": "2000"}, "events", "events/s"),
        (
            "memory",
            {"threads": "1", "block_size": "1KiB", "operation": "write", "scope": "global"},
            "throughput",
            "MiB/s",
        ),
        ("sql", {"threads": "1"}, "transactions", "transactions/s"),
        (
            "fileio",
            {"threads": "1", "block_size": "16KiB", "files": "4 files, 1MiB", "mode": "random r/w"},
            "reads",
            "reads/s",
        ),
    ],
)
def test_sysbench_gives_the_rate_of_each_kind_of_test(
    kind: str, params: dict[str, str], metric: str, unit: str
) -> None:
    result = by(golden(f"sysbench-*-{kind}.txt"), benchmark=kind, **params, metric=metric)
    assert (result.unit, result.better) == (unit, Better.HIGHER)


def test_a_time_that_sysbench_rounds_to_nothing_is_no_value() -> None:
    latencies = [
        result.samples
        for result in golden("sysbench-*-memory.txt").runs[0].results
        if result.params["metric"] == "latency"
    ]
    assert (0.0,) not in latencies


def test_reports_lines_and_tables_of_redis_benchmark_say_the_same_of_their_runs() -> None:
    reports = golden("redis-benchmark-7.0.15.txt")
    params = {"benchmark": "SET", "clients": "2", "payload": "3 bytes"}
    assert by(reports, **params, metric="requests").better is Better.HIGHER
    assert by(reports, **params, metric="latency").unit == "ms"
    assert by(reports, **params, metric="latency", stat="p99").better is Better.LOWER
    for name in ("redis-benchmark-7.0.15-quiet.txt", "redis-benchmark-7.0.15.csv"):
        report = golden(name)
        assert by(report, benchmark="SET", metric="requests").unit == "requests/s"
        assert by(report, benchmark="LRANGE_100 (first 100 elements)", metric="latency").unit == "ms"


def test_the_csv_of_redis_before_6_2_has_no_header() -> None:
    report = read_text('"SET","36363.64"\n"GET","41666.67"\n')
    assert by(report, benchmark="GET", metric="requests").samples == (41666.67,)


def test_fio_gives_operations_and_latencies_of_each_job_with_the_options_that_say_what_it_measures() -> None:
    report = golden("fio-*.json")
    params = {"benchmark": "sequential", "rw": "read", "bs": "64k", "ioengine": "sync", "operation": "read"}
    assert (by(report, **params, metric="iops").unit, by(report, **params, metric="iops").better) == (
        "IOPS",
        Better.HIGHER,
    )
    assert by(report, **params, metric="bandwidth").unit == "B/s"
    assert by(report, **params, metric="clat").samples <= by(report, **params, metric="clat", stat="p99").samples
    mixed = [result for result in report.runs[0].results if result.params["benchmark"] == "mixed"]
    assert {result.params["operation"] for result in mixed} == {"read", "write"}


def test_a_job_of_fio_that_ended_with_an_error_failed_for_what_it_was_to_do() -> None:
    document = json.loads(text_of("fio-*.json"))
    document["jobs"][0]["error"] = 28
    results = read_text(json.dumps(document)).runs[0].results
    failed = [result for result in results if result.outcome is Outcome.FAILED]
    assert [result.params["operation"] for result in failed] == ["read", "write"]
    assert {result.params["benchmark"] for result in failed} == {"mixed"}
    assert {result.message for result in failed} == {"fio ended with error 28"}


def test_messages_around_the_json_of_fio_do_no_harm() -> None:
    text = text_of("fio-*.json")
    around = read_text(f"note: queue depth will be capped at 1\n{text}\nfio: done\n")
    assert only(around).keys() == only(read_text(text)).keys()


def test_each_document_of_fio_among_messages_is_a_run() -> None:
    text = text_of("fio-*.json")
    assert len(read_text(f"note: one\n{text}\nnote: two\n{text}").runs) == 2


def fio_states(*states: tuple[int, int, float], between: str = "\n") -> str:
    """Return what fio prints with ``--status-interval``: the time, the runtime so far (ms) and the IOPS since the start."""
    document = json.loads(text_of("fio-*.json"))
    document["jobs"] = document["jobs"][1:2]
    (job,) = document["jobs"]
    texts = []
    for time, runtime, iops in states:
        job["job_runtime"], job["read"]["iops"] = runtime, iops
        texts.append(json.dumps(document | {"timestamp_ms": time}, indent=2))
    return between.join(texts)


def test_states_that_fio_prints_while_it_runs_are_no_runs_and_the_last_one_is_the_result() -> None:
    for between in ("\n", "\nfio: a message\n"):
        (run,) = read_text(
            fio_states((1000, 200, 90.0), (2000, 1200, 110.0), (2800, 2000, 105.0), between=between)
        ).runs
        assert [result.samples for result in run.results if dict(result.params)["metric"] == "iops"] == [(105.0,)]


def test_runs_of_fio_one_after_the_other_are_runs() -> None:
    assert len(read_text(fio_states((2000, 2000, 90.0), (4100, 2000, 95.0))).runs) == 2


def test_an_empty_list_of_documents_of_fio_has_no_run() -> None:
    parsed, _ = fio.read(FileContent(b"[]"))
    assert isinstance(parsed, Report)
    assert parsed.runs == ()


def test_fio_can_report_reading_and_writing_as_one() -> None:
    document = json.loads(text_of("fio-*.json"))
    for job in document["jobs"]:
        job["mixed"] = job.pop("read")
        del job["write"], job["trim"]
    params = {"benchmark": "sequential", "rw": "read", "bs": "64k", "ioengine": "sync", "operation": "mixed"}
    assert by(read_text(json.dumps(document)), **params, metric="iops").unit == "IOPS"


def test_that_a_signal_ended_fio_is_a_warning() -> None:
    _, problems = read_report(f"\nfio: terminating on signal 2\n{text_of('fio-*.json')}".encode())
    assert [(problem.message, problem.where) for problem in problems] == [
        ("a signal (2) ended fio: the values cover the run until then", "line 2")
    ]


def test_iperf3_gives_what_arrived_and_over_udp_what_was_lost() -> None:
    document = json.loads(text_of("iperf3-3.12.json"))
    params = {"benchmark": "iperf3", "host": "127.0.0.1", "block_size": "131072", "protocol": "TCP", "streams": "2"}
    result = by(read_text(json.dumps(document)), **params, metric="throughput")
    assert result.samples == (document["end"]["sum_received"]["bits_per_second"],)
    assert (result.unit, result.better) == ("bit/s", Better.HIGHER)
    assert by(read_text(json.dumps(document)), **params, metric="retransmits").better is Better.LOWER
    metrics = {result.params["metric"]: result for result in golden("iperf3-*-udp.json").runs[0].results}
    assert metrics.keys() == {"throughput", "jitter", "lost_packets"}
    assert metrics["lost_packets"].better is Better.LOWER


def test_perf_gives_each_event_and_skips_those_that_the_machine_cannot_count() -> None:
    for name in ("perf-stat-6.1.json", "perf-stat-6.1.csv", "perf-stat-6.1-one.txt"):
        report = golden(name)
        clock = by(report, benchmark="perf stat", metric="task-clock")
        assert (clock.unit, clock.better) == ("msec", Better.LOWER)
        assert by(report, benchmark="perf stat", metric="instructions").outcome is Outcome.SKIPPED
        assert report.runs[0].time is not None
    assert "stderr_percent" in by(golden("perf-stat-6.1.csv"), benchmark="perf stat", metric="page-faults").summary


@pytest.mark.parametrize(
    ("line", "params"),
    [
        ("CPU1,16,,context-switches,109141302,100.00,778.814,/sec", {"cpu": "1"}),
        ("S0,2,86,,context-switches,208215423,100.00,413.036,/sec", {"cpu": "S0"}),
        ('{"socket" : "S0", "aggregate-number" : 2, "counter-value" : "91.0", "unit" : "", "event" : "context-switches"}',
         {"socket": "S0"}),
    ],
)  # fmt: skip
def test_where_perf_counted_is_part_of_the_key(line: str, params: dict[str, str]) -> None:
    result = read_text(f"{line}\n").runs[0].results[0]
    assert result.params == {"benchmark": "perf stat", "metric": "context-switches", **params}


@pytest.mark.parametrize(
    "line",
    [
        "     0.100150144,0.83,msec,task-clock,828993,100.00,0.008,CPUs utilized",
        '{"interval" : 0.103, "counter-value" : "0.83", "unit" : "msec", "event" : "task-clock"}',
    ],
)
def test_counts_for_each_interval_of_a_run_are_refused(line: str) -> None:
    with pytest.raises(FormatError, match=r"one interval.*Run perf stat without -I"):
        read_text(f"{line}\n")


@pytest.mark.parametrize(
    ("pattern", "end", "what"),
    [
        ("wrk-4.1.0.txt", "Transfer/sec", "Transfer/sec"),
        ("hey-0.1.4.txt", "Status code", "the status codes"),
        ("apache-bench-2.3.txt", "Transfer rate", "Transfer rate"),
        ("apache-bench-2.3.txt", " 100%", "the longest request"),
        ("pgbench-15.18.txt", "tps =", "the line with tps"),
        ("sysbench-*-cpu.txt", "Threads fairness", "the fairness of threads"),
    ],
)
def test_a_report_that_was_cut_is_refused_with_what_is_missing(pattern: str, end: str, what: str) -> None:
    text = text_of(pattern)
    with pytest.raises(FormatError, match=f"ends before .*{what}.*truncated"):
        read_text(text[: text.index(end)])
