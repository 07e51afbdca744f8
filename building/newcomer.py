"""Use the wheel in ``dist/`` as a newcomer does, in new environments, and print the seconds: ``make try-packages``.

A newcomer has a Python, pip and the wheel, no compiler and no source tree: installs the library and finds a step in a
list; installs the program, imports a history, draws a trace and judges two pull requests; installs the whole program
and runs its demonstration. The last row is what a CI job waits for: from ``pip install`` to the first verdict, with
pip's cache filled and the history at hand.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["Trial", "TrialError", "try_wheel"]

_BUILDING: Final = Path(__file__).resolve().parent
_BENCHMARKS: Final = 20
_DAYS: Final = 28
_VERDICT_SECONDS: Final = 10
"""How long a CI job should wait for its verdict at most, on two cores; stated, not enforced."""

_ENVIRONMENT: Final = {
    name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KNICKPOINT", "VIRTUAL_ENV"))
}


class TrialError(Exception):
    """Something did not do what a newcomer expects."""


@dataclass(slots=True)
class Trial:
    """The wheel, the Python that it is tried on, and the seconds of every stage in the order of the stages."""

    wheel: Path
    python: Path
    directory: Path
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure what happens within."""
        started, worked = time.perf_counter(), _processor_seconds()
        yield
        self.seconds[name] = time.perf_counter() - started
        print(f"{self.seconds[name]:7.1f} s  ({_processor_seconds() - worked:5.1f} s of CPU)  {name}", flush=True)

    def environment(self, name: str) -> Path:
        """Make a virtual environment, and return the directory of its programs."""
        self.run(self.python, "-m", "venv", self.directory / name)
        return self.directory / name / "bin"

    def install(self, programs: Path, extra: str = "") -> None:
        """Install the wheel with ``extra`` into an environment; only wheels, so that no compiler is needed."""
        pip = (programs / "python", "-m", "pip", "--disable-pip-version-check", "--no-input")
        wanted = f"{self.wheel}[{extra}]" if extra else str(self.wheel)
        self.run(*pip, "install", "--quiet", "--only-binary", ":all:", wanted)

    def run(self, *command: str | Path, code: int = 0) -> str:
        """Run a command in the directory of the trial, and return what it printed.

        Raises:
            TrialError: it ended with another exit code than ``code``.
        """
        done = subprocess.run(
            command, cwd=self.directory, env=_ENVIRONMENT, capture_output=True, text=True, check=False
        )
        if done.returncode != code:
            printed = f"{done.stdout[-3000:]}{done.stderr[-3000:]}"
            called = " ".join(map(str, command))
            raise TrialError(f"`{called}` ended with exit code {done.returncode} instead of {code}:\n{printed}")
        return done.stdout


def _processor_seconds() -> float:
    """Return the time that the commands until now kept processors busy, which other work on the machine hardly changes."""
    times = os.times()
    return times.children_user + times.children_system


def _write_results(directory: Path) -> None:
    """Write a history, the results of a pull request that changes nothing, and those of one that makes a benchmark slower."""
    names = [f"parse_{number}" for number in range(_BENCHMARKS)]
    rows = [
        f"c{day},2026-01-{day:02}T00:00:00Z,{name},{10 + (day * 7 + place) % 5 / 10},ms"
        for day in range(1, _DAYS + 1)
        for place, name in enumerate(names)
    ]
    (directory / "history.csv").write_text("\n".join(["commit,time,benchmark,value,unit", *rows, ""]))
    for file, slow in (("same.csv", 10.2), ("slower.csv", 15)):
        new = [f"{name},{slow if name == names[3] else 10.2},ms" for name in names]
        (directory / file).write_text("\n".join(["benchmark,value,unit", *new, ""]))


def _try_library(trial: Trial) -> None:
    programs = trial.environment("library")
    with trial.stage("pip install knickpoint"):
        trial.install(programs)
    with trial.stage("find a step in a list"):
        trial.run(programs / "python", _BUILDING / "trial.py")
    trial.run(programs / "knick", code=2)


def _try_program(trial: Trial) -> None:
    programs = trial.environment("program")
    knick = programs / "knick"
    with trial.stage("pip install knickpoint[cli]"):
        trial.install(programs, "cli")
    with trial.stage("knick init, knick import: a history of 560 values"):
        trial.run(knick, "init", "--no-repository")
        trial.run(knick, "import", "history.csv")
    with trial.stage("knick run: find what changed"):
        trial.run(knick, "run")
    with trial.stage("knick plot: a picture"):
        trial.run(knick, "plot", "benchmark=parse_3", "--output", "trace.svg")
    with trial.stage("knick check: the gate lets an unchanged pull request pass"):
        trial.run(knick, "check", "same.csv")
    with trial.stage("knick check: the gate stops a slower one"):
        if "parse_3" not in (said := trial.run(knick, "check", "slower.csv", code=1)):
            raise TrialError(f"the check does not name the slower benchmark:\n{said}")


def _try_everything(trial: Trial) -> None:
    programs = trial.environment("everything")
    with trial.stage("pip install knickpoint[server]"):
        trial.install(programs, "server")
    with trial.stage("knick demo --no-serve: a repository, its benchmarks, its changes"):
        trial.run(programs / "knick", "demo", "--no-serve")


def _try_job(trial: Trial) -> None:
    """Measure a CI job: everything was downloaded before, and the history comes from the cache of the CI."""
    programs = trial.environment("job")
    with trial.stage("a CI job, from pip install knickpoint[cli] to the first verdict"):
        trial.install(programs, "cli")
        trial.run(programs / "knick", "check", "slower.csv", code=1)


def try_wheel(wheel: Path, python: Path, directory: Path, *, demo: bool = True) -> Trial:
    """Try ``wheel`` on ``python`` in an empty ``directory``, and return what was measured.

    Raises:
        TrialError: something did not do what a newcomer expects.
    """
    trial = Trial(wheel, python, directory)
    _write_results(directory)
    _try_library(trial)
    _try_program(trial)
    if demo:
        _try_everything(trial)
    _try_job(trial)
    return trial


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, help="the wheel; otherwise the only one in dist/")
    parser.add_argument(
        "--python", type=Path, action="append", help="a Python to try it on; may be given several times"
    )
    parser.add_argument(
        "--without-demo", action="store_true", help="leave out knickpoint[server] and its demonstration"
    )
    given = parser.parse_args()
    wheels = [given.wheel] if given.wheel else list((_BUILDING.parent / "dist").glob("*.whl"))
    if len(wheels) != 1:
        sys.exit("make try-packages: there is no wheel in dist/, or more than one. Run: make dist")
    try:
        for python in given.python or [Path(sys.executable)]:
            version = subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout.strip()
            print(f"{wheels[0].name} on {version} ({python})")
            with tempfile.TemporaryDirectory() as directory:
                trial = try_wheel(wheels[0].resolve(), python, Path(directory), demo=not given.without_demo)
            *stages, verdict = trial.seconds.values()
            print(
                f"{sum(stages):7.1f} s  for all stages of a newcomer; {verdict:.1f} of {_VERDICT_SECONDS} s for a CI "
                "job"
            )
    except TrialError as error:
        sys.exit(f"make try-packages: {error}")


if __name__ == "__main__":
    _main()
