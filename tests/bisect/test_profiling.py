"""Profilers on demand: the command that each runs, what of several files counts, and what is said where there is none."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from knickpoint.bisect.coordinator import BisectionAnswer
from knickpoint.bisect.profiling import (
    ProfilerError,
    check_profiler,
    profiled_ends,
    profiled_recipe,
    read_profiler,
    record_profiles,
)
from knickpoint.bisect.settings import RecipeSettings
from knickpoint.model.bisection import BisectionState, ProbeOutcome, ProbeResult, Target
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.posterior import Posterior
from knickpoint.profiles import read_profile

RECIPE = RecipeSettings("test", measure=("python3", "bench.py", "--fast"), results=("out.json",), repeats=3)


def test_the_command_stands_in_the_place_that_a_template_names_or_at_its_end(tmp_path: Path) -> None:
    command = ("./bench", "a b")
    assert read_profiler("tool -o {out} {command} --after").over(command, tmp_path) == (
        *("tool", "-o", str(tmp_path), "./bench", "a b", "--after"),
    )
    assert read_profiler("tool --to={out}").over(command, tmp_path) == ("tool", f"--to={tmp_path}", "./bench", "a b")


@pytest.mark.parametrize("text", ["gprof", "tool -o file", "'"])
def test_what_is_neither_a_profiler_nor_a_template_is_refused_with_both(text: str) -> None:
    with pytest.raises(InputError, match="neither a known profiler") as refused:
        read_profiler(text)
    assert "py-spy, perf, callgrind, cprofile" in refused.value.remedy


@pytest.mark.parametrize("name", ["cprofile", "cprofile-wall"])
@pytest.mark.parametrize("command", [("b.py", "-x"), ("-S", "-X", "dev", "-m", "b", "-x")])
def test_cprofile_runs_the_script_or_the_module_as_python_does(
    command: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    (tmp_path / "near.py").write_text("def work(count):\n    return sum(range(count))\n")
    (tmp_path / "b.py").write_text(
        "import sys, near\nnear.work(100)\nassert __name__ == '__main__'\nsys.exit(sys.argv[1:] != ['-x'])\n"
    )
    words = read_profiler(name).over((sys.executable, *command), tmp_path / "out")
    subprocess.run(words, check=True, cwd=tmp_path)
    found = read_profile((tmp_path / "out").read_bytes())
    assert {"work", "<module>"} <= set(found.names)
    (tmp_path / "b.py").write_text("raise SystemExit(3)\n")
    assert subprocess.run(words, check=False, cwd=tmp_path).returncode == 3


@pytest.mark.parametrize("command", [("make", "bench"), ("python3", "-c", "pass"), ("python3",)])
def test_cprofile_refuses_what_is_neither(command: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="a script or a module of Python"):
        read_profiler("cprofile").over(command, Path("OUT"))


def _result(outcome: ProbeOutcome, reason: str = "") -> ProbeResult:
    return ProbeResult("p", Target("c"), "here", outcome, datetime.now(UTC), 1.0, reason=reason)


def test_both_sides_are_profiled_in_turns_by_one_command_and_the_largest_file_counts(tmp_path: Path) -> None:
    sides: list[int] = []
    commands: set[tuple[str, ...]] = set()

    def run(side: int, recipe: RecipeSettings) -> ProbeResult:
        assert (recipe.results, recipe.repeats) == ((), 1)
        sides.append(side)
        commands.add(recipe.measure)
        Path(f"{recipe.measure[1]}.1").write_text("make 1\n")
        Path(f"{recipe.measure[1]}.2").write_text(f"main;parse {100 + 50 * side}\nmain;load 20\n")
        return _result(ProbeOutcome.PASSED)

    profiler = read_profiler(f"{sys.executable} {{out}}")
    before, after = record_profiles(profiler, RECIPE, run, tmp_path)
    assert sides == [0, 1, 1, 0, 0, 1, 1, 0, 0, 1]
    assert len(commands) == 1
    assert ({each.total for each in before}, {each.total for each in after}) == ({120.0}, {170.0})
    assert sorted(path.name for path in (tmp_path / "after").iterdir()) == [f"{k}.profile" for k in range(1, 6)]


@pytest.mark.parametrize(
    ("profiler", "outcome", "message"),
    [
        ("no-such-profiler {out}", ProbeOutcome.PASSED, "the profiler 'no-such-profiler' is not installed"),
        (f"{sys.executable} {{out}}", ProbeOutcome.FAILED, "gave no profile: test ended with exit code 255"),
        (f"{sys.executable} {{out}}", ProbeOutcome.PASSED, "it wrote no file"),
    ],
)
def test_a_missing_or_forbidden_profiler_is_named(
    profiler: str, outcome: ProbeOutcome, message: str, tmp_path: Path
) -> None:
    reason = "" if outcome is ProbeOutcome.PASSED else "test ended with exit code 255"
    with pytest.raises(ProfilerError, match=message):
        record_profiles(read_profiler(profiler), RECIPE, lambda *_: _result(outcome, reason), tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"profiler": "gprof"}, "profiler: 'gprof' is neither a known profiler"),
        ({"profiler": "cprofile", "measure": ("make",)}, "profiler: cProfile profiles a script or a module of Python"),
    ],
)
def test_the_profiler_of_a_recipe_is_checked_with_its_place(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        check_profiler(replace(RECIPE, **changes), "knickpoint.toml, [bisect.quick]")  # type: ignore[arg-type]
    assert refused.value.where == "knickpoint.toml, [bisect.quick]"
    check_profiler(replace(RECIPE, profiler="cprofile"), "")
    check_profiler(replace(RECIPE, profiler="py-spy", results=()), "")


@pytest.mark.parametrize(("code", "makes"), [(0, True), (1, True), (126, False), (127, False)])
def test_a_command_that_fails_has_a_profile_and_one_that_cannot_be_started_has_none(code: int, *, makes: bool) -> None:
    recipe = RecipeSettings("check", measure=("sh", "-c", f"exit {code}"))
    command = profiled_recipe(read_profiler("env OUT={out} {command}"), recipe, ".*").measure
    assert (subprocess.run(command, check=False).returncode == 0) is makes


@pytest.mark.parametrize(
    ("answer", "ends"),
    [
        ((BisectionState.CULPRIT, (3,), False), [(2, 3)]),
        ((BisectionState.RANGE, (3, 7), True), [(2, 3), (6, 7)]),
        ((BisectionState.RANGE, (3, 4, 5), False), [(2, 5)]),
        ((BisectionState.GAVE_UP, (3, 4), False), []),
    ],
)
def test_each_culprit_or_the_range_that_is_left_has_two_ends(
    answer: tuple[BisectionState, tuple[int, ...], bool], ends: list[tuple[int, int]]
) -> None:
    state, places, several = answer
    none = Posterior(np.zeros(0), 0.0, 0.0, np.zeros(0))
    assert profiled_ends(BisectionAnswer(state, places, 1.0, none, several=several)) == ends
