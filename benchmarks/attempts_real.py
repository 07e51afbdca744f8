"""Sessions of attempts on this machine, with real commits, worktrees and runs: copies that change nothing, and real gains.

The program sums numbers; what changes nothing are empty commits, edits of comments and functions in another order. A gain
of 5 % leaves 5 % of the numbers out, so that its true size is known. Processor time is measured, so that other programs of
the machine disturb less. Beside it, from the same values of the first ten rounds: the attempt with the best mean, and a
t-test at 5 % of each attempt against the base.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from scipy import stats

from knickpoint.bisect.attempt_record import AttemptSession, read_session, write_session
from knickpoint.bisect.attempt_run import AttemptRun, make_attempt
from knickpoint.bisect.attempts import AttemptVerdict
from knickpoint.bisect.pool import machine_name
from knickpoint.bisect.runner import Workspace
from knickpoint.bisect.settings import PROTECTED, RecipeSettings
from knickpoint.history import Git
from knickpoint.ingest.settings import IngestSettings
from table import Reach, Row

_GAINS: Final = (0.03, 0.05, 0.10)
_NUMBERS: Final = 200_000
_RUNS: Final = 10
_BENCH: Final = """
import json, os, time
from work import total
times = []
for _ in range(9):
    begun = time.process_time()
    total()
    times.append(time.process_time() - begun)
row = {"benchmark": "total", "commit": os.environ["KNICKPOINT_COMMIT"], "value": min(times), "unit": "s"}
json.dump([row], open("out.json", "w"))
"""
_FUNCTIONS: Final = (
    "def total():\n    found = 0\n    for number in range(NUMBERS):\n        found += number & 7\n    return found\n",
    "def first():\n    return NUMBERS\n",
    "def second():\n    return -NUMBERS\n",
)


def _work(numbers: int, order: Sequence[int] = (0, 1, 2), comment: str = "") -> str:
    return f"NUMBERS = {numbers}\n{comment}\n" + "\n\n".join(_FUNCTIONS[each] for each in order)


class _Project:
    """A repository whose commits all stand on the base."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir()
        self._git("init", "--quiet")
        self._edit(bench=_BENCH, work=_work(_NUMBERS))
        self.base = self._commit("Base")

    def copy(self, number: int) -> str:
        """Commit something that changes nothing."""
        order, comment = (0, 1, 2), ""
        if number % 3 == 1:
            comment = f"# Comment {number}"
        elif number % 3 == 2:  # every third
            order = ((1, 0, 2), (2, 1, 0), (1, 2, 0))[number // 3 % 3]
        return self._attempt(_work(_NUMBERS, order, comment), f"Copy {number}")

    def gain(self, share: float) -> str:
        """Commit something that is really faster."""
        return self._attempt(_work(round(_NUMBERS * (1 - share))), f"Gain {share}")

    def _attempt(self, work: str, subject: str) -> str:
        self._git("checkout", "--quiet", "--force", self.base)
        self._edit(work=work)
        return self._commit(subject)

    def _edit(self, **files: str) -> None:
        for name, text in files.items():
            (self.directory / f"{name}.py").write_text(text)

    def _commit(self, subject: str) -> str:
        self._git("add", ".")
        self._git("commit", "--quiet", "--allow-empty", "-m", subject)
        return self._git("rev-parse", "HEAD")

    def _git(self, *arguments: str) -> str:
        who = {
            f"GIT_{role}_{fact}": "bench@example.org" for role in ("AUTHOR", "COMMITTER") for fact in ("NAME", "EMAIL")
        }
        command = ["git", "-C", str(self.directory), *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env={**os.environ, **who})
        return done.stdout.strip()


def _session(project: _Project, workspace: Path, commits: Sequence[str]) -> AttemptSession:
    """Make a session of these attempts."""
    recipe = RecipeSettings("real", measure=(sys.executable, "bench.py"), results=("out.json",))
    session = AttemptSession(
        str(project.directory), project.base, recipe, machine_name(), datetime.now(UTC), protected=PROTECTED
    )
    record = workspace / "record.json"
    workspace.mkdir(exist_ok=True)
    write_session(record, session)
    for commit in commits:
        run = AttemptRun(Git.at(project.directory), read_session(record), Workspace(workspace), IngestSettings())
        make_attempt(run, record, commit)
    return read_session(record)


def _usual(session: AttemptSession, gains: Collection[str]) -> tuple[bool, bool]:
    """Return whether the best mean of the copies is below that of the base, and whether any t-test claims one."""
    stages = [each.end.stages[0].benchmarks[0] for each in session.attempts if each.end and each.commit not in gains]
    pairs = [(each.past[:_RUNS], each.new[:_RUNS]) for each in stages]
    base = statistics.mean(value for past, _ in pairs for value in past)
    tests = [stats.ttest_ind(new, past, equal_var=False, alternative="less").pvalue for past, new in pairs]
    return min(statistics.mean(new) for _, new in pairs) < base, min(tests) < 0.05


def real_rows(sessions: int, attempts: int) -> Iterator[Row]:
    """Make sessions of copies, and sessions with one gain of each size hidden among them."""
    claims, seconds, found, covered, winning = 0, [], dict.fromkeys(_GAINS, 0), [], []
    best, tested = 0, 0
    with tempfile.TemporaryDirectory() as room:
        project = _Project(Path(room) / "project")
        for number in range(sessions):
            gains = {project.gain(share): share for share in _GAINS}
            commits = [project.copy(each) for each in range(attempts - len(gains))] + [*gains]
            random.Random(number).shuffle(commits)  # an order, not a secret
            made = _session(project, Path(room) / "workspace", commits)
            seconds.append(sum(each.seconds for each in made.attempts))
            means, tests = _usual(made, set(gains))
            best, tested = best + means, tested + tests
            false = False
            for each in made.attempts:
                if each.end is None or each.end.verdict is not AttemptVerdict.CONFIRMED:
                    continue
                share = gains.get(each.commit)
                if share is None:
                    false = True
                    continue
                found[share] += 1
                winning.append(each.seconds)
                covered += [claim.low <= -share <= claim.high for claim in each.end.claims]
            claims += false
    label = f"on this machine, {attempts} attempts"
    yield Row(
        f"{label}: sessions with a claim about a copy", "%", 100 * claims / sessions, reach=Reach.AT_MOST, bound=1.0
    )
    yield Row(f"{label}: sessions in which the best mean of the copies is faster", "%", 100 * best / sessions)
    yield Row(f"{label}: sessions in which a t-test at 5 % claims a copy", "%", 100 * tested / sessions)
    for share, bound in zip(_GAINS, (0.0, 60.0, 90.0), strict=True):
        yield Row(
            f"{label}: {100 * share:g} % faster, confirmed", "%", 100 * found[share] / sessions,
            reach=Reach.AT_LEAST, bound=bound,
        )  # fmt: skip
    share = 100 * sum(covered) / len(covered) if covered else float("nan")
    yield Row(f"{label}: the interval has the true size, of {len(covered)}", "%", share)
    yield Row(f"{label}: seconds a session", "s", sum(seconds) / sessions)
    yield Row(f"{label}: seconds of an attempt that is confirmed", "s", sum(winning) / max(1, len(winning)))
