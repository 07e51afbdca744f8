"""The formats: the built-in ones, and those that other packages register as ``knickpoint.formats``.

A format is known by its record; the module that reads it is imported when it is first used. The entry points of other
packages are read when a file's format has to be found, when all formats are listed, or when ``--as`` names one that is
not built in.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from knickpoint.formats.format import Format
from knickpoint.plugins import Plugin, find_plugins

__all__ = ["ENTRY_POINTS", "FORMATS", "all_formats"]

ENTRY_POINTS: Final = "knickpoint.formats"
"""The group of entry points under which other packages register formats."""

FORMATS: Final[tuple[Format, ...]] = (
    Format(
        name="asv",
        title="airspeed velocity results",
        suffixes=(".json",),
        verified="asv 0.6.6",
        note="reads benchmarks.json beside it for names of params and units of trackers",
        module="knickpoint.formats.asv",
        companions=("../benchmarks.json",),
    ),
    Format(
        name="bencher",
        title="Bencher Metric Format",
        suffixes=(".json",),
        verified="",
        note="units of Bencher's built-in measures only; others are kept on its server",
        module="knickpoint.formats.bencher",
    ),
    Format(
        name="benchmarkdotnet",
        title="BenchmarkDotNet JSON, brief or full",
        suffixes=(".json",),
        verified="BenchmarkDotNet 0.9.9, 0.12.1, 0.14.0, 0.15.8",
        note="allocated bytes and hardware counters are metrics",
        module="knickpoint.formats.benchmarkdotnet",
    ),
    Format(
        name="catapult-chart",
        title="Catapult chart JSON",
        suffixes=(".json",),
        verified="",
        note="histograms of counts by bucket stay out, with a warning",
        module="knickpoint.formats.catapult_chart",
    ),
    Format(
        name="catapult-histograms",
        title="Catapult histogram set",
        suffixes=(".json",),
        verified="",
        note="sample values, else mean, stat=min and stat=max",
        module="knickpoint.formats.catapult_histograms",
    ),
    Format(
        name="catch2",
        title="Catch2 XML, versions 2 and 3",
        suffixes=(".xml",),
        verified="Catch2 2.13.10",
        note="the mean is the value; Catch2 writes neither samples nor median",
        module="knickpoint.formats.catch2",
    ),
    Format(
        name="conbench",
        title="Conbench results",
        suffixes=(".json",),
        verified="benchadapt 2024.3.20",
        note="one run for every run id",
        module="knickpoint.formats.conbench",
    ),
    Format(
        name="criterion",
        title="Criterion.rs: text, cargo-criterion messages, sample.json, estimates.json, raw.csv",
        suffixes=(".txt", ".json", ".csv"),
        verified="Criterion.rs 0.3.6 (the messages of cargo-criterion unverified)",
        note="import sample.json or estimates.json of a benchmark, not both; bencher output is libtest",
        module="knickpoint.formats.criterion",
        companions=("benchmark.json",),
    ),
    Format(
        name="csv",
        title="CSV or TSV, long or wide",
        suffixes=(".csv", ".tsv", ".txt"),
        verified="columns as the guide lists them; a published table of 281 series",
        note="long with a column value, wide without; the guide lists what columns mean",
        module="knickpoint.formats.delimited",
    ),
    Format(
        name="github-action-benchmark",
        title="github-action-benchmark: custom entries, or a whole data.js history",
        suffixes=(".js", ".json"),
        verified="histories that the action published from 2020 to 2026",
        note="a history brings its commits along; the tool gives the direction",
        module="knickpoint.formats.github_action_benchmark",
    ),
    Format(
        name="go",
        title="Go benchmark text, go test -json, benchfmt",
        suffixes=(".txt", ".log", ".json"),
        verified="Go 1.19.8",
        note="every unit is a metric; key=value parts of names are params",
        module="knickpoint.formats.go",
    ),
    Format(
        name="google-benchmark",
        title="Google Benchmark JSON",
        suffixes=(".json",),
        verified="Google Benchmark 1.7.1",
        note="repetitions are samples; aggregates count only where there are no iterations",
        module="knickpoint.formats.google_benchmark",
    ),
    Format(
        name="hyperfine",
        title="hyperfine JSON",
        suffixes=(".json",),
        verified="hyperfine 1.15.0",
        note="a command with an exit code other than 0 failed",
        module="knickpoint.formats.hyperfine",
    ),
    Format(
        name="jmh",
        title="JMH JSON",
        suffixes=(".json",),
        verified="JMH 1.29, 1.32 (with -prof gc), 1.36",
        note="iterations of all forks are samples; of what profilers count, less is better",
        module="knickpoint.formats.jmh",
    ),
    Format(
        name="json",
        title="JSON rows: a list of objects, or one a line",
        suffixes=(".json", ".jsonl", ".ndjson"),
        verified="points that knick export wrote",
        note="members as the columns of csv; needs a value, and a commit or a time",
        module="knickpoint.formats.json_rows",
    ),
    Format(
        name="junit",
        title="JUnit XML durations",
        suffixes=(".xml",),
        verified="pytest 9.2.0",
        note="durations of passed tests; failed and skipped ones as such",
        module="knickpoint.formats.junit",
    ),
    Format(
        name="k6",
        title="k6 summary, new or old",
        suffixes=(".json",),
        verified="k6 1.1.0",
        note="of trends the median is the value, of counters the rate",
        module="knickpoint.formats.k6",
    ),
    Format(
        name="libtest",
        title="Rust libtest benchmarks, and Criterion.rs with --output-format bencher",
        suffixes=(".txt", ".log"),
        verified="rustc 1.95.0, Criterion.rs 0.3.6",
        note="the median is the value, the spread its summary",
        module="knickpoint.formats.libtest",
    ),
    Format(
        name="lnt",
        title="LNT report, version 2",
        suffixes=(".json",),
        verified="",
        note="every number of a test is a metric, a list its samples",
        module="knickpoint.formats.lnt",
    ),
    Format(
        name="locust",
        title="Locust: the table of requests, PREFIX_stats.csv",
        suffixes=(".csv",),
        verified="Locust 2.47.0",
        note="response times, requests and failures per second; the history by second is refused",
        module="knickpoint.formats.locust",
    ),
    Format(
        name="mitata",
        title="mitata JSON",
        suffixes=(".json",),
        verified="mitata 1.0.34",
        note="the median is the value; samples, up to a million and sorted, stay out",
        module="knickpoint.formats.mitata",
    ),
    Format(
        name="nyrkio",
        title="Nyrkiö JSON",
        suffixes=(".json",),
        verified="",
        note="one run an entry; the timestamp is the commit's",
        module="knickpoint.formats.nyrkio",
    ),
    Format(
        name="parquet",
        title="Parquet, long or wide",
        suffixes=(".parquet",),
        verified="pyarrow 26.0.1",
        note="columns as in CSV; a list is samples; needs the extra parquet",
        module="knickpoint.formats.parquet",
    ),
    Format(
        name="perfherder",
        title="Perfherder data, artefact or log lines",
        suffixes=(".json", ".log"),
        verified="",
        note="options are part of the series, tags are not",
        module="knickpoint.formats.perfherder",
    ),
    Format(
        name="pyperf",
        title="pyperf, a benchmark or a suite",
        suffixes=(".json", ".json.gz"),
        verified="pyperf 2.10.0",
        note="warm-ups stay out; the largest memory is a metric",
        module="knickpoint.formats.pyperf",
    ),
    Format(
        name="pytest-benchmark",
        title="pytest-benchmark JSON",
        suffixes=(".json",),
        verified="pytest-benchmark 5.3.1",
        note="samples with --benchmark-save-data, else median and stat=min, mean, max",
        module="knickpoint.formats.pytest_benchmark",
    ),
    Format(
        name="skia",
        title="Skia Perf, version 1",
        suffixes=(".json",),
        verified="",
        note="units from the params unit or units, else from the group's name",
        module="knickpoint.formats.skia",
    ),
    Format(
        name="skia-legacy",
        title="Skia Perf, the older format of nanobench",
        suffixes=(".json",),
        verified="",
        note="the metric is the param sub_result",
        module="knickpoint.formats.skia_legacy",
    ),
    Format(
        name="vitest",
        title="Vitest benchmarks",
        suffixes=(".json",),
        verified="Vitest 2.1.9, 3.2.7, 4.1.12, 5.1.1",
        note="samples where they were kept, else median and stat=mean, p99 and others",
        module="knickpoint.formats.vitest",
    ),
)
"""The built-in formats, by name."""


def _load(plugin: Plugin) -> Format:
    known = plugin.load()
    if not isinstance(known, Format):
        raise plugin.error(f"{plugin.entry_point.value} is {type(known).__name__}, not knickpoint.formats.Format")
    if known.name.replace("-", "_") != plugin.name:
        raise plugin.error(f"{plugin.entry_point.value} is the format {known.name!r}, not {plugin.name!r}")
    return known


@cache
def all_formats() -> tuple[Format, ...]:
    """Return the built-in formats, then those of other packages, by name.

    Raises:
        PluginError: a package registers something else than a format, or a name that is taken.
    """
    plugins = find_plugins(ENTRY_POINTS, {known.name.replace("-", "_") for known in FORMATS})
    return *FORMATS, *(_load(plugins[name]) for name in sorted(plugins))
