"""Units: what converts into what, and which direction is better."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.model.unit import Unit, better_of, convert, read_unit, unit_in_name
from knickpoint.model.unit_names import Better


@pytest.mark.parametrize(
    ("text", "dimension", "factor", "better"),
    [
        ("ns/iter", "time", 1e-9, Better.LOWER),
        ("ms/op", "time", 1e-3, Better.LOWER),
        ("µs", "time", 1e-6, Better.LOWER),
        ("μs", "time", 1e-6, Better.LOWER),
        ("usec", "time", 1e-6, Better.LOWER),
        ("seconds", "time", 1.0, Better.LOWER),
        ("MiB", "bytes", 2.0**20, Better.LOWER),
        ("KB", "bytes", 1e3, Better.LOWER),
        ("B/op", "bytes", 1.0, Better.LOWER),
        ("MB/s", "bytes/time", 1e6, Better.HIGHER),
        ("ops/s", "ops/time", 1.0, Better.HIGHER),
        ("op/us", "ops/time", 1e6, Better.HIGHER),
        ("operations/second", "ops/time", 1.0, Better.HIGHER),
        ("iter/sec", "iter/time", 1.0, Better.HIGHER),
        ("i/s", "iter/time", 1.0, Better.HIGHER),
        ("Kops/s", "ops/time", 1e3, Better.HIGHER),
        ("rps", "req/time", 1.0, Better.HIGHER),
        ("docs/sec", "docs/time", 1.0, Better.HIGHER),
        ("allocs/op", "allocs", 1.0, Better.LOWER),
        ("instructions", "instructions", 1.0, Better.LOWER),
        ("kHz", "frequency", 1e3, Better.HIGHER),
        ("score", "?score", 1.0, Better.UNKNOWN),
        ("docs/op", "?docs/op", 1.0, Better.UNKNOWN),
        ("", "?", 1.0, Better.UNKNOWN),
    ],
)
def test_a_unit_is_known_by_its_dimension_factor_and_direction(
    text: str, dimension: str, factor: float, better: Better
) -> None:
    unit = read_unit(text)
    assert (unit.dimension, unit.better) == (dimension, better)
    assert unit.factor == pytest.approx(factor, rel=1e-12)
    assert unit.text == text


def test_the_two_letters_for_micro_mean_the_same() -> None:
    assert convert(3.5, read_unit("µs"), read_unit("μs/iter")) == 3.5


def test_a_value_converts_within_its_dimension() -> None:
    assert convert(1500.0, read_unit("ns/iter"), read_unit("us")) == pytest.approx(1.5)
    assert convert(2.0, read_unit("ops/ms"), read_unit("ops/s")) == pytest.approx(2000.0)


def test_a_value_does_not_convert_into_another_dimension() -> None:
    with pytest.raises(ValueError, match=r"'ms' \(time\) does not convert into 'MB' \(bytes\)"):
        convert(1.0, read_unit("ms"), read_unit("MB"))


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["ns/iter", "s", "KiB", "ops/s", "score"]))
def test_the_same_unit_leaves_a_value_untouched(value: float, text: str) -> None:
    assert convert(value, read_unit(text), read_unit(f" {text} ")) == value


@pytest.mark.long
@given(st.text(max_size=12))
def test_any_text_is_a_unit(text: str) -> None:
    unit = read_unit(text)
    assert unit.text == text.strip()
    assert unit.factor > 0


@pytest.mark.parametrize(
    "text", ["/" * 2000, "/" * 150, "ns" + "/op" * 60, "ns" + " per op" * 25, " " * 2000 + "x" * 2000]
)
def test_a_text_of_any_length_and_of_many_ratios_is_a_unit_of_its_own(text: str) -> None:
    assert read_unit(text) == Unit(text.strip(), f"?{text.strip()}", 1.0, Better.UNKNOWN)


@pytest.mark.parametrize(
    "text",
    [
        "errors/s",
        "error/sec",
        "http_errors/s",
        "failures/min",
        "cache-misses/s",
        "L1-dcache-load-misses/s",
        "branch-misses/s",
        "page-faults/s",
        "context-switches/s",
        "allocs/s",
        "allocations/second",
        "retries/s",
        "timeouts/s",
        "dropped_frames/s",
        "GCs/s",
        "GC/s",
        "pageFaults/s",
        "J/s",
        "ms/s",
        "errors",
        "misses",
        "ms/req",
        "ns/byte",
        "us/row",
        "s/GB",
        "B/req",
        "cycles/byte",
        "allocs/req",
        "errors/req",
        "mJ/frame",
        "clks/insn",
        "CPI",
        "Mb",
        "Milliseconds",
        "MS",
        "Megabytes",
        "Kilobytes",
        "MBytes",
        "bits",
        "CYCLES",
    ],
)
def test_less_is_better_of_what_is_used_up_or_goes_wrong(text: str) -> None:
    assert read_unit(text).better is Better.LOWER


@pytest.mark.parametrize(
    "text",
    [
        "requests/s",
        "queries/sec",
        "rows/s",
        "tokens/s",
        "tok/s",
        "it/s",
        "Mpixels/s",
        "events/s",
        "jobs/min",
        "frames/s",
        "hits/s",
        "messages/s",
        "GFLOP/s",
        "Mbps",
        "mbps",
        "MBps",
        "Gbit/s",
        "Mbits/sec",
        "KiB/s",
        "Mb/s",
        "MBPS",
        "bps",
        "IOPS",
        "kIOPS",
        "FPS",
        "QPS",
        "Mpps",
        "krps",
        "GFLOPS",
        "IPC",
        "insns/clk",
        "ops/W",
        "req/J",
        "bytes/cycle",
        "ops/s/core",
        "KHz",
    ],
)
def test_more_is_better_of_work_in_the_same_time_or_for_one_resource(text: str) -> None:
    assert read_unit(text).better is Better.HIGHER


@pytest.mark.parametrize("text", ["widgets/s", "1/s", "/s", "#/s", "%", "score", "docs/op", "counts", "x", "Min"])
def test_the_direction_of_what_is_unknown_is_unknown(text: str) -> None:
    assert read_unit(text).better is Better.UNKNOWN


@pytest.mark.parametrize(
    ("value", "source", "target", "expected"),
    [
        (8.0, "Mbps", "MB/s", 1.0),
        (1.0, "Gbit/s", "Mbps", 1000.0),
        (2.0, "kIOPS", "IOPS", 2000.0),
        (1.0, "Megabytes", "kB", 1000.0),
        (3.0, "s/GB", "ns/byte", 3.0),
        (1.0, "ms/req", "us/request", 1000.0),
        (60.0, "requests per minute", "req/s", 1.0),
        (50.0, "percent", "%", 50.0),
        (50.0, "%", "Pct", 50.0),
    ],
)
def test_ways_to_write_one_thing_convert_into_each_other(
    value: float, source: str, target: str, expected: float
) -> None:
    assert convert(value, read_unit(source), read_unit(target)) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("one", "other"), [("Mb/s", "MB/s"), ("Mb", "MB"), ("MBPS", "Mbps"), ("ms/req", "ms"), ("ms/req", "ms/row")]
)
def test_what_may_be_different_does_not_convert(one: str, other: str) -> None:
    assert read_unit(one).dimension != read_unit(other).dimension


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("ms", "ms"),
        ("p99_ms", "ms"),
        ("net_mbps", "mbps"),
        ("requests_per_s", "requests/s"),
        ("rx_bytes_per_second", "bytes/second"),
        ("allocs_per_iter", "allocs/iter"),
        ("latency_min", ""),
        ("min", ""),
        ("s", ""),
        ("requests_US", ""),
        ("http_errors", ""),
        ("per_s", ""),
        ("", ""),
        ("p50_s", "s"),
        ("parse_p99_s", "s"),
        ("latency_s", "s"),
        ("total_s", "s"),
        ("elapsed_sec", "sec"),
        ("build_s", "s"),
        ("gc_s", "s"),
        ("buildTime_s", "s"),
        ("widgets_seconds", "seconds"),
    ],
)
def test_the_name_of_a_metric_may_hold_its_unit(name: str, unit: str) -> None:
    assert unit_in_name(name) == unit


@pytest.mark.parametrize(
    ("name", "unit", "better"),
    [
        ("ops_s", "ops/s", Better.HIGHER),
        ("req_s", "req/s", Better.HIGHER),
        ("MB_s", "MB/s", Better.HIGHER),
        ("Mb_s", "Mb/s", Better.HIGHER),
        ("mib_s", "mib/s", Better.HIGHER),
        ("items_s", "items/s", Better.HIGHER),
        ("total_requests_sec", "requests/sec", Better.HIGHER),
        ("Kops_s", "Kops/s", Better.HIGHER),
        ("GFLOP_s", "GFLOP/s", Better.HIGHER),
        ("http_errors_s", "errors/s", Better.LOWER),
    ],
)
def test_a_second_after_what_is_counted_is_per_second(name: str, unit: str, better: Better) -> None:
    assert (unit_in_name(name), better_of(name, unit_in_name(name))) == (unit, better)


@pytest.mark.parametrize("name", ["widgets_s", "query_s", "requests_p99_s", "process_s", "J_s"])
def test_a_second_after_another_word_is_no_unit(name: str) -> None:
    assert (unit_in_name(name), better_of(name, "")) == ("", Better.UNKNOWN)


@pytest.mark.parametrize(
    ("metric", "unit", "better"),
    [
        ("gc.alloc.rate", "MB/sec", Better.LOWER),
        ("failed_requests", "req/s", Better.LOWER),
        ("errors", "", Better.LOWER),
        ("latency", "", Better.LOWER),
        ("throughput", "", Better.HIGHER),
        ("throughput", "ns", Better.LOWER),
        ("score", "MB/s", Better.HIGHER),
        ("score", "", Better.UNKNOWN),
        ("", "", Better.UNKNOWN),
    ],
)
def test_the_name_of_a_metric_says_a_direction_beside_the_unit(metric: str, unit: str, better: Better) -> None:
    assert better_of(metric, unit) is better


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("free_memory", "MB"),
        ("memory/free", "MiB"),
        ("AvailableMemory", "bytes"),
        ("disk_space_left", "GB"),
        ("bytes_saved", "B"),
        ("battery_life", "h"),
        ("uptime", "s"),
        ("time_saved", "ms"),
        ("budget remaining", "ms"),
        ("headroom", "ms"),
        ("free_heap", ""),
        ("battery_left", "%"),
    ],
)
def test_more_is_better_of_what_is_left_or_saved_whatever_its_unit(name: str, unit: str) -> None:
    assert better_of(name, unit) is Better.HIGHER
    assert better_of("", unit, name) is Better.HIGHER
    assert better_of("latency", unit, name) is Better.LOWER


@pytest.mark.parametrize(
    "name",
    [
        "left_join",
        "rotate_left",
        "warm_up",
        "warm_up_time",
        "game_of_life",
        "malloc_free",
        "state_saved",
        "time_to_free_memory",
        "free_memory",
        "free_list",
        "spare_disk",
        "setup",
        "lookup",
        "save_time",
        "half_life",
    ],
)
def test_the_time_of_an_operation_is_better_when_lower_whatever_its_name(name: str) -> None:
    assert better_of(name, "ns") is Better.LOWER
    assert better_of("", "ms/op", name) is Better.LOWER
