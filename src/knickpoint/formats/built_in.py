"""The built-in formats, by name."""

from __future__ import annotations

from typing import Final

from knickpoint.formats.format import Format


def _format(
    name: str,
    title: str,
    suffixes: str,
    *,
    note: str,
    verified: str = "",
    module: str = "",
    companions: tuple[str, ...] = (),
) -> Format:
    """Return the record of a format, with ``suffixes`` as words; its module has its name, or is called ``module``."""
    place = f"knickpoint.formats.{module or name.replace('-', '_')}"
    return Format(name, title, tuple(suffixes.split()), verified, note, place, companions)


FORMATS: Final[tuple[Format, ...]] = (
    _format(
        "apache-bench",
        "ApacheBench (ab)",
        ".txt .log",
        verified="ab 2.3",
        note="the mean is the latency: percentiles are whole milliseconds",
    ),
    _format(
        "asv",
        "airspeed velocity results",
        ".json",
        verified="asv 0.6.6",
        note="reads benchmarks.json beside it for names of params and units of trackers",
        companions=("../benchmarks.json",),
    ),
    _format(
        "bencher",
        "Bencher Metric Format",
        ".json",
        note="units of Bencher's built-in measures only; others are kept on its server",
    ),
    _format(
        "benchmark-ips",
        "benchmark-ips, text or json!",
        ".txt .log .json",
        verified="benchmark-ips 2.7.2",
        note="iterations per second; the text is rounded",
    ),
    _format(
        "benchmarkdotnet",
        "BenchmarkDotNet JSON, brief or full",
        ".json",
        verified="BenchmarkDotNet 0.9.9, 0.12.1, 0.14.0, 0.15.8",
        note="allocated bytes and hardware counters are metrics",
    ),
    _format(
        "benchmarkjs",
        "benchmark.js",
        ".txt .log",
        verified="benchmark.js 2.1.4",
        note="operations per second; the relative margin of error is the summary",
    ),
    _format(
        "benchmarktools",
        "BenchmarkTools.jl JSON",
        ".json",
        verified="BenchmarkTools 1.0.0",
        note="the times of a trial are samples; nested groups are joined with /",
    ),
    _format(
        "catapult-chart", "Catapult chart JSON", ".json", note="histograms of counts by bucket stay out, with a warning"
    ),
    _format(
        "catapult-histograms", "Catapult histogram set", ".json", note="sample values, else mean, stat=min and stat=max"
    ),
    _format(
        "catch2",
        "Catch2 XML or console, versions 2 and 3",
        ".xml .txt .log",
        verified="Catch2 2.13.10",
        note="the mean is the value; Catch2 writes neither samples nor median",
    ),
    _format("conbench", "Conbench results", ".json", verified="benchadapt 2024.3.20", note="one run for every run id"),
    _format(
        "criterion",
        "Criterion.rs: text, cargo-criterion messages, sample.json, estimates.json, raw.csv",
        ".txt .json .csv",
        verified="Criterion.rs 0.3.6 (the messages of cargo-criterion unverified)",
        note="import sample.json or estimates.json of a benchmark, not both; bencher output is libtest",
        companions=("benchmark.json",),
    ),
    _format(
        "csv",
        "CSV or TSV, long or wide",
        ".csv .tsv .txt",
        verified="columns as the guide lists them; a published table of 281 series",
        note="long with a column value, wide without; the guide lists what columns mean",
        module="delimited",
    ),
    _format(
        "deno", "deno bench --json", ".json", verified="Deno 2.9.6", note="the mean is the value: there is no median"
    ),
    _format(
        "divan",
        "divan's tree of benchmarks",
        ".txt .log",
        note="the median is the value; allocations are metrics, throughput stays out",
    ),
    _format(
        "fio",
        "fio JSON",
        ".json",
        verified="fio 3.33",
        note="IOPS, bandwidth and latencies of each operation; options of the job are params",
    ),
    _format(
        "github-action-benchmark",
        "github-action-benchmark: custom entries, or a whole data.js history",
        ".js .json",
        verified="histories that the action published from 2020 to 2026",
        note="a history brings its commits along; the tool gives the direction",
    ),
    _format(
        "go",
        "Go benchmark text, go test -json, benchfmt",
        ".txt .log .json",
        verified="Go 1.19.8",
        note="every unit is a metric; key=value parts of names are params",
    ),
    _format(
        "google-benchmark",
        "Google Benchmark JSON",
        ".json",
        verified="Google Benchmark 1.7.1",
        note="repetitions are samples; aggregates count only where there are no iterations",
    ),
    _format(
        "gungraun",
        "Gungraun, formerly iai-callgrind: text or JSON",
        ".txt .log .json",
        verified="published runs of iai-callgrind and Gungraun, summaries of version 6",
        note="the new counts of each tool of Valgrind; fewer are better",
    ),
    _format(
        "hey",
        "hey",
        ".txt .log",
        verified="hey 0.1.4",
        note="hey does not print the address: the benchmark is called hey",
    ),
    _format(
        "hyperfine",
        "hyperfine JSON",
        ".json",
        verified="hyperfine 1.15.0",
        note="a command with an exit code other than 0 failed",
    ),
    _format(
        "iperf3",
        "iperf3 JSON",
        ".json",
        verified="iperf3 3.12",
        note="what arrived is the throughput; intervals stay out",
    ),
    _format(
        "jetpack-benchmark",
        "Android Jetpack Benchmark and Macrobenchmark JSON",
        ".json",
        note="runs are samples; of sampled metrics P50 is the value, P90 and others have stat",
    ),
    _format(
        "jmh",
        "JMH JSON",
        ".json",
        verified="JMH 1.29, 1.32 (with -prof gc), 1.36",
        note="iterations of all forks are samples; of what profilers count, less is better",
    ),
    _format(
        "json",
        "JSON rows: a list of objects, or one per line",
        ".json .jsonl .ndjson",
        verified="points that knick export wrote",
        note="members as the columns of csv; needs a value, and a commit or a time",
        module="json_rows",
    ),
    _format(
        "junit",
        "JUnit XML durations",
        ".xml",
        verified="pytest 9.2.0",
        note="durations of passed tests; failed and skipped ones as such",
    ),
    _format(
        "k6",
        "k6 summary, new or old",
        ".json",
        verified="k6 1.1.0",
        note="of trends the median is the value, of counters the rate",
    ),
    _format(
        "libtest",
        "Rust libtest benchmarks, and Criterion.rs with --output-format bencher",
        ".txt .log",
        verified="rustc 1.95.0, Criterion.rs 0.3.6",
        note="the median is the value, the spread its summary",
    ),
    _format(
        "lighthouse",
        "Lighthouse JSON, or PageSpeed Insights'",
        ".json",
        verified="Lighthouse 12.8.2",
        note="what was measured of the page, and scores; estimates of savings stay out",
    ),
    _format("lnt", "LNT report, version 2", ".json", note="every number of a test is a metric, a list its samples"),
    _format(
        "locust",
        "Locust: the table of requests, PREFIX_stats.csv, or --json",
        ".csv .json",
        verified="Locust 2.47.0",
        note="response times, requests and failures per second; the history by second is refused",
    ),
    _format(
        "mitata",
        "mitata JSON",
        ".json",
        verified="mitata 1.0.34",
        note="the median is the value; samples, up to a million and sorted, stay out",
    ),
    _format(
        "nanobench",
        "nanobench (ankerl) JSON template, printed tables",
        ".json .txt .log",
        note="epochs are samples; what is printed is rounded",
    ),
    _format("nyrkio", "Nyrkiö JSON", ".json", note="one run an entry; the timestamp is the commit's"),
    _format("oha", "oha JSON", ".json", note="oha does not write the address: the benchmark is called oha"),
    _format(
        "parquet",
        "Parquet, long or wide",
        ".parquet",
        verified="pyarrow 26.0.1",
        note="columns as in CSV; a list is samples; needs the extra parquet",
    ),
    _format(
        "perf-stat",
        "perf stat -j, perf stat -x",
        ".json .csv .txt",
        verified="perf 6.1",
        note="perf does not write the command: the benchmark is called perf stat",
    ),
    _format(
        "perfherder",
        "Perfherder data, artefact or log lines",
        ".json .log",
        note="options are part of the series, tags are not",
    ),
    _format(
        "pgbench",
        "pgbench",
        ".txt .log",
        verified="pgbench 15.18",
        note="transactions per second without the time to connect; scripts apart",
    ),
    _format(
        "pyperf",
        "pyperf, a benchmark or a suite",
        ".json .json.gz",
        verified="pyperf 2.10.0",
        note="warm-ups stay out; the largest memory is a metric",
    ),
    _format(
        "pytest-benchmark",
        "pytest-benchmark JSON",
        ".json",
        verified="pytest-benchmark 5.3.1",
        note="samples with --benchmark-save-data, else median and stat=min, mean, max",
    ),
    _format(
        "redis-benchmark",
        "redis-benchmark: reports, -q, --csv",
        ".txt .csv",
        verified="redis-benchmark 7.0.15",
        note="the median is the latency; the CSV does not name clients and payload",
    ),
    _format(
        "skia", "Skia Perf, version 1", ".json", note="units from the params unit or units, else from the group's name"
    ),
    _format(
        "skia-legacy", "Skia Perf, the older format of nanobench", ".json", note="the metric is the param sub_result"
    ),
    _format(
        "sysbench",
        "sysbench",
        ".txt .log",
        verified="sysbench 1.0.20",
        note="the kind of test is the benchmark; the mean is the latency",
    ),
    _format(
        "tinybench",
        "tinybench: tasks or table as JSON, console.table",
        ".json .txt .log",
        verified="tinybench 6.2.3",
        note="samples where they were kept, else the median; throughput is its inverse",
    ),
    _format(
        "vegeta", "vegeta report, JSON", ".json", note="the median is the latency; vegeta does not write the address"
    ),
    _format(
        "vitest",
        "Vitest benchmarks",
        ".json",
        verified="Vitest 2.1.9, 3.2.7, 4.1.12, 5.1.1",
        note="samples where they were kept, else median and stat=mean, p99 and others",
    ),
    _format(
        "wrk",
        "wrk and wrk2",
        ".txt .log",
        verified="wrk 4.1.0",
        note="the median is the latency with --latency, else the mean",
    ),
    _format(
        "xctest",
        "XCTest's performance measurements",
        ".txt .log",
        note="the values of a test are samples; Apple and Linux",
    ),
)
"""The built-in formats, by name."""
