"""Make one probe: check a commit out, build it, measure it, read what it wrote."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.bisect.job import BUILD, BUILD_VARIABLE, OUT, PROFILE_FILE, ProbeJob, Variation
from knickpoint.bisect.runner.command import CommandEnd, CommandLimits, Ending, run_command
from knickpoint.bisect.runner.workspace import Workspace, Worktree
from knickpoint.model.bisection import ProbeOutcome, ProbeResult, ResultsFile
from knickpoint.model.errors import InputError, KnickpointError
from knickpoint.model.plain_text import plain_line

if TYPE_CHECKING:
    from knickpoint.bisect.artefacts import ArtefactCache
    from knickpoint.bisect.runner.results import RunResults
    from knickpoint.bisect.settings import RecipeSettings
    from knickpoint.model.bisection import Measured

SKIP_CODE: Final = 125
"""The exit code of a step that says that this commit cannot be judged, as in ``git bisect run``."""

CANNOT_START: Final = "cannot be started"
"""In the reason of a probe whose command is missing, or no program."""

_KEPT_VARIABLES: Final = ("PATH", "HOME", "LANG", "TZ")
_LONGEST_REASON: Final = 400
_ERROR: Final = re.compile(r"\berror: |Error: ", re.IGNORECASE)
"""What compilers and interpreters write in the line that says what is wrong."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of a probe: its name, its command, its time limit in seconds."""

    name: str
    command: Sequence[str]
    seconds: float


class _EndedError(Exception):
    """The probe ends here, with this outcome and reason."""

    def __init__(self, outcome: ProbeOutcome, reason: str, output: str = "") -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason
        self.output = output


@dataclass
class _Probe:
    """A probe that is under way: what it needs, and what it has found so far."""

    job: ProbeJob
    device: str
    least_free: int
    cancelled: Callable[[], bool]
    progress: Callable[[str], None]
    variation: Variation
    built: bool = True
    runs: list[RunResults] = field(default_factory=list)
    output: str = ""
    command_seconds: list[float] = field(default_factory=list)
    declined: bool = False


def run_probe(
    job: ProbeJob,
    workspace: Workspace,
    device: str,
    *,
    cancelled: Callable[[], bool] = lambda: False,
    progress: Callable[[str], None] = lambda _: None,
    variation: Variation | None = None,
) -> ProbeResult:
    """Make the probe ``job`` on this machine, measured with a ``variation``, and return what became of it.

    Whatever is wrong with the commit, its commands or its results is an outcome, with a reason in one line. What is
    wrong with this machine is LOST, and so is a probe that ``cancelled`` ends. ``progress`` is called with the step
    that begins. Only an interruption of this thread is raised; the commands have ended then.
    """
    started, clock = datetime.now(UTC), time.monotonic()
    probe = _Probe(job, device, workspace.least_free, cancelled, progress, variation or Variation())
    try:
        outcome, reason = _make(probe, workspace)
    except _EndedError as end:
        outcome, reason, probe.output = end.outcome, end.reason, end.output
    except KnickpointError as error:
        outcome, reason = ProbeOutcome.LOST, str(error)
    except OSError as error:
        outcome, reason = ProbeOutcome.LOST, f"the device failed: {error.strerror or error}"
    measured = outcome is ProbeOutcome.MEASURED
    return ProbeResult(
        job.probe,
        job.target,
        device,
        outcome,
        started,
        time.monotonic() - clock,
        measured=_measured(probe.runs) if measured else {},
        files=_files(probe.runs) if measured else (),
        reason=plain_line(reason, _LONGEST_REASON),
        output=probe.output,
        built=probe.built,
        better={key: better for run in probe.runs for key, better in run.better.items()} if measured else {},
        failed={key: text for run in probe.runs for key, text in run.failed.items()} if measured else {},
        command_seconds=tuple(probe.command_seconds),
        declined=probe.declined,
    )


def _make(probe: _Probe, workspace: Workspace) -> tuple[ProbeOutcome, str]:
    """Pass the stages of a probe and return its outcome with the reason, if it needs one."""
    if probe.cancelled():
        raise _EndedError(ProbeOutcome.LOST, "cancelled")
    probe.progress("check out")
    with workspace.worktree(probe.job) as held:
        probe.built = not held.built
        if not held.built:
            _build(probe, workspace, held)
        if probe.job.recipe.results:
            return _measure(probe, held.tree)
        return _judge(probe, held.tree)


def _build(probe: _Probe, workspace: Workspace, held: Worktree) -> None:
    """Prepare a new worktree, and build it unless what the build makes is there already."""
    recipe = probe.job.recipe
    _make_ready(probe, _Step("prepare", recipe.prepare, recipe.prepare_seconds), held.tree)
    if _take_artefact(probe, workspace, held.tree):
        probe.built = False
    else:
        _make_ready(probe, _Step("build", _build_command(recipe), recipe.build_seconds), held.tree)
        _keep_artefact(probe, workspace, held.tree)
    held.finish_build()


def _make_ready(probe: _Probe, step: _Step, tree: Path) -> None:
    """Run the command of a step, if it has one. Raises ``_EndedError`` where it fails."""
    if step.command:
        probe.progress(step.name)
        end = _run(probe, step, tree)
        if end.code != 0:
            raise _EndedError(ProbeOutcome.SKIPPED, _failure(step, end), end.output)


def _build_command(recipe: RecipeSettings) -> tuple[str, ...]:
    number = recipe.environment.get(BUILD_VARIABLE, "1")
    return tuple(word.replace(BUILD, number) for word in recipe.build)


def _take_artefact(probe: _Probe, workspace: Workspace, tree: Path) -> bool:
    """Write what an earlier build of the target made into ``tree``, or a finished one; return whether there is one."""
    job = probe.job
    if job.recipe.artefact and _cache(workspace).get(job.key, tree):
        return True
    if not job.recipe.prebuilt:
        return False
    from knickpoint.bisect.artefacts import fetch_prebuilt
    from knickpoint.outgoing import OutgoingRule

    probe.progress("fetch artefact")
    return fetch_prebuilt(job.recipe.prebuilt, job.target.commit, tree, outgoing=OutgoingRule())


def _keep_artefact(probe: _Probe, workspace: Workspace, tree: Path) -> None:
    """Keep what the build made for other probes of the target."""
    if not probe.job.recipe.artefact:
        return
    try:
        _cache(workspace).put(probe.job.key, probe.job.recipe.artefact, tree)
    except InputError as error:
        raise _EndedError(ProbeOutcome.SKIPPED, f"the artefact of the build: {error}") from error


def _cache(workspace: Workspace) -> ArtefactCache:
    """Return the cache of artefacts of a workspace; it takes at most half of the space."""
    from knickpoint.bisect.artefacts import ArtefactCache

    return ArtefactCache(workspace.artefacts, max(1, workspace.space_megabytes // 2))


def _measure(probe: _Probe, tree: Path) -> tuple[ProbeOutcome, str]:
    """Run the measure command as often as the recipe says, and read the results of each run."""
    from knickpoint.bisect.runner.results import find_files, read_run

    recipe = probe.job.recipe
    command = probe.variation.command(recipe.measure)
    if f"{PROFILE_FILE}*" in recipe.results:
        command = tuple(word.replace(OUT, str(tree / PROFILE_FILE)) for word in command)
    step = _Step("measure", command, recipe.measure_seconds)
    for run in range(recipe.repeats):
        probe.progress("measure" if recipe.repeats == 1 else f"measure {run + 1} of {recipe.repeats}")
        try:
            before = find_files(tree, recipe.results)
            end = _run(probe, step, tree, run)
            probe.output = end.output
            probe.command_seconds.append(end.seconds)
            if end.code != 0:
                raise _EndedError(ProbeOutcome.SKIPPED, _failure(step, end), end.output)
            probe.runs.append(read_run(probe.job, tree, before))
        except KnickpointError as error:
            raise _EndedError(ProbeOutcome.SKIPPED, str(error), probe.output) from error
    if not any(run.samples or run.profiles for run in probe.runs):
        raise _EndedError(ProbeOutcome.SKIPPED, "the results have no value", probe.output)
    return ProbeOutcome.MEASURED, ""


def _judge(probe: _Probe, tree: Path) -> tuple[ProbeOutcome, str]:
    """Run the measure command and take its exit code for the answer; where it is repeated, one failure is enough."""
    recipe = probe.job.recipe
    step = _Step("test", probe.variation.command(recipe.measure), recipe.measure_seconds)
    for run in range(recipe.repeats):
        probe.progress("test" if recipe.repeats == 1 else f"test {run + 1} of {recipe.repeats}")
        end = _run(probe, step, tree, run, overrun_fails=True)
        probe.output = end.output
        probe.command_seconds.append(end.seconds)
        if end.code != 0:
            return ProbeOutcome.FAILED, _failure(step, end)
    return ProbeOutcome.PASSED, ""


def _run(probe: _Probe, step: _Step, tree: Path, run: int = 0, *, overrun_fails: bool = False) -> CommandEnd:
    """Run the command of a step.

    ``overrun_fails``: reaching the time limit is an answer, as where a test hangs since some commit.

    Raises:
        _EndedError: the step skips the commit, or did not come to its end.
    """
    limits = CommandLimits(step.seconds, probe.least_free)
    end = run_command(step.command, tree, _environment(probe, run), limits, probe.cancelled)
    match end.ending:
        case Ending.CANCELLED:
            raise _EndedError(ProbeOutcome.LOST, "cancelled", end.output)
        case Ending.TIMED_OUT if not overrun_fails:
            raise _EndedError(ProbeOutcome.SKIPPED, _failure(step, end), end.output)
        case Ending.NO_SPACE:
            reason = f"the {step.name} command filled the disk, and was ended"
            raise _EndedError(ProbeOutcome.SKIPPED, reason, end.output)
        case Ending.NOT_STARTED:
            reason = f"the {step.name} command {step.command[0]!r} {CANNOT_START}: {end.output}"
            raise _EndedError(ProbeOutcome.SKIPPED, reason)
        case Ending.EXITED if end.code == SKIP_CODE:
            probe.declined = True
            raise _EndedError(ProbeOutcome.SKIPPED, _failure(step, end), end.output)
        case _:
            return end


def _environment(probe: _Probe, run: int) -> Mapping[str, str]:
    """Return the variables of a command: few, so that what a shell has set does not change what is measured."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    about = {
        "KNICKPOINT_COMMIT": probe.job.target.commit,
        "KNICKPOINT_DEVICE": probe.device,
        "KNICKPOINT_PROBE": probe.job.probe,
        "KNICKPOINT_RUN": str(run + 1),
    }
    return {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        **kept,
        **probe.variation.variables(probe.job.recipe.environment),
        **about,
    }


def _failure(step: _Step, end: CommandEnd) -> str:
    """Say in one line how a command failed, with the line that it printed about an error, or else its last line."""
    if end.ending is Ending.TIMED_OUT:
        how = f"ran for more than {step.seconds:g} s"
    elif end.code < 0:
        how = f"was ended by {_signal_name(-end.code)}"
    else:
        how = f"ended with exit code {end.code}"
    lines = [line.strip() for line in end.output.splitlines() if line.strip()]
    said = next(filter(_ERROR.search, lines), lines[-1] if lines else "")
    return f"{step.name} {how}: {said}" if said else f"{step.name} {how}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _measured(runs: Sequence[RunResults]) -> Mapping[str, Measured]:
    """Return the value of each trace. Probes that pass or fail have none, and load no module for results."""
    if not runs:
        return {}
    from knickpoint.bisect.runner.results import join_runs

    return join_runs(runs)


def _files(runs: Sequence[RunResults]) -> tuple[ResultsFile, ...]:
    """Return the files of all runs; from the second run on, the name begins with the number of the run."""
    return tuple(
        ResultsFile(file.name if number == 1 else f"run-{number}/{file.name}", file.content)
        for number, run in enumerate(runs, 1)
        for file in run.files
    )
