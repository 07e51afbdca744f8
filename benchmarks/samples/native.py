"""Run benchmark tools of C++, Go, and the shell."""

from __future__ import annotations

from samples.tool import WORK, keep, place, run

__all__ = ["catch2", "go", "google_benchmark", "hyperfine"]


def hyperfine() -> None:
    """Time two commands with a parameter, and one that fails."""
    where = place("hyperfine")
    version = run("hyperfine", "--version", where=where).split()[1]
    quick = ("--runs", "4", "--warmup", "1", "--style", "none")
    run("hyperfine", *quick, "--export-json", "out.json", "-P", "count", "1", "2", "seq {count}00", where=where)
    keep(f"hyperfine-{version}.json", (where / "out.json").read_text())
    run("hyperfine", *quick, "-i", "--export-json", "out.json", "true", "exit 3", where=where)
    keep(f"hyperfine-{version}-failure.json", (where / "out.json").read_text())


def google_benchmark() -> None:
    """Run Google Benchmark with repetitions, and with aggregates only."""
    where = place(
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
    run("g++", "-O2", "bench.cpp", "-o", "bench", "-lbenchmark", "-lpthread", where=where)
    version = run("dpkg-query", "-W", "-f", "${Version}", "libbenchmark-dev", where=where).partition("-")[0]
    quick = ("--benchmark_min_time=0.002", "--benchmark_repetitions=3", "--benchmark_format=json")
    keep(f"google-benchmark-{version}.json", run("./bench", *quick, where=where))
    aggregates = run("./bench", *quick, "--benchmark_report_aggregates_only=true", where=where)
    keep(f"google-benchmark-{version}-aggregates.json", aggregates)


def catch2() -> None:
    """Run Catch2's benchmarks with the XML reporter."""
    where = place(
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
    run("g++", "-O2", "bench.cpp", "-o", "bench", where=where)
    version = run("dpkg-query", "-W", "-f", "${Version}", "catch2", where=where).partition("-")[0]
    quick = ("-r", "xml", "--benchmark-samples", "10", "--benchmark-resamples", "100", "--benchmark-warmup-time", "1")
    keep(f"catch2-{version}.xml", run("./bench", *quick, where=where, check=False))


def go() -> None:
    """Run Go benchmarks: text, and the JSON events that wrap it."""
    where = place(
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
    version = run("go", "version", where=where).split()[2].removeprefix("go")
    settings = {"GOCACHE": str(WORK / "go-cache"), "GOFLAGS": "-mod=mod", "GOPROXY": "off"}
    command = ("go", "test", "-run", "^$", "-benchtime", "200x", "-count", "3")
    keep(f"go-{version}.txt", run(*command, "-bench", "Encode|Index", where=where, settings=settings))
    keep(f"go-{version}-verbose.txt", run(*command, "-v", "-bench", ".", where=where, check=False, settings=settings))
    keep(
        f"go-{version}-events.json", run(*command, "-json", "-bench", ".", where=where, check=False, settings=settings)
    )
