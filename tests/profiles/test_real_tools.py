"""Profiles that the real tools write are read with the costs that the tools print."""

from __future__ import annotations

import cProfile
import os
import pstats
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.profiles.made import own, total

from knickpoint.profiles import ValueKind, read_profile

_C = """
static long __attribute__((noinline)) fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
static long __attribute__((noinline)) work(int n) { volatile long s = 0; for (int i = 0; i < n; i++) s += i; return s; }
int main(void) { return (work(1000) + work(500) + fib(12)) == 1; }
"""
_PYTHON = """
def work(until):
    total = 0
    while time.perf_counter() < until:
        total += sum(range(100))
    return total
import time
work(time.perf_counter() + 0.6)
"""
_JAVASCRIPT = "function work(end) { let s = 0; while (performance.now() < end) s += Math.sqrt(s); return s } work(performance.now() + 300)"


def _tool(name: str) -> str:
    """Return the path of a tool. Without it, the test is skipped; in CI it fails."""
    found = shutil.which(name, path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if found:
        return found
    if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
        pytest.fail(f"{name} is missing")
    pytest.skip(f"{name} is not installed")


def _fib(number: int) -> int:
    return number if number < 2 else _fib(number - 1) + _fib(number - 2)


def _even(number: int) -> bool:
    return number == 0 or _odd(number - 1)


def _odd(number: int) -> bool:
    return number != 0 and _even(number - 1)


def _measured() -> None:
    _fib(10)
    _even(20)
    sorted(range(1000), key=abs)


def test_cprofile_has_the_times_that_pstats_has(tmp_path: Path) -> None:
    profiler = cProfile.Profile()
    profiler.runcall(_measured)
    path = tmp_path / "out.prof"
    profiler.dump_stats(path)
    stats: dict[tuple[str, int, str], tuple[int, int, float, float, object]] = pstats.Stats(profiler).stats  # type: ignore[attr-defined]
    found = read_profile(path.read_bytes(), path.name)
    assert (found.kind, found.unit) == (ValueKind.TIME, "s")
    assert own(found) == pytest.approx({name: timing[2] for (_, _, name), timing in stats.items()})
    assert total(found) == pytest.approx({name: timing[3] for (_, _, name), timing in stats.items()})
    assert float(found.values.sum()) == pytest.approx(found.total, rel=1e-3)


def test_callgrind_has_the_instructions_that_its_own_tool_prints(tmp_path: Path) -> None:
    valgrind, compiler = _tool("valgrind"), _tool("gcc")
    annotate = _tool("callgrind_annotate")
    (tmp_path / "a.c").write_text(_C)
    subprocess.run([compiler, "-g", "-O1", "-o", "a", "a.c"], cwd=tmp_path, check=True)
    run = [valgrind, "--tool=callgrind", "--callgrind-out-file=a.out", "./a"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
    printed = subprocess.run(
        [annotate, "--threshold=100", "a.out"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout
    found = read_profile((tmp_path / "a.out").read_bytes(), "a.out")
    whole = re.search(r"([\d,]+) \(100\.0%\)  PROGRAM TOTALS", printed)
    lines = re.findall(r"^ *([\d,]+) \([ \d.]+%\)  \S*a\.c:(\w+)", printed, re.MULTILINE)
    expected: dict[str, int] = {}
    for cost, name in lines:
        expected[name] = expected.get(name, 0) + int(cost.replace(",", ""))
    assert whole
    assert found.total == int(whole[1].replace(",", ""))
    assert {"work", "fib"} <= expected.keys()
    assert {name: own(found)[name] for name in expected} == expected
    assert total(found)["fib"] == own(found)["fib"]
    assert total(found)["main"] == own(found)["main"] + own(found)["work"] + own(found)["fib"]


@pytest.mark.parametrize("form", ["raw", "speedscope"])
def test_py_spy_is_read(tmp_path: Path, form: str) -> None:
    spy = _tool("py-spy")
    (tmp_path / "a.py").write_text(_PYTHON)
    run = [spy, "record", "--rate", "100", "--format", form, "--output", "out", "--", sys.executable, "a.py"]
    ended = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=False)
    if "ermission" in ended.stderr:
        pytest.skip("py-spy may not read other processes here")
    found = read_profile((tmp_path / "out").read_bytes(), "out")
    assert own(found)["work"] > 0.5 * found.total
    assert found.kind is (ValueKind.COUNT if form == "raw" else ValueKind.TIME)


def test_the_profile_of_node_has_its_functions_and_about_its_time(tmp_path: Path) -> None:
    node = _tool("node")
    (tmp_path / "a.js").write_text(_JAVASCRIPT)
    run = [node, "--cpu-prof", "--cpu-prof-name=out.cpuprofile", "a.js"]
    subprocess.run(run, cwd=tmp_path, check=True, capture_output=True)
    found = read_profile((tmp_path / "out.cpuprofile").read_bytes(), "out.cpuprofile")
    assert total(found)["work"] > 0.1
    assert not found.is_library[found.names.index("work")]


_ALLOCATING = """
#include <stdlib.h>
static char *rows[100];
static char *__attribute__((noinline)) parse_row(int n) { char *p = malloc(n); p[0] = p[n - 1] = 1; return p; }
static void __attribute__((noinline)) load(void) { for (int i = 0; i < 100; i++) rows[i] = parse_row(100 + i); }
static void __attribute__((noinline)) fill(void) { free(rows[0]); rows[0] = calloc(10, 8); rows[0][0] = rows[1][0]; }
int main(void) { load(); fill(); for (int i = 0; i < 60; i++) free(rows[i]); return 0; }
"""


def test_dhat_has_the_bytes_and_blocks_that_valgrind_prints(tmp_path: Path) -> None:
    valgrind, compiler = _tool("valgrind"), _tool("gcc")
    (tmp_path / "a.c").write_text(_ALLOCATING)
    subprocess.run([compiler, "-g", "-O1", "-o", "a", "a.c"], cwd=tmp_path, check=True)
    run = [valgrind, "--tool=dhat", "--dhat-out-file=dhat.out.1", "./a"]
    printed = subprocess.run(run, cwd=tmp_path, check=True, capture_output=True, text=True).stderr
    names = {"Total": "total", "At t-gmax": "gmax", "At t-end": "end", "Reads": "read", "Writes": "written"}
    expected = {}
    for label, bytes_, blocks in re.findall(r"== ([\w -]+): +([\d,]+) bytes(?: in ([\d,]+) blocks)?", printed):
        expected[f"{names[label]}_bytes"] = float(bytes_.replace(",", ""))
        if blocks:
            expected[f"{names[label]}_blocks"] = float(blocks.replace(",", ""))
    data = (tmp_path / "dhat.out.1").read_bytes()
    found = {value: read_profile(data, "dhat.out.1", value=value) for value in expected}
    assert {value: profile.total for value, profile in found.items()} == expected
    usual = read_profile(data, "dhat.out.1")
    assert (usual.kind, usual.unit, usual.total) == (ValueKind.BYTES, "B", 15_030.0)
    assert found["total_blocks"].kind is ValueKind.ALLOCATIONS
    assert {name: total(usual)[name] for name in ("main", "load", "parse_row", "fill")} == {
        "main": 15_030.0, "load": 14_950.0, "parse_row": 14_950.0, "fill": 80.0
    }  # fmt: skip


GOLDEN = Path(__file__).parent / "golden"
"""Profiles of programs in Go 1.27 (of the heap with ``MemProfileRate = 1``), and what ``go tool pprof -top`` prints."""


@pytest.mark.parametrize(
    ("name", "value", "kind", "unit", "scale"),
    [
        ("go-heap", "alloc_space", ValueKind.BYTES, "B", 1.0),
        ("go-heap", "alloc_objects", ValueKind.ALLOCATIONS, "allocations", 1.0),
        ("go-heap", "inuse_space", ValueKind.BYTES, "B", 1.0),
        ("go-heap", "inuse_objects", ValueKind.ALLOCATIONS, "allocations", 1.0),
        ("go-cpu", "samples", ValueKind.COUNT, "samples", 1.0),
        ("go-cpu", "cpu", ValueKind.TIME, "s", 1e-9),
    ],
)
def test_the_profiles_of_go_have_the_costs_that_pprof_prints(
    name: str, value: str, kind: ValueKind, unit: str, scale: float
) -> None:
    text = (GOLDEN / f"{name}.txt").read_text()
    (printed,) = re.findall(rf"Type: {value}\n(.*?)(?:Type|\Z)", text, re.DOTALL)
    lines = re.findall(r"^ *(\d+)(?:B|ns)? .*?% +(\d+)(?:B|ns)? .*?%  (\S+)(?: \(inline\))?$", printed, re.MULTILINE)
    found = read_profile((GOLDEN / f"{name}.pb.gz").read_bytes(), name, value=value)
    costs, whole = own(found), total(found)
    with_cost = [each for each in costs if whole[each]]  # pprof leaves out stacks without cost
    assert len(lines) > 10
    assert {each: costs[each] for each in with_cost} == pytest.approx(
        {each: scale * float(flat) for flat, _, each in lines}
    )
    assert {each: whole[each] for each in with_cost} == pytest.approx(
        {each: scale * float(cum) for _, cum, each in lines}
    )
    assert (found.kind, found.unit) == (kind, unit)
