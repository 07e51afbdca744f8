"""Run real benchmark tools on tiny benchmarks of ours, and keep what they write as golden files.

    python benchmarks/make_format_samples.py [TOOL]…      all tools, or those named

The files go to ``tests/formats/golden/TOOL-VERSION[-what].SUFFIX`` and are committed, so the tests need none of
the tools. Python tools come from PyPI and Vitest from npm, into ``build/format-samples``; hyperfine, Google
Benchmark (``libbenchmark-dev``), Catch2, Go (``golang-go``) and Criterion (``librust-criterion-dev``) are the
Debian packages of these names, with a C++ compiler and cargo beside them. A tool that is not there is left
out, and said so. Names of the machine, its user and its directories are replaced before a file is kept.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_GOLDEN = _ROOT / "tests" / "formats" / "golden"
_WORK = _ROOT / "build" / "format-samples"
_PYTHON = _WORK / "venv" / "bin"
_DEBIAN_CRATES = Path("/usr/share/cargo/registry")
_ENVIRONMENT = {**os.environ, "GIT_AUTHOR_NAME": "A. Uthor", "GIT_COMMITTER_NAME": "A. Uthor"} | {
    "GIT_AUTHOR_EMAIL": "author@example.org",
    "GIT_COMMITTER_EMAIL": "author@example.org",
}


class MissingToolError(Exception):
    """A tool is not installed."""


def _run(*command: str | Path, where: Path, check: bool = True, settings: dict[str, str] | None = None) -> str:
    program = shutil.which(where / command[0] if str(command[0]).startswith("./") else command[0])
    if program is None:
        raise MissingToolError(f"{command[0]} is not installed")
    done = subprocess.run(
        [program, *map(str, command[1:])],
        cwd=where,
        env={**_ENVIRONMENT, **(settings or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if check and done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def _place(name: str, **files: str) -> Path:
    place = _WORK / name
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for file, text in files.items():
        (place / file.replace("__", ".")).write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
    return place


def _repository(place: Path) -> None:
    _run("git", "init", "-q", "-b", "main", where=place)
    _run("git", "add", "-A", where=place)
    _run("git", "commit", "-q", "-m", "Add benchmarks", where=place)


def _keep(name: str, text: str) -> None:
    for private, public in (
        (str(_WORK), "/home/someone"),
        (str(_ROOT), "/home/someone"),
        (socket.gethostname(), "bench-1"),
        (str(Path.home()), "/home/someone"),
        (str(_WORK).strip("/").replace("/", "_"), "home_someone"),
        (os.uname().release, "6.1.0"),
    ):
        text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(private)}(?![A-Za-z0-9])", public, text)
    if len(getpass.getuser()) > 4:
        text = text.replace(getpass.getuser(), "someone")
    _GOLDEN.mkdir(parents=True, exist_ok=True)
    (_GOLDEN / name).write_text(text, encoding="utf-8")
    print(f"wrote {name} ({len(text)} characters)")


def _pip(*packages: str) -> None:
    if not (_PYTHON / "python").exists():
        _WORK.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", _PYTHON.parent], check=True)
    subprocess.run([_PYTHON / "pip", "install", "--quiet", *packages], check=True, stderr=subprocess.DEVNULL)


def _version_of(package: str) -> str:
    return _run(
        _PYTHON / "python", "-c", f"from importlib.metadata import version; print(version('{package}'))", where=_WORK
    ).strip()


def pytest_benchmark() -> None:
    """Run pytest-benchmark with and without samples, and pytest for JUnit durations."""
    _pip("pytest", "pytest-benchmark")
    place = _place(
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
    _repository(place)
    pytest = (_PYTHON / "pytest", "-q", "-p", "no:cacheprovider")
    quick = ("--benchmark-max-time=0.02", "--benchmark-min-rounds=5", "--benchmark-min-time=0.001")
    version = _version_of("pytest-benchmark")
    command = (*pytest, "test_speed.py", *quick)
    _run(
        *command,
        "--benchmark-json=out.json",
        "--benchmark-save=out",
        where=place,
        settings={"PYTHONDONTWRITEBYTECODE": "1"},
    )
    _keep(f"pytest-benchmark-{version}-samples.json", (place / "out.json").read_text())
    _keep(f"pytest-benchmark-{version}.json", next((place / ".benchmarks").rglob("*_out.json")).read_text())
    _run(*pytest, "test_unit.py", "--junitxml=out.xml", where=place, check=False)
    _keep(f"junit-pytest-{_version_of('pytest')}.xml", (place / "out.xml").read_text())


def pyperf() -> None:
    """Run two benchmarks under pyperf: a file with both, and a file with one."""
    _pip("pyperf")
    place = _place(
        "pyperf",
        bench__py="""
            import pyperf
            runner = pyperf.Runner()
            runner.timeit("sort", "sorted(data)", "data = list(range(100, 0, -1))")
            runner.timeit("join", "','.join(data)", "data = ['a'] * 50")
            """,
    )
    quick = ("-p", "3", "-n", "2", "-w", "1", "-l", "64")
    version = _version_of("pyperf")
    _run(_PYTHON / "python", "bench.py", *quick, "-o", "suite.json", where=place)
    _keep(f"pyperf-{version}-suite.json", (place / "suite.json").read_text())
    _run(
        _PYTHON / "python",
        "-m",
        "pyperf",
        "timeit",
        *quick,
        "--track-memory",
        "-o",
        "one.json",
        "sorted([3, 1, 2])",
        where=place,
    )
    _keep(f"pyperf-{version}-memory.json", (place / "one.json").read_text())


def asv() -> None:
    """Run airspeed velocity on a repository of ours: results and the file that describes the benchmarks."""
    _pip("asv", "virtualenv")
    place = _place(
        "asv",
        asv__conf__json="""
            {"version": 1, "project": "demo", "repo": ".", "branches": ["main"], "environment_type": "existing",
             "benchmark_dir": "benchmarks", "results_dir": "results"}
            """,
    )
    (place / "benchmarks").mkdir()
    (place / "benchmarks" / "__init__.py").write_text("")
    (place / "benchmarks" / "suite.py").write_text(
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
    _repository(place)
    commit = _run("git", "rev-parse", "HEAD", where=place).strip()
    asv_program = _PYTHON / "asv"
    environment = f"existing:{_PYTHON / 'python'}"
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
    home = str(place)
    _run(asv_program, "machine", *machine, where=place, settings={"HOME": home})
    _run(
        asv_program, "run", "-E", environment, "--machine", "bench-1", "--set-commit-hash", commit, "-a", "rounds=1",
        "-a", "sample_time=0.001", "-a", "repeat=3", "--record-samples", where=place, check=False, settings={"HOME": home},
    )  # fmt: skip
    version = _version_of("asv")
    results = next((place / "results" / "bench-1").glob(f"{commit[:8]}*.json"))
    _keep(f"asv-{version}.json", results.read_text())
    _keep(f"asv-{version}-benchmarks.json", (place / "results" / "benchmarks.json").read_text())


def hyperfine() -> None:
    """Time two commands with a parameter, and one that fails."""
    place = _place("hyperfine")
    version = _run("hyperfine", "--version", where=place).split()[1]
    quick = ("--runs", "4", "--warmup", "1", "--style", "none")
    _run("hyperfine", *quick, "--export-json", "out.json", "-P", "count", "1", "2", "seq {count}00", where=place)
    _keep(f"hyperfine-{version}.json", (place / "out.json").read_text())
    _run("hyperfine", *quick, "-i", "--export-json", "out.json", "true", "exit 3", where=place)
    _keep(f"hyperfine-{version}-failure.json", (place / "out.json").read_text())


def google_benchmark() -> None:
    """Run Google Benchmark with repetitions, and with aggregates only."""
    place = _place(
        "google-benchmark",
        bench__cpp="""
            #include <benchmark/benchmark.h>
            #include <algorithm>
            #include <numeric>
            #include <vector>

            static void BM_Sort(benchmark::State& state) {
              std::vector<int> data(state.range(0));
              for (auto _ : state) {
                std::iota(data.rbegin(), data.rend(), 0);
                std::sort(data.begin(), data.end());
                benchmark::DoNotOptimize(data.data());
              }
              state.SetBytesProcessed(state.iterations() * data.size() * sizeof(int));
              state.counters["swaps"] = 12;
            }
            BENCHMARK(BM_Sort)->ArgName("size")->Arg(64)->Arg(256);
            BENCHMARK(BM_Sort)->Arg(32)->UseRealTime()->Unit(benchmark::kMicrosecond);

            template <class T> static void BM_Sum(benchmark::State& state) {
              std::vector<T> data(100, T(1));
              for (auto _ : state) benchmark::DoNotOptimize(std::accumulate(data.begin(), data.end(), T(0)));
              state.SetItemsProcessed(state.iterations() * data.size());
            }
            BENCHMARK_TEMPLATE(BM_Sum, double);
            BENCHMARK(BM_Sum<int>)->Threads(2);

            static void BM_Broken(benchmark::State& state) {
              state.SkipWithError("no device");
              for (auto _ : state) {}
            }
            BENCHMARK(BM_Broken);
            BENCHMARK_MAIN();
            """,
    )
    _run("g++", "-O2", "bench.cpp", "-o", "bench", "-lbenchmark", "-lpthread", where=place)
    version = _run("dpkg-query", "-W", "-f", "${Version}", "libbenchmark-dev", where=place).partition("-")[0]
    quick = ("--benchmark_min_time=0.002", "--benchmark_repetitions=3", "--benchmark_format=json")
    _keep(f"google-benchmark-{version}.json", _run("./bench", *quick, where=place))
    aggregates = _run("./bench", *quick, "--benchmark_report_aggregates_only=true", where=place)
    _keep(f"google-benchmark-{version}-aggregates.json", aggregates)


def catch2() -> None:
    """Run Catch2's benchmarks with the XML reporter."""
    place = _place(
        "catch2",
        bench__cpp="""
            #define CATCH_CONFIG_MAIN
            #define CATCH_CONFIG_ENABLE_BENCHMARKING
            #include <catch2/catch.hpp>
            #include <stdexcept>

            static int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

            TEST_CASE("Fibonacci") {
              CHECK(fibonacci(5) == 5);
              BENCHMARK("fibonacci 10") { return fibonacci(10); };
              SECTION("larger") {
                BENCHMARK("fibonacci 12") { return fibonacci(12); };
              }
            }

            TEST_CASE("Broken", "[!mayfail]") {
              BENCHMARK("throws") { throw std::runtime_error("boom"); return 1; };
            }
            """,
    )
    _run("g++", "-O2", "bench.cpp", "-o", "bench", where=place)
    version = _run("dpkg-query", "-W", "-f", "${Version}", "catch2", where=place).partition("-")[0]
    quick = ("-r", "xml", "--benchmark-samples", "10", "--benchmark-resamples", "100", "--benchmark-warmup-time", "1")
    _keep(f"catch2-{version}.xml", _run("./bench", *quick, where=place, check=False))


def go() -> None:
    """Run Go benchmarks: text, and the JSON events that wrap it."""
    place = _place(
        "go",
        go__mod="""
            module example.org/codec

            go 1.19
            """,
        codec_test__go="""
            package codec

            import (
                "encoding/json"
                "testing"
            )

            func BenchmarkEncode(b *testing.B) {
                for _, size := range []int{1, 16} {
                    data := make([]int, size)
                    b.Run(map[int]string{1: "format=json/size=1", 16: "format=json/size=16"}[size], func(b *testing.B) {
                        b.SetBytes(int64(8 * size))
                        b.ReportAllocs()
                        for i := 0; i < b.N; i++ {
                            json.Marshal(data)
                        }
                        b.ReportMetric(float64(size), "docs/op")
                    })
                }
            }

            func BenchmarkIndex(b *testing.B) {
                for i := 0; i < b.N; i++ {
                    _ = i * i
                }
            }

            func BenchmarkBroken(b *testing.B) { b.Fatal("no data") }

            func BenchmarkSkipped(b *testing.B) { b.Skip("not today") }
            """,
    )
    version = _run("go", "version", where=place).split()[2].removeprefix("go")
    settings = {"GOCACHE": str(_WORK / "go-cache"), "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
    command = ("go", "test", "-run", "^$", "-benchtime", "200x", "-count", "3")
    _keep(f"go-{version}.txt", _run(*command, "-bench", "Encode|Index", where=place, settings=settings))
    _keep(f"go-{version}-verbose.txt", _run(*command, "-v", "-bench", ".", where=place, check=False, settings=settings))
    _keep(
        f"go-{version}-events.json", _run(*command, "-json", "-bench", ".", where=place, check=False, settings=settings)
    )


def libtest() -> None:
    """Run Rust's built-in benchmarks."""
    place = _place(
        "libtest",
        Cargo__toml="""
            [package]
            name = "codec"
            version = "0.1.0"
            edition = "2021"

            [lib]
            path = "lib.rs"
            """,
        lib__rs="""
            #![feature(test)]
            extern crate test;

            #[cfg(test)]
            mod tests {
                use test::Bencher;

                #[bench]
                fn sort_100(b: &mut Bencher) {
                    b.bytes = 800;
                    b.iter(|| { let mut v: Vec<u64> = (0..100).rev().collect(); v.sort(); v });
                }

                #[bench]
                fn sum(b: &mut Bencher) {
                    b.iter(|| (0..test::black_box(1000u64)).sum::<u64>());
                }

                #[bench]
                #[ignore]
                fn slow(b: &mut Bencher) { b.iter(|| 1); }

                #[test]
                fn holds() {}
            }
            """,
    )
    version = _run("rustc", "--version", where=place).split()[1]
    settings = {"RUSTC_BOOTSTRAP": "1", "CARGO_TARGET_DIR": str(_WORK / "cargo")}
    _keep(f"libtest-{version}.txt", _run("cargo", "bench", "--offline", where=place, settings=settings))


def criterion() -> None:
    """Run Criterion.rs: its text, its libtest-like text, and the files that it leaves behind."""
    if not any(_DEBIAN_CRATES.glob("criterion-0*")):
        raise MissingToolError("librust-criterion-dev is not installed")
    version = next(_DEBIAN_CRATES.glob("criterion-0*")).name.removeprefix("criterion-")
    place = _place(
        "criterion",
        Cargo__toml=f"""
            [package]
            name = "codec"
            version = "0.1.0"
            edition = "2021"

            [lib]
            path = "lib.rs"
            bench = false

            [dev-dependencies]
            criterion = {{ version = "{version}", default-features = false }}

            [[bench]]
            name = "codec"
            path = "codec.rs"
            harness = false
            """,
        lib__rs="pub fn sum(n: u64) -> u64 { (0..n).map(|i| i ^ (i << 3)).fold(0, u64::wrapping_add) }\n",
        codec__rs="""
            use criterion::*;
            use std::time::Duration;

            fn bench(c: &mut Criterion) {
                c.bench_function("sum 1000", |b| b.iter(|| codec::sum(black_box(1000))));
                let mut group = c.benchmark_group("sums of many numbers that have a long name");
                for size in [10u64, 100] {
                    group.throughput(Throughput::Bytes(size * 8));
                    group.bench_with_input(BenchmarkId::new("xor", size), &size, |b, &n| b.iter(|| codec::sum(black_box(n))));
                }
                group.finish();
            }

            criterion_group! {
                name = benches;
                config = Criterion::default().sample_size(10).nresamples(1001)
                    .warm_up_time(Duration::from_millis(20)).measurement_time(Duration::from_millis(60));
                targets = bench
            }
            criterion_main!(benches);
            """,
    )
    (place / ".cargo").mkdir()
    (place / ".cargo" / "config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "debian"\n[source.debian]\ndirectory = "{_DEBIAN_CRATES}"\n'
    )
    settings = {"CARGO_TARGET_DIR": str(_WORK / "criterion-target"), "CARGO_TERM_COLOR": "never"}
    shutil.rmtree(_WORK / "criterion-target" / "criterion", ignore_errors=True)
    command = ("cargo", "bench", "--offline", "--quiet", "--bench", "codec", "--")
    _keep(
        f"criterion-{version}-bencher.txt", _run(*command, "--output-format", "bencher", where=place, settings=settings)
    )
    _keep(f"criterion-{version}.txt", _run(*command, "--color", "never", where=place, settings=settings))
    left = next((_WORK / "criterion-target" / "criterion").rglob("new/estimates.json")).parent
    for file in ("estimates", "sample", "benchmark"):
        _keep(f"criterion-{version}-{file}.json", (left / f"{file}.json").read_text())
    if (left / "raw.csv").exists():
        _keep(f"criterion-{version}-raw.csv", (left / "raw.csv").read_text())


def vitest() -> None:
    """Run Vitest's benchmarks."""
    files = {
        "sort.bench.js": """
            import { bench, describe } from 'vitest'

            const quick = { time: 5, iterations: 5, warmupTime: 1, warmupIterations: 1 }

            describe('sorting', () => {
              bench('numbers', () => { [3, 1, 2].sort() }, quick)
              bench('with a comparer', () => { [3, 1, 2].sort((a, b) => a - b) }, quick)
              bench.skip('left out', () => {}, quick)
            })

            bench('alone', () => { JSON.stringify({ a: 1 }) }, quick)
            """,
    }
    place = _WORK / "vitest"
    place.mkdir(parents=True, exist_ok=True)
    for major in ("2", "3", "4"):
        home = place / major
        home.mkdir(exist_ok=True)
        (home / "package.json").write_text('{"name": "demo", "private": true, "type": "module"}\n')
        for name, text in files.items():
            (home / name).write_text(textwrap.dedent(text).lstrip())
        _run("npm", "install", "--no-audit", "--no-fund", "--silent", f"vitest@{major}", where=home)
        version = json.loads((home / "node_modules" / "vitest" / "package.json").read_text())["version"]
        _run(
            "node", "node_modules/vitest/vitest.mjs", "bench", "--run", "--outputJson=out.json", where=home, check=False
        )
        if (home / "out.json").exists():
            _keep(f"vitest-{version}.json", (home / "out.json").read_text())
        else:
            print(f"vitest {version} wrote no file")


def conbench() -> None:
    """Build a Conbench result with the client library that benchmark suites use."""
    _pip("benchadapt")
    place = _place(
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
    text = _run(_PYTHON / "python", "make.py", where=place)
    _keep(f"conbench-benchadapt-{_version_of('benchadapt')}.json", text)


_TOOLS: dict[str, Callable[[], None]] = {
    "pytest-benchmark": pytest_benchmark,
    "pyperf": pyperf,
    "asv": asv,
    "hyperfine": hyperfine,
    "google-benchmark": google_benchmark,
    "catch2": catch2,
    "go": go,
    "libtest": libtest,
    "criterion": criterion,
    "vitest": vitest,
    "conbench": conbench,
}


def main() -> None:
    """Make the golden files of the tools named on the command line, or of all."""
    for name in sys.argv[1:] or _TOOLS:
        if name not in _TOOLS:
            raise SystemExit(f"No tool is called {name!r}; there are {', '.join(_TOOLS)}.")
        try:
            _TOOLS[name]()
        except MissingToolError as error:
            print(f"left out {re.sub(' +', ' ', name)}: {error}")


if __name__ == "__main__":
    main()
