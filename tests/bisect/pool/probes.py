"""What the tests of pools run as probes: the environment of the recipe says what a probe does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from knickpoint.bisect.job import ProbeJob
from knickpoint.bisect.settings import DeviceUse, RecipeSettings
from knickpoint.model.bisection import Measured, ProbeOutcome, ProbeResult, ResultsFile, Target
from knickpoint.model.errors import HistoryError

__all__ = ["CALL", "ROOT", "Workspace", "job", "run_probe"]

CALL = "tests.bisect.pool.probes:run_probe"
ROOT = Path(__file__).parents[3]


@dataclass(frozen=True, slots=True)
class Workspace:
    """As that of the runner."""

    directory: Path
    space_megabytes: int


def job(
    probe: str,
    *,
    commit: str = "",
    requester: str = "B1",
    does: str = "measure",
    device: str = "",
    params: Mapping[str, str] | None = None,
    priority: int = 0,
    use: DeviceUse = DeviceUse.BISECT,
) -> ProbeJob:
    """Return a job whose probe does what is asked for."""
    recipe = RecipeSettings(
        name=f"does {does}", measure=("true",), environment={"DOES": does}, params=params or {}, measure_seconds=600
    )
    target = Target(commit or f"{probe:0>40}")
    return ProbeJob(probe, target, recipe, {"": "."}, requester, use, device, priority)


def run_probe(
    job: ProbeJob,
    workspace: Workspace,
    device: str,
    *,
    cancelled: Callable[[], bool],
    progress: Callable[[str], None],
) -> ProbeResult:
    """Do what the recipe asks for, and note each probe that begins in the workspace."""
    started = datetime.now(UTC)
    does = job.recipe.environment["DOES"]
    with (workspace.directory / "begun.txt").open("a") as begun:
        begun.write(f"{job.probe} {device}\n")
    progress(f"measure {os.getpid()}")
    if does == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if does == "fail":
        raise HistoryError("the repository is gone", where="r")
    if does == "print":
        sys.stdout.write("what a command prints\n" * 10_000)
        subprocess.run(["echo", '{"result": "of a command"}'], check=True)
    if does.startswith("spawn"):
        # A command in a group of its own, which goes on when its probe dies.
        child = subprocess.Popen(["sleep", "600"], process_group=0)
        progress(f"child {child.pid}")
    if does in {"hang", "spawn"}:
        while not cancelled():
            time.sleep(0.01)
    if does in {"deaf", "spawn deaf"}:
        threading.Event().wait()
    if does.startswith("until "):
        while not Path(does.removeprefix("until ")).exists() and not cancelled():
            time.sleep(0.01)
    value = float(int(job.target.commit[:4], 16))
    content = json.dumps({"environment": sorted(os.environ)}).encode()
    size = int(does.removeprefix("write ")) if does.startswith("write ") else 0
    return ProbeResult(
        job.probe,
        job.target,
        device,
        ProbeOutcome.MEASURED,
        started,
        0.5,
        {",test=a,": Measured(value, (value, float("nan")), "ms")},
        (ResultsFile("out.json", content + b" " * size),),
    )
