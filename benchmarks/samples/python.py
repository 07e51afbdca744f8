"""Run benchmark tools of Python."""

from __future__ import annotations

import textwrap

from samples.tool import PYTHON, keep, pip, place, repository, run, version_of

__all__ = ["asv", "conbench", "pyperf", "pytest_benchmark"]


def pytest_benchmark() -> None:
    """Run pytest-benchmark with and without samples, and pytest for JUnit durations."""
    pip("pytest", "pytest-benchmark")
    where = place(
        "pytest",
        pytest__ini="[pytest]\n",
        test_speed__py="""
            import pytest

            @pytest.mark.parametrize("size", [10, 100])
            def test_sort(benchmark, size):
                benchmark.extra_info["bytes"] = size * 8
                benchmark(sorted, list(range(size, 0, -1)))

            @pytest.mark.benchmark(group="text")
            def test_join(benchmark):
                benchmark(",".join, ["a"] * 50)
            """,
        test_unit__py="""
            import pytest, time

            def test_quick():
                time.sleep(0.01)

            @pytest.mark.parametrize("text", ["a,b", "c=d"])
            def test_names(text):
                time.sleep(0.002)

            def test_breaks():
                assert 1 == 2, "boom"

            @pytest.mark.skip(reason="not today")
            def test_skipped():
                pass
            """,
    )
    repository(where)
    pytest = (PYTHON / "pytest", "-q", "-p", "no:cacheprovider")
    quick = ("--benchmark-max-time=0.02", "--benchmark-min-rounds=5", "--benchmark-min-time=0.001")
    version = version_of("pytest-benchmark")
    command = (*pytest, "test_speed.py", *quick)
    run(
        *command,
        "--benchmark-json=out.json",
        "--benchmark-save=out",
        where=where,
        settings={"PYTHONDONTWRITEBYTECODE": "1"},
    )
    keep(f"pytest-benchmark-{version}-samples.json", (where / "out.json").read_text())
    keep(f"pytest-benchmark-{version}.json", next((where / ".benchmarks").rglob("*_out.json")).read_text())
    run(*pytest, "test_unit.py", "--junitxml=out.xml", where=where, check=False)
    keep(f"junit-pytest-{version_of('pytest')}.xml", (where / "out.xml").read_text())


def pyperf() -> None:
    """Run two benchmarks under pyperf: a file with both, and a file with one."""
    pip("pyperf")
    where = place(
        "pyperf",
        bench__py="""
            import pyperf
            runner = pyperf.Runner()
            runner.timeit("sort", "sorted(data)", "data = list(range(100, 0, -1))")
            runner.timeit("join", "','.join(data)", "data = ['a'] * 50")
            """,
    )
    quick = ("-p", "3", "-n", "2", "-w", "1", "-l", "64")
    version = version_of("pyperf")
    run(PYTHON / "python", "bench.py", *quick, "-o", "suite.json", where=where)
    keep(f"pyperf-{version}-suite.json", (where / "suite.json").read_text())
    run(
        PYTHON / "python",
        "-m",
        "pyperf",
        "timeit",
        *quick,
        "--track-memory",
        "-o",
        "one.json",
        "sorted([3, 1, 2])",
        where=where,
    )
    keep(f"pyperf-{version}-memory.json", (where / "one.json").read_text())


def asv() -> None:
    """Run airspeed velocity on a repository of ours: results and the file that describes the benchmarks."""
    pip("asv", "virtualenv")
    where = place(
        "asv",
        asv__conf__json="""
            {"version": 1, "project": "demo", "repo": ".", "branches": ["main"], "environment_type": "existing",
             "benchmark_dir": "benchmarks", "results_dir": "results"}
            """,
    )
    (where / "benchmarks").mkdir()
    (where / "benchmarks" / "__init__.py").write_text("")
    (where / "benchmarks" / "suite.py").write_text(
        textwrap.dedent("""
            class Sorting:
                params = [[10, 100, 1000], ["up", "down"]]
                param_names = ["size", "order"]

                def setup(self, size, order):
                    if size == 1000 and order == "down":
                        raise NotImplementedError("left out")
                    self.data = list(range(size)) if order == "up" else list(range(size, 0, -1))

                def time_sorted(self, size, order):
                    sorted(self.data)

                def peakmem_copy(self, size, order):
                    return self.data * 2

            def time_join():
                ",".join(["a"] * 50)

            def track_answer():
                return 42

            track_answer.unit = "points"

            def time_broken():
                raise RuntimeError("boom")
            """)
    )
    repository(where)
    commit = run("git", "rev-parse", "HEAD", where=where).strip()
    asv_program = PYTHON / "asv"
    environment = f"existing:{PYTHON / 'python'}"
    machine = (
        "--machine",
        "bench-1",
        "--os",
        "Linux",
        "--arch",
        "x86_64",
        "--cpu",
        "a CPU",
        "--num_cpu",
        "2",
        "--ram",
        "8GB",
    )
    home = str(where)
    run(asv_program, "machine", *machine, where=where, settings={"HOME": home})
    run(
        asv_program, "run", "-E", environment, "--machine", "bench-1", "--set-commit-hash", commit, "-a", "rounds=1",
        "-a", "sample_time=0.001", "-a", "repeat=3", "--record-samples", where=where, check=False, settings={"HOME": home},
    )  # fmt: skip
    version = version_of("asv")
    results = next((where / "results" / "bench-1").glob(f"{commit[:8]}*.json"))
    keep(f"asv-{version}.json", results.read_text())
    keep(f"asv-{version}-benchmarks.json", (where / "results" / "benchmarks.json").read_text())


def conbench() -> None:
    """Build a Conbench result with the client library that benchmark suites use."""
    pip("benchadapt")
    where = place(
        "conbench",
        make__py="""
            import json
            from benchadapt import BenchmarkResult

            results = [
                BenchmarkResult(
                    run_id="run-7", run_name="commit: 4f2c9e1d0b694ed6db6e3f2df3f21d832e78bded", batch_id="batch-1",
                    run_reason="commit",
                    stats={"data": [0.101, 0.103, 0.102], "unit": "s", "times": [], "time_unit": "s", "iterations": 3},
                    tags={"name": "file-read", "format": "parquet", "rows": 1000}, context={"benchmark_language": "Python"},
                    info={"library_version": "1.2"},
                    github={"commit": "4f2c9e1d0b694ed6db6e3f2df3f21d832e78bded", "repository": "https://github.com/org/repo"},
                ),
                BenchmarkResult(
                    run_id="run-7", batch_id="batch-1", run_reason="commit", tags={"name": "file-write"},
                    error={"stack_trace": "ValueError: boom"}, github={"commit": "4f2c9e1d0b694ed6db6e3f2df3f21d832e78bded",
                    "repository": "https://github.com/org/repo"},
                ),
            ]
            print(json.dumps([result.to_publishable_dict() for result in results], indent=1))
            """,
    )
    text = run(PYTHON / "python", "make.py", where=where)
    keep(f"conbench-benchadapt-{version_of('benchadapt')}.json", text)
