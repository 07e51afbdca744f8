"""Run benchmark libraries and frameworks, and write what they print into ``golden/``."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.formats.recorder import GOLDEN, run, version, write

_ASV_CONFIGURATION: Final = """\
{
    // asv takes comments
    "version": 1,
    "project": "sorts",
    "repo": ".",
    "branches": ["main"],
    "environment_type": "virtualenv",
    "pythons": ["%s"],
    "build_command": [],
    "install_command": [],
    "uninstall_command": [],
    "results_dir": ".asv/results",
    "html_dir": ".asv/html",
    "regressions_thresholds": {"^time": 0.1},
}
"""
_ASV_BENCHMARKS: Final = """\
class Sorts:
    params = [[10, 100], ["up", "down"]]
    param_names = ["size", "order"]

    def setup(self, size, order):
        if size == 10 and order == "down":
            raise NotImplementedError
        self.values = list(range(size))[:: 1 if order == "up" else -1]

    def time_sort(self, size, order):
        sorted(self.values)


def track_length():
    return SIZE


track_length.unit = "items"


def peakmem_list():
    return [0] * 1000
"""


def record_asv() -> None:
    """Record the results of four commits, and the site that asv publishes of them.

    Asv and virtualenv come from PyPI.
    """
    with tempfile.TemporaryDirectory() as directory:
        project = Path(directory)
        (project / "asv.conf.json").write_text(
            _ASV_CONFIGURATION % f"{sys.version_info.major}.{sys.version_info.minor}"
        )
        (project / "benchmarks").mkdir()
        (project / "benchmarks" / "__init__.py").touch()
        git = ("git", "-c", "user.name=A", "-c", "user.email=a@example.com", "-C", project)
        run("git", "init", "-q", "-b", "main", project)
        run("asv", "machine", "--yes", "--machine", "box", directory=project)
        for month in range(1, 5):
            benchmarks = _ASV_BENCHMARKS.replace("SIZE", str(month)) + "\n" * month
            (project / "benchmarks" / "sorts.py").write_text(benchmarks)
            run(*git, "add", "benchmarks")
            date = f"2026-0{month}-01T10:00:00Z"
            run("env", f"GIT_COMMITTER_DATE={date}", *git, "commit", "-q", "-m", f"Change {month}", "--date", date)
        run("asv", "run", "--quick", "--machine", "box", "ALL", directory=project, fails=True)
        run("asv", "publish", directory=project)
        kept = GOLDEN.parent.parent / "instance" / "asv_project"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(project / ".asv" / "results", kept / "results")
        shutil.copytree(
            project / ".asv" / "html" / "graphs", kept / "html" / "graphs", ignore=shutil.ignore_patterns("summary*")
        )
        shutil.copy(project / ".asv" / "html" / "index.json", kept / "html")
        shutil.copy(project / "asv.conf.json", kept)


_TINYBENCH: Final = """\
import { Bench } from 'tinybench'
const retain = process.argv[2] === 'samples'
const bench = new Bench({ time: 2, iterations: 4, warmupTime: 1, warmupIterations: 1, retainSamples: retain })
bench.add('concat', () => { let s = ''; for (let i = 0; i < 9999; i++) s += i })
bench.add('join', () => { Array.from({ length: 9999 }, (_, i) => i).join('') })
bench.add('throws', () => { throw new Error('boom') })
await bench.run()
if (process.argv[2] === 'table') console.table(bench.table().map(({ Stack, ...row }) => row))
else console.log(JSON.stringify(bench.tasks.map(({ name, result }) => ({ name, result }))))
"""
_BENCHMARKJS: Final = """\
const { Suite } = require('benchmark')
new Suite()
  .add('parse', { fn: () => JSON.parse('[1,2,3]'), maxTime: 0.2 })
  .add('3 x 4', { fn: () => Array(3).fill(4), maxTime: 0.2 })
  .on('cycle', event => console.log(String(event.target)))
  .run()
"""
_DENO: Final = """\
Deno.bench('parse', () => { JSON.parse('[1,2,3]') })
Deno.bench({ name: 'join', group: 'strings' }, () => { Array(99).fill(1).join('') })
Deno.bench('throws', () => { throw new Error('boom') })
"""
_IPS: Final = """\
require 'benchmark/ips'
Benchmark.ips do |x|
  x.config(time: 0.3, warmup: 0.1)
  x.report('addition') { 1 + 2 }
  x.report('join a few strings with commas') { %w[a b c].join(',') }
  x.compare!
  x.json! 'ips.json'
end
"""
_CATCH2: Final = """\
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <catch2/catch.hpp>
#include <numeric>
#include <stdexcept>
#include <vector>
static long sum(int n) { std::vector<long> v(n, 1); return std::accumulate(v.begin(), v.end(), 0L); }
TEST_CASE("sums") {
    BENCHMARK("sum 100") { return sum(100); };
    SECTION("large") {
        BENCHMARK("sum 100000 with a name so long that it has to be broken over several lines") { return sum(100000); };
    }
}
TEST_CASE("failing") { BENCHMARK("throws") { if (sum(3) == 3) throw std::runtime_error("boom"); return 1; }; }
"""
_GTEST: Final = """\
#include <gtest/gtest.h>
#include <chrono>
#include <thread>
static void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }
TEST(Quick, Rests) { rest(); }
TEST(Quick, Fails) { EXPECT_EQ(1, 2); }
TEST(Quick, DISABLED_Later) { rest(); }
TEST(Quick, Skips) { GTEST_SKIP() << "not here"; }
class Sizes : public testing::TestWithParam<int> {};
TEST_P(Sizes, Rests) { rest(); }
INSTANTIATE_TEST_SUITE_P(Small, Sizes, testing::Values(1, 2));
"""


def packages(directory: Path, *names: str) -> str:
    """Install packages of npm into ``directory``, and return the version of the first."""
    run("npm", "install", "--no-audit", "--no-fund", "--silent", *names, directory=directory)
    text = (directory / "node_modules" / names[0] / "package.json").read_text(encoding="utf-8")
    return str(json.loads(text)["version"])


def record_javascript() -> None:
    """Record tinybench, benchmark.js and Deno, which come from npm."""
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        found = packages(directory, "tinybench")
        (directory / "tinybench.mjs").write_text(_TINYBENCH)
        for what, ending in (("", ".json"), ("samples", "-samples.json"), ("table", "-table.txt")):
            write(f"tinybench-{found}{ending}", run("node", "tinybench.mjs", what, directory=directory))
        found = packages(directory, "benchmark")
        (directory / "benchmarkjs.js").write_text(_BENCHMARKJS)
        write(f"benchmarkjs-{found}.txt", run("node", "benchmarkjs.js", directory=directory))
        found = packages(directory, "deno")
        (program,) = directory.glob("node_modules/@deno/*/deno")
        (directory / "strings.ts").write_text(_DENO)
        document = json.loads(run(program, "bench", "--json", "strings.ts", directory=directory, fails=True))
        for bench in document["benches"]:
            bench["origin"] = "file:///project/strings.ts"
            for result in bench["results"]:
                if "failed" in result:  # the stack names directories of this machine
                    result["failed"] = {name: result["failed"][name] for name in ("name", "message")}
        write(f"deno-{found}.json", json.dumps(document, indent=1) + "\n")


def record_benchmark_ips() -> None:
    """Record benchmark-ips (``ruby-benchmark-ips``) as text and as JSON."""
    found = version("dpkg-query", "-W", "ruby-benchmark-ips", pattern=r"\t(\d[\d.]*)")
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "ips.rb").write_text(_IPS)
        write(f"benchmark-ips-{found}.txt", run("ruby", "ips.rb", directory=Path(directory)))
        write(f"benchmark-ips-{found}.json", (Path(directory) / "ips.json").read_text())


def record_native() -> None:
    """Record Catch2's console (``catch2``), and GoogleTest's XML (``libgtest-dev``), compiled here."""
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        (directory / "sums.cpp").write_text(_CATCH2)
        run("g++", "-O1", "-o", "sums", "sums.cpp", directory=directory)
        printed = run("./sums", "--benchmark-samples", "20", "--benchmark-warmup-time", "10", directory=directory)
        found = version("dpkg-query", "-W", "catch2", pattern=r"\t(\d[\d.]*)")
        write(f"catch2-{found}-console.txt", printed)
        (directory / "rests.cpp").write_text(_GTEST)
        run("g++", "-o", "rests", "rests.cpp", "-lgtest", "-lgtest_main", "-pthread", directory=directory)
        run("./rests", "--gtest_output=xml:rests.xml", directory=directory, fails=True)
        found = version("dpkg-query", "-W", "libgtest-dev", pattern=r"\t(\d[\d.]*)")
        write(f"junit-gtest-{found}.xml", (directory / "rests.xml").read_text())
