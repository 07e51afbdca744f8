"""Make an attempt on this machine: what it changes, its measurements, its tests, and its results beside those of the base.

Everything runs in worktrees of the two commits, by the recipe of the session. Tests and further checks run only for
an attempt that looks faster, before it is confirmed: one that fails them costs nothing of the error of the session.
"""

from __future__ import annotations

import hashlib
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from knickpoint.bisect.attempt_record import AttemptJournal, AttemptSession, write_session
from knickpoint.bisect.attempts import (
    AttemptEnd,
    AttemptFailedError,
    AttemptVerdict,
    OutOfTimeError,
    Refusal,
    Stage,
    StageResult,
    judge_attempt,
    protected_files,
)
from knickpoint.bisect.comparison import (
    Comparison,
    ComparisonRequest,
    ComparisonRules,
    MeasuredValue,
    Round,
    RoundsJudge,
    SideFailedError,
)
from knickpoint.bisect.comparison.comparison import measured_values
from knickpoint.bisect.coordinator.revision_range import find_revision
from knickpoint.bisect.job import ProbeJob
from knickpoint.bisect.pool import machine_name
from knickpoint.bisect.runner import Workspace, run_probe
from knickpoint.bisect.runner.machine_slots import machine_slot
from knickpoint.bisect.runner.results import find_files
from knickpoint.bisect.settings import RecipeSettings
from knickpoint.history import Git
from knickpoint.ingest.settings import IngestSettings
from knickpoint.model.bisection import ProbeOutcome, ProbeResult, Target
from knickpoint.model.errors import InputError
from knickpoint.model.judged_benchmark import JudgedBenchmark

_SHOWN: Final = 5
_RUNS: Final = 3
"""Runs of each side with the second input."""

_DEPENDS: Final = math.log(1.2)
"""Change of a time, as a logarithm, from which on it depends on the input."""

_KEEPS: Final = 0.25
"""Share of the dependence on the input that an attempt has to keep; from n² to n log n, about half is left."""


def choose_commit(git: Git, session: AttemptSession, name: str) -> str:
    """Return the full hash of the commit to try.

    Raises:
        InputError: this is another machine, or the commit is the base.
        HistoryError: there is no such commit.
    """
    if machine_name() != session.machine:
        raise InputError(
            f"the session is on {session.machine}, and this is {machine_name()}",
            remedy="Attempts of one session are measured on one machine; start another session here.",
        )
    found = find_revision(git, name)
    if found == session.base:
        raise InputError(f"{name} is the base", where=found[:12], remedy="Commit an edit first.")
    return found


@dataclass(frozen=True, slots=True)
class AttemptRun:
    """How the attempts of a session are made.

    ``minutes`` is the time that one may take, 0 without a limit; a run of a command
    comes to its end. ``progress`` is called with a line for each step.
    """

    git: Git
    session: AttemptSession
    workspace: Workspace
    ingest: IngestSettings
    minutes: float = 0.0
    progress: Callable[[str], None] = lambda _: None

    def make(self, journal: AttemptJournal) -> AttemptEnd:
        """Measure and judge the attempt of a journal, from where that ends.

        Raises:
            SideFailedError: the base cannot be measured.
            InputError: the tests fail at the base, too, or it lacks an output that the recipe names.
        """
        session, started = self.session, time.monotonic()
        commit = journal.attempt.commit
        if touched := protected_files(self._changed_files(commit), session.protected):
            more = f" and {len(touched) - _SHOWN} more" if len(touched) > _SHOWN else ""
            return AttemptEnd(AttemptVerdict.CHANGED, f"it changes {', '.join(touched[:_SHOWN])}{more}")
        request = ComparisonRequest(
            session.location,
            session.base,
            commit,
            session.recipe,
            ingest=self.ingest,
            added_params=session.added_params,
        )

        judges: dict[Stage, RoundsJudge] = {}
        checked = Stage.CONFIRM in journal.rounds

        def measure(stage: Stage, rules: ComparisonRules) -> Sequence[JudgedBenchmark]:
            left = self.minutes - (time.monotonic() - started) / 60
            if self.minutes and left <= 0:
                raise OutOfTimeError(f"its time of {self.minutes:.3g} minutes is used up")
            self.progress(f"{stage.value}: at most {rules.most_rounds} rounds")
            limited = replace(request, rules=rules, minutes=left if self.minutes else 0.0)

            def note(measured: Round) -> None:
                journal.add(stage, measured)
                if measured.lost == "head":  # an attempt that may leave rounds out could choose them
                    raise AttemptFailedError(comparison.failures[-1])

            earlier = journal.begin(stage)
            comparison = Comparison(limited, self.workspace, session.machine, self.progress, earlier=earlier, note=note)
            try:
                benchmarks = comparison.run().benchmarks
            except SideFailedError as failed:
                if failed.where == session.base[:12]:
                    raise
                raise AttemptFailedError(failed.message) from failed
            judges[stage] = comparison.judge
            return benchmarks

        end = judge_attempt(
            measure,
            session.rules,
            confirmations=session.confirmations + journal.attempt.lost_confirmations,
            seed=len(session.attempts),
            check=lambda screened, faster: None if checked else self._refusal(commit, screened, faster),
        )
        return replace(end, stages=tuple(_with_limits(each, judges.get(each.stage)) for each in end.stages))

    def _changed_files(self, commit: str) -> list[str]:
        asked = ("diff", "--name-only", "--no-renames", "-z", self.session.base, commit, "--")
        return self.git.run(*asked).decode(errors="replace").split("\0")[:-1]

    def _refusal(self, commit: str, screened: StageResult, faster: frozenset[str]) -> Refusal | None:
        """Check tests, outputs and the second input of an attempt that looks faster."""
        recipe = self.session.recipe
        if recipe.test and (failure := self._failing_test(commit)):
            return AttemptVerdict.TESTS, failure
        if recipe.same_output and (changed := self._changed_outputs(commit)):
            more = f" and {len(changed) - _SHOWN} more" if len(changed) > _SHOWN else ""
            return AttemptVerdict.OUTPUT, f"not as the base writes it: {', '.join(changed[:_SHOWN])}{more}"
        if recipe.vary and (ignoring := self._ignoring_input(commit, screened, faster)):
            names = ", ".join(f"{name}={value}" for name, value in recipe.vary.items())
            return AttemptVerdict.CHANGED, f"no longer depends on its input ({names}): {', '.join(ignoring[:_SHOWN])}"
        return None

    def _failing_test(self, commit: str) -> str:
        """Run the tests of an attempt in a worktree of their own, and return how they fail, "" if they pass."""
        recipe = self.session.recipe
        test = replace(
            recipe, measure=recipe.test, measure_seconds=recipe.test_seconds, results=(), artefact=(), repeats=1
        )
        result = self._probe(commit, test, "test")
        if result.outcome is ProbeOutcome.PASSED:
            return ""
        base = self._probe(self.session.base, test, "test")
        if base.outcome is not ProbeOutcome.PASSED:
            raise InputError(
                f"the tests fail at the base as well: {base.reason}",
                where=self.session.base[:12],
                remedy="Fix the base or the test command, and start another session.",
            )
        return result.reason

    def _changed_outputs(self, commit: str) -> list[str]:
        """Return the outputs of an attempt that are not as the base writes them."""
        before, after = self._outputs(self.session.base), self._outputs(commit)
        if not before:
            patterns = ", ".join(self.session.recipe.same_output)
            raise InputError(
                f"the base writes no file {patterns}",
                where=self.session.base[:12],
                remedy="Correct same_output of the recipe, and start another session.",
            )
        return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))

    def _outputs(self, commit: str) -> Mapping[str, str]:
        """Return the digests of what a run of the measure command writes; what was there before does not count."""
        recipe = self.session.recipe
        job = self._job(commit, recipe)
        with self.workspace.worktree(job) as held:
            for name in find_files(held.tree, recipe.same_output):
                (held.tree / name).unlink(missing_ok=True)
        self._probe(commit, recipe, "output")
        with self.workspace.worktree(job) as held:
            found = find_files(held.tree, recipe.same_output)
            return {name: hashlib.sha256((held.tree / name).read_bytes()).hexdigest() for name in found}

    def _ignoring_input(self, commit: str, screened: StageResult, faster: frozenset[str]) -> list[str]:
        """Return the benchmarks whose time depends on the input at the base, and hardly at the attempt."""
        recipe = self.session.recipe
        varied = replace(recipe, environment={**recipe.environment, **recipe.vary}, repeats=_RUNS)
        base, head = (
            measured_values(self._probe(each, varied, "second input")) for each in (self.session.base, commit)
        )
        found = []
        for each in screened.benchmarks:
            if each.trace in faster and (before := _growth(base.get(each.trace), each.past)) > _DEPENDS:
                after = _growth(head.get(each.trace), each.new)
                if after < _KEEPS * before:
                    found.append(each.trace)
        if not found and not any(_growth(base.get(each.trace), each.past) > _DEPENDS for each in screened.benchmarks):
            self.progress("no benchmark of the base depends on the second input")
        return found

    def _probe(self, commit: str, recipe: RecipeSettings, name: str) -> ProbeResult:
        self.progress(f"{name} of {commit[:12]}")
        with machine_slot(self.workspace.directory):
            return run_probe(self._job(commit, recipe), self.workspace, self.session.machine)

    def _job(self, commit: str, recipe: RecipeSettings) -> ProbeJob:
        session = self.session
        return ProbeJob(
            "compare-0",  # as in a comparison: an attempt cannot tell a check from a measurement
            Target(commit),
            recipe,
            {"": session.location},
            "compare",
            ingest=self.ingest,
            added_params=session.added_params,
        )


def make_attempt(run: AttemptRun, record: Path, commit: str, *, work_tree: bool = False) -> tuple[int, AttemptEnd]:
    """Make an attempt of the record whose session ``run`` has, which the caller holds; return its number and its end.

    It goes on where it was interrupted if it is the newest one. The errors are those of :meth:`AttemptRun.make`.
    """
    journal = AttemptJournal.open(record, run.session, commit, work_tree=work_tree)
    before = run.session.attempts
    if journal.attempt.interruptions:
        before = before[:-1]
        run.progress(f"resuming an interrupted attempt: {journal.stage.value}")

    def note(end: AttemptEnd | None = None) -> None:
        attempt = replace(journal.attempt, seconds=round(journal.elapsed, 1), end=end)
        write_session(record, replace(run.session, attempts=(*before, attempt)))

    note()  # before it is measured: one that is interrupted counts
    try:
        end = replace(run, session=replace(run.session, attempts=before)).make(journal)
    except BaseException:
        note()
        raise
    note(end)
    journal.remove()
    return len(before) + 1, end


def _with_limits(result: StageResult, judge: RoundsJudge | None) -> StageResult:
    """Add the rounds that the time of a stage allowed, which a replay needs."""
    most = result.rules.most_rounds
    if judge is None:
        return result
    expected = tuple(judge.expected) if set(judge.expected) != {most} else ()
    return replace(result, expected=expected, planned_end=judge.is_last_look and judge.rounds < most)


def _growth(measured: MeasuredValue | None, usual: Sequence[float]) -> float:
    """Compare a value with the usual ones: the size of the logarithm, 0 where it is unknown."""
    level, value = statistics.median(usual) if usual else 0.0, measured.value if measured else 0.0
    return abs(math.log(value / level)) if value > 0 and level > 0 else 0.0


# Try the work tree: it becomes a commit of its own, so that the record says what was measured.


_REFERENCE: Final = "refs/knickpoint/attempts"


def store_work_tree(git: Git) -> str:
    """Store the tracked files of the work tree as a commit on the one that is checked out, and return its hash.

    A reference keeps the commit. Equal edits have equal hashes; index, branches and files stay as they are.

    Raises:
        InputError: nothing differs from the commit that is checked out.
        HistoryError: git fails.
    """
    head = git.run("rev-parse", "--verify", "HEAD^{commit}").decode().strip()
    stored = git.run("-c", "user.name=knick", "-c", "user.email=knick", "stash", "create").decode().strip()
    if not stored:
        raise InputError(
            "the work tree has no edits", where=str(git.directory), remedy="Edit a tracked file, or run git add NEW."
        )
    tree = git.run("rev-parse", f"{stored}^{{tree}}").decode().strip()
    when = git.run("show", "--no-patch", "--format=%ct", head, "--").decode().strip()
    who = f"knick try <> {when} +0000"
    body = f"tree {tree}\nparent {head}\nauthor {who}\ncommitter {who}\n\nThe work tree as it was tried\n"
    commit = git.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=body.encode()).decode().strip()
    git.run("update-ref", f"{_REFERENCE}/{commit}", commit)
    return commit
