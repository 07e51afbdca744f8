"""pytest-benchmark, pyperf and airspeed velocity."""

from __future__ import annotations

import json

import pytest
from tests.formats.files import HERE, by, golden, made, only

from knickpoint.formats import read_report
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome
from knickpoint.model.unit_names import Better

_SORT = {"benchmark": "test_speed.py::test_sort", "size": "10"}


def test_pytest_benchmark_gives_its_samples_in_seconds() -> None:
    result = by(golden("pytest-benchmark-*-samples.json"), **_SORT, metric="time")
    assert len(result.samples) >= 5
    assert (result.unit, result.better) == ("s", Better.LOWER)


def test_pytest_benchmark_without_samples_gives_the_median_and_other_statistics() -> None:
    (path,) = (HERE / "golden").glob("pytest-benchmark-*[0-9].json")
    stats = json.loads(path.read_bytes())["benchmarks"][0]["stats"]
    report = golden(path.name)
    assert by(report, **_SORT, metric="time").samples == (stats["median"],)
    for stat in ("min", "mean", "max"):
        assert by(report, **_SORT, metric="time", stat=stat).samples == (stats[stat],)


def test_pytest_benchmark_keeps_the_spread_as_a_summary_not_as_a_series() -> None:
    report = golden("pytest-benchmark-*[0-9].json")
    assert by(report, **_SORT, metric="time").summary["stddev"] > 0
    assert not any("stddev" in key for key in only(report))


def test_pytest_benchmark_tells_commit_branch_and_time() -> None:
    report = golden("pytest-benchmark-*-samples.json")
    assert len(report.runs[0].revision) == 40
    assert report.runs[0].branch == "main"
    assert report.commits[0].hash == report.runs[0].revision


def test_a_number_in_extra_info_is_a_metric() -> None:
    assert by(golden("pytest-benchmark-*-samples.json"), **_SORT, metric="bytes").samples == (80.0,)


def _pytest_benchmark(**changes: object) -> bytes:
    stats = {"min": 1.0, "max": 3.0, "mean": 2.0, "median": 2.0, "stddev": 0.5}
    benchmark = {"fullname": "t.py::test_a[1]", "params": {"n": 1}, "param": "1", "extra_info": {}, "stats": stats}
    return json.dumps({"machine_info": {}, "benchmarks": [benchmark | changes], "version": "5"}).encode()


def test_params_that_cannot_be_written_plainly_leave_the_name_whole() -> None:
    report, _ = read_report(_pytest_benchmark(params={"n": {"a": 1}}))
    assert report.runs[0].results[0].params["benchmark"] == "t.py::test_a[1]"


def test_equal_params_of_two_benchmarks_leave_their_names_whole() -> None:
    first = json.loads(_pytest_benchmark())
    second = json.loads(_pytest_benchmark(fullname="t.py::test_a[2]", param="2"))
    first["benchmarks"] += second["benchmarks"]
    report, _ = read_report(json.dumps(first).encode())
    names = {result.params["benchmark"] for result in report.runs[0].results}
    assert names == {"t.py::test_a[1]", "t.py::test_a[2]"}


def test_params_that_only_white_space_tells_apart_leave_their_names_whole() -> None:
    first = json.loads(_pytest_benchmark(fullname="t.py::test_a[\\t|]", param="\\t|", params={"at": "\t|"}))
    second = json.loads(_pytest_benchmark(fullname="t.py::test_a[ |]", param=" |", params={"at": " |"}))
    first["benchmarks"] += second["benchmarks"]
    report, _ = read_report(json.dumps(first).encode())
    names = {result.params["benchmark"] for result in report.runs[0].results}
    assert names == {"t.py::test_a[\\t|]", "t.py::test_a[ |]"}


def test_a_benchmark_without_statistics_failed() -> None:
    report, _ = read_report(_pytest_benchmark(stats={}))
    assert report.runs[0].results[0].outcome is Outcome.FAILED


@pytest.mark.parametrize("data", ["left out", [1.0, "... and 6 more"], ["left out", "left out"], [1.0, 1.0]])
def test_samples_that_were_cut_out_of_the_file_give_way_to_the_median_of_all(data: object) -> None:
    stats = {"median": 2.0, "rounds": 8, "data": data}
    report, _ = read_report(_pytest_benchmark(stats=stats))
    (result,) = report.runs[0].results
    assert (result.samples, dict(result.summary)) == ((2.0,), {"rounds": 8.0})


@pytest.mark.parametrize(
    "stats",
    [
        {"median": 2.0, "rounds": 2, "data": [1.0, None]},
        {"median": None, "rounds": 8, "data": [1.0, "... and 6 more"]},
    ],
    ids=["all rounds", "no median"],
)
def test_a_sample_that_is_no_number_fails_where_all_are_there_or_no_median_is(stats: dict[str, object]) -> None:
    report, _ = read_report(_pytest_benchmark(stats=stats))
    assert [result.outcome for result in report.runs[0].results] == [Outcome.FAILED]


def test_a_dirty_work_tree_is_warned_about() -> None:
    document = json.loads(_pytest_benchmark())
    document["commit_info"] = {"id": "a" * 40, "dirty": True}
    _, (problem,) = read_report(json.dumps(document).encode(), name="x.json")
    assert problem.where == "x.json, commit_info.dirty"
    assert "changes" in problem.message


@pytest.mark.parametrize("bad", ["NaN", "1e400", '"3.5"', "true", "null", "Infinity", "9" * 400])
def test_a_sample_that_is_no_finite_number_fails_its_benchmark_naming_the_place(bad: str) -> None:
    text = _pytest_benchmark(stats={"data": [1.0, "HERE"], "mean": 1}).decode().replace('"HERE"', bad)
    report, _ = read_report(text.encode())
    (result,) = report.runs[0].results
    assert result.outcome is Outcome.FAILED
    assert result.message.startswith("expected a finite number, got ")
    assert result.message.endswith(" at benchmarks[0].stats.data[1]")


def test_a_list_among_samples_refuses_the_file_naming_benchmark_and_place() -> None:
    with pytest.raises(FormatError, match=r"benchmarks\[0\].stats.data\[1\].*benchmark 't.py::test_a'"):
        read_report(_pytest_benchmark(stats={"data": [1.0, []], "mean": 1}))


def test_pyperf_gives_the_values_of_all_its_runs() -> None:
    result = by(golden("pyperf-*-suite.json"), benchmark="sort", metric="time")
    assert len(result.samples) == 6
    assert result.unit == "s"


def test_pyperf_measures_memory_where_it_tracks_it() -> None:
    (key,) = only(golden("pyperf-*-memory.json"))
    assert key == ",benchmark=timeit,metric=memory,"


def _suite(*, suite: object = None, benchmark: object = None, run: object = None) -> dict[str, object]:
    runs = [{"values": [1.5], "metadata": run}, {"values": [2.5], "metadata": run}, {"warmups": [[1, 9.0]]}]
    return {
        "version": "1.0",
        "metadata": suite,
        "benchmarks": [{"metadata": {"name": "a", **(benchmark or {})}, "runs": runs}],  # type: ignore[dict-item]
    }


@pytest.mark.parametrize("level", ["suite", "benchmark", "run"])
@pytest.mark.parametrize("fact", ["mem_max_rss", "command_max_rss"])
def test_the_largest_memory_is_a_series_wherever_pyperf_writes_it(level: str, fact: str) -> None:
    report, _ = read_report(json.dumps(_suite(**{level: {fact: 4096}})).encode())
    result = by(report, benchmark="a", metric="max_rss")
    assert (result.samples, result.unit, result.better) == ((4096.0, 4096.0), "B", Better.LOWER)
    assert fact not in report.runs[0].environment


def test_the_memory_of_one_run_stands_over_what_all_runs_share() -> None:
    document = _suite(suite={"mem_max_rss": 4096}, run={"mem_max_rss": 8192})
    report, _ = read_report(json.dumps(document).encode())
    assert by(report, benchmark="a", metric="max_rss").samples == (8192.0, 8192.0)


def test_pyperf_reads_gzip() -> None:
    import gzip

    (path,) = (HERE / "golden").glob("pyperf-*-suite.json")
    packed, _ = read_report(gzip.compress(path.read_bytes()))
    assert len(packed.runs[0].results) == 4


def test_pyperf_without_a_name_is_refused() -> None:
    with pytest.raises(FormatError, match=r"benchmarks\[0\]: the benchmark has no name"):
        read_report(b'{"version": "1.0", "benchmarks": [{"runs": [{"values": [1.5]}]}]}')


def test_asv_names_its_params_from_the_file_beside_it() -> None:
    result = by(
        golden("asv-0.6.6.json"), benchmark="suite.Sorting.time_sorted", machine="bench-1", size="100", order="down"
    )
    assert len(result.samples) == 3
    assert (result.unit, result.better) == ("s", Better.LOWER)


def test_asv_counts_its_params_where_nothing_stands_beside_it() -> None:
    report, _ = read_report((HERE / "golden" / "asv-0.6.6.json").read_bytes())
    assert by(
        report, benchmark="suite.Sorting.peakmem_copy", machine="bench-1", param1="10", param2="up"
    ).unit == "bytes"  # fmt: skip


def test_asv_keeps_failed_and_skipped_apart() -> None:
    report = golden("asv-0.6.6.json")
    assert by(report, benchmark="suite.time_broken", machine="bench-1").outcome is Outcome.FAILED
    skipped = by(
        report, benchmark="suite.Sorting.time_sorted", machine="bench-1", size="1000", order="down"
    )  # fmt: skip
    assert skipped.outcome is Outcome.SKIPPED


def test_asv_takes_the_unit_of_a_tracker_from_the_file_beside_it() -> None:
    assert by(golden("asv-0.6.6.json"), benchmark="suite.track_answer", machine="bench-1").unit == "points"


def test_a_tracker_that_states_no_unit_has_none_though_asv_writes_unit() -> None:
    results = {
        "commit_hash": "a" * 40, "date": 1700000000000, "version": 2, "params": {"machine": "m"},
        "result_columns": ["result", "params", "version"], "results": {"suite.track_answer": [[42.0], [], "1"]},
    }  # fmt: skip
    beside = {"version": 2, "suite.track_answer": {"name": "suite.track_answer", "type": "track", "unit": "unit"}}
    report, _ = read_report(json.dumps(results).encode(), companions={"benchmarks.json": json.dumps(beside).encode()})
    assert by(report, benchmark="suite.track_answer", machine="m").unit == ""


def test_asv_tells_commit_and_time_of_the_commit() -> None:
    report = made("asv-1.json")
    assert report.commits[0].time.isoformat() == "2026-08-17T10:11:12+00:00"
    assert report.runs[0].revision == report.commits[0].hash


def test_asv_of_version_1_reads_plain_numbers() -> None:
    result = by(made("asv-1.json"), benchmark="suite.time_sort", machine="ci-7", python="3.12", numpy="2.1")
    assert result.samples == (0.125,)
