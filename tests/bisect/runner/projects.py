"""Small real projects in git whose benchmark prints a value that stands in the commit, with noise from a seed."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.repositories import GitRepository

from knickpoint.bisect.job import ProbeJob
from knickpoint.bisect.settings import RecipeSettings
from knickpoint.model.bisection import Target

BUILD = """
import pathlib, sys
source = pathlib.Path("value.txt").read_text()
if source.startswith("broken"):
    print("value.txt:1: error: this is not a number")
    sys.exit(1)
pathlib.Path("built.txt").write_text(source)
"""
MEASURE = """
import hashlib, json, os, pathlib
value = float(pathlib.Path("built.txt").read_text())
seed = os.environ["KNICKPOINT_COMMIT"] + os.environ["KNICKPOINT_PROBE"] + os.environ["KNICKPOINT_RUN"]
noise = int(hashlib.sha256(seed.encode()).hexdigest()[:8], 16) / 2**32 - 0.5
rows = [{"benchmark": name, "commit": os.environ["KNICKPOINT_COMMIT"], "value": value + noise * 0.02, "unit": "ms"}
        for name in ("render", "load")]
pathlib.Path("out.json").write_text(json.dumps(rows))
"""

KEY = ",benchmark=render,"


def project(repository: GitRepository, values: Sequence[float | str]) -> list[str]:
    """Commit each of ``values`` in turn and return the hashes; a value that is not a number cannot be built."""
    scripts = {"build.py": BUILD, "measure.py": MEASURE}
    return repository.commit_files(
        (f"Set the value to {value}", {**scripts, "value.txt": str(value)}) for value in values
    )


def recipe(**changes: object) -> RecipeSettings:
    """Return the recipe that builds and measures such a project."""
    settings: dict[str, object] = {
        "name": "quick",
        "build": (sys.executable, "build.py"),
        "measure": (sys.executable, "measure.py"),
        "results": ("out.json",),
    }
    return RecipeSettings(**{**settings, **changes})  # type: ignore[arg-type]


def job(repository: GitRepository, commit: str, settings: RecipeSettings, probe: str = "B1-1") -> ProbeJob:
    """Return the job to probe ``commit``."""
    return ProbeJob(probe, Target(commit), settings, {"": str(repository.directory)}, "B1")


def script(*lines: str) -> tuple[str, ...]:
    """Return a command that runs these lines of Python."""
    return (sys.executable, "-c", "\n".join(lines))


def rows(*entries: dict[str, object]) -> str:
    """Return rows of results as JSON."""
    return json.dumps(entries)


def python(path: Path) -> tuple[str, ...]:
    """Return a command that runs a script."""
    return (sys.executable, str(path))
