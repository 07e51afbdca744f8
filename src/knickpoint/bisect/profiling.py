"""Measure two commits again under a profiler, in turns, after it is decided which is slower; no value depends on it."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.bisect.job import BENCHMARKS, OUT, PROFILE_FILE
from knickpoint.bisect.settings import RecipeSettings
from knickpoint.model.bisection import BisectionState, ProbeOutcome, ProbeResult
from knickpoint.model.errors import ConfigError, InputError, KnickpointError

if TYPE_CHECKING:
    from knickpoint.bisect.coordinator import BisectionAnswer
    from knickpoint.profiles import Profile

PROFILES: Final = 5
"""Profiles a side: five are good, see ``docs/guide/profiles.md``."""
_EXACT_PROFILES: Final = 2

_COMMAND: Final = "{command}"
_PERF: Final = (
    'perf record -q -g -o "$0.data" -- "$@"; code=$?; '
    'perf script -i "$0.data" -F comm,ip,sym,dso >"$0" && rm "$0.data" && exit $code'
)
"""A command that fails has a profile as well."""
_ANY_CODE: Final = ("sh", "-c", '"$@"; [ $? -lt 126 ]', "sh")
"""Before a command that passes or fails: only what cannot be started makes no profile."""
_CLOCKS: Final = {"cprofile": "process_time", "cprofile-wall": "perf_counter"}
"""The clocks of cProfile: that of the processor does not count what other programs of the machine take."""
_CPROFILE: Final = """\
import cProfile, os, runpy, sys, time
out, *sys.argv = sys.argv[1:]
profiler, name = cProfile.Profile(time.{clock}, builtins=False), sys.argv[0]
try:
    if name == "-m":
        del sys.argv[0]
        profiler.runcall(runpy.run_module, sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        if sys.path[:1] == [""]:
            sys.path[0] = os.path.dirname(os.path.abspath(name))
        profiler.runcall(runpy.run_path, name, run_name="__main__")
finally:
    profiler.dump_stats(out)
"""
_PYTHON_OPTIONS: Final = frozenset({"-X", "-W"})
"""Options of Python that have a value in the word behind them."""


class ProfilerError(KnickpointError):
    """There is no profile; what was measured without the profiler stands."""


@dataclass(frozen=True, slots=True)
class Profiler:
    """A profiler: the words of its command, with ``{out}`` and ``{command}``, and what to do where it is forbidden.

    ``program`` is what has to be installed, "" for the first word of the command.
    """

    name: str
    words: tuple[str, ...]
    remedy: str
    profiles: int = PROFILES
    program: str = ""

    def over(self, measure: Sequence[str], out: Path | str) -> tuple[str, ...]:
        """Return the command that profiles ``measure`` and writes into ``out``.

        Raises:
            InputError: cProfile is to profile something else than a script or a module of Python.
        """
        if self.name in _CLOCKS:
            return _with_cprofile(measure, out, _CLOCKS[self.name])
        found: list[str] = []
        for word in self.words:
            found += measure if word == _COMMAND else [word.replace(OUT, str(out))]
        return tuple(found)


_KNOWN: Final[Mapping[str, Profiler]] = {
    each.name: each
    for each in (
        Profiler(
            "py-spy",
            ("py-spy", "record", "--format", "raw", "--rate", "250", "--subprocesses", "-o", OUT, "--", _COMMAND),
            "Install it with pip install py-spy. In a container it needs --cap-add SYS_PTRACE.",
        ),
        Profiler(
            "perf",
            ("sh", "-c", _PERF, OUT, _COMMAND),
            "Install perf (linux-perf), and allow it with sysctl kernel.perf_event_paranoid=1; in a container it needs "
            "--cap-add PERFMON. Callgrind needs no permission.",
            program="perf",
        ),
        Profiler(
            "callgrind",
            (
                *("valgrind", "--tool=callgrind", "--trace-children=yes", f"--callgrind-out-file={OUT}.%p"),
                *("--error-exitcode=0", "-q", _COMMAND),
            ),
            "Install valgrind.",
            _EXACT_PROFILES,
        ),
        Profiler("cprofile", (), "Name a script or a module of Python after --."),
        Profiler("cprofile-wall", (), "Name a script or a module of Python after --."),
    )
}

NAMES: Final = tuple(_KNOWN)


def read_profiler(text: str, where: str = "--profiler") -> Profiler:
    """Return the profiler of this name, or that of a command with ``{out}`` for the file that it writes.

    Raises:
        InputError: it is neither.
    """
    if text in _KNOWN:
        return _KNOWN[text]
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        words = ()
    if not any(OUT in word for word in words):
        raise InputError(
            f"{text!r} is neither a known profiler nor a command with {OUT}",
            where=where,
            remedy=f"Use {', '.join(NAMES)}, or a command such as 'samply record --save-only -o {OUT} -- {_COMMAND}'.",
        )
    words = words if _COMMAND in words else (*words, _COMMAND)
    return Profiler(words[0], words, "Try the command by hand in a checkout.")


def check_profiler(recipe: RecipeSettings, where: str) -> None:
    """Refuse a recipe whose profiler is not known, or cannot profile its command. Raises ``ConfigError``."""
    if not recipe.profiler:
        return
    try:
        read_profiler(recipe.profiler, where).over(recipe.measure, OUT)
    except InputError as error:
        raise ConfigError(f"profiler: {error.message}", where=where, remedy=error.remedy) from error


def profiled_recipe(profiler: Profiler, recipe: RecipeSettings, benchmarks: str) -> RecipeSettings:
    """Return the recipe whose probes have a profile of the ``benchmarks`` (a regular expression) as their only result.

    Raises:
        InputError: the profiler cannot profile the command.
    """
    environment = {name: value.replace(BENCHMARKS, benchmarks) for name, value in recipe.environment.items()}
    measure = tuple(word.replace(BENCHMARKS, benchmarks) for word in recipe.measure)
    over = profiler.over(measure, OUT)
    return replace(
        recipe,
        measure=over if recipe.results else (*_ANY_CODE, *over),
        environment=environment,
        results=(f"{PROFILE_FILE}*",),
        format="profile",
        repeats=1,
    )


def profiled_ends(answer: BisectionAnswer) -> list[tuple[int, int]]:
    """Places before and after each change that a bisection found: of each culprit, else of the range that is left."""
    if answer.state is BisectionState.CULPRIT or answer.several:
        return [(place - 1, place) for place in answer.places]
    if answer.state is BisectionState.RANGE and answer.places:
        return [(min(answer.places) - 1, max(answer.places))]
    return []


def record_profiles(
    profiler: Profiler,
    recipe: RecipeSettings,
    run: Callable[[int, RecipeSettings], ProbeResult],
    directory: Path,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[list[Profile], list[Profile]]:
    """Profile both sides in turns, and return the profiles before and after; the files stay in ``directory``.

    ``run`` makes a probe of a side (0 for the one before) with another recipe.

    Raises:
        ProfilerError: the profiler is missing or forbidden, failed, or wrote nothing that can be read.
        InputError: it cannot profile such a command.
    """
    from knickpoint.profiles import read_profile

    # One name for what each run writes: with another command, the commit would be built again.
    out = directory / "recorded"
    profiled = replace(recipe, measure=profiler.over(recipe.measure, out), results=(), repeats=1)
    program = profiler.program or profiled.measure[0]
    if not shutil.which(program):
        raise ProfilerError(f"the profiler {program!r} is not installed", remedy=profiler.remedy)
    sides: tuple[list[Profile], list[Profile]] = ([], [])
    for number in range(1, profiler.profiles + 1):
        for side in (0, 1) if number % 2 else (1, 0):
            progress(f"profile {number} of {profiler.profiles}, {('before', 'after')[side]}")
            result = run(side, profiled)
            try:
                # A command that fails at the bad end of a bisection has a profile all the same.
                path = _written(out, directory / ("before", "after")[side] / f"{number}.profile", result)
                sides[side].append(read_profile(path.read_bytes(), str(path)))
            except (KnickpointError, OSError) as error:
                raise ProfilerError(f"{profiler.name} gave no profile: {error}", remedy=profiler.remedy) from error
    return sides


def _written(out: Path, kept: Path, result: ProbeResult) -> Path:
    """Move the file that the profiler wrote to ``kept``, and return it; of several, that of the process that cost most.

    Raises:
        ProfilerError: there is none.
    """
    found = [path for path in (out, *out.parent.glob(f"{out.name}.*")) if path.is_file() and path.stat().st_size]
    if not found or result.outcome not in {ProbeOutcome.PASSED, ProbeOutcome.FAILED}:
        raise ProfilerError(result.reason or "it wrote no file")
    largest = max(found, key=lambda path: path.stat().st_size)
    for path in found:
        if path != largest:
            path.unlink()  # of a process that only started another one
    kept.parent.mkdir(parents=True, exist_ok=True)
    return largest.rename(kept)


def _with_cprofile(measure: Sequence[str], out: Path | str, clock: str) -> tuple[str, ...]:
    """Return the command of Python with cProfile, on a clock of the module ``time``, around its script or module."""
    program, *rest = measure or ("",)
    place = 0
    while place < len(rest) and rest[place].startswith("-") and rest[place] not in {"-m", "-c", "-"}:
        place += 2 if rest[place] in _PYTHON_OPTIONS else 1
    is_python = Path(program).name.startswith(("python", "pypy"))
    if not is_python or place >= len(rest) or rest[place] in {"-c", "-"}:
        raise InputError(
            "cProfile profiles a script or a module of Python",
            where=shlex.join(measure),
            remedy="Let the command begin with python, as in python bench.py; or use py-spy.",
        )
    return (program, *rest[:place], "-c", _CPROFILE.format(clock=clock), str(out), *rest[place:])
