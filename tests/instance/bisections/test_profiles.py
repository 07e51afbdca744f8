"""The profiler of a recipe: found commits and those before them are measured again, and the change names a function."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from tests.instance.bisections.bisectable import CULPRIT, GOOD, Bisectable, QuickPool, recipe

from knickpoint.bisect.coordinator import BisectionAnswer
from knickpoint.bisect.job import ProbeJob
from knickpoint.bisect.runner import Workspace, run_probe
from knickpoint.history import Git
from knickpoint.instance import rank_new_suspects
from knickpoint.instance.bisections import request_bisection, run_bisection
from knickpoint.instance.bisections.runs import bisection_of, profile_found_commits
from knickpoint.model.bisection import BisectionState, ProbeResult
from knickpoint.model.posterior import Posterior
from knickpoint.store.bisections import StoredBisection

_PROFILER = """
import pathlib, sys
slow = pathlib.Path("src/parser.py").exists()
pathlib.Path(sys.argv[1]).write_text(f"main;load 70000\\nmain;parse_row {60000 if slow else 30000}\\n")
"""
PROFILER = shlex.join([sys.executable, "-c", _PROFILER, "{out}"])


@dataclass
class ProfilingPool(QuickPool):
    """Answers at once, and makes the probes of profiles as a device does."""

    workspace: Path = field(default_factory=Path)

    def wait(self, seconds: float) -> Sequence[ProbeResult]:
        if self.waiting and self.waiting[0].recipe.format == "profile":
            job = self.waiting.pop(0)
            return [run_probe(job, Workspace(self.workspace), "lab-1")]
        return super().wait(seconds)

    @property
    def measured(self) -> list[str]:
        return [job.target.commit for job in self.jobs if job.recipe.format != "profile"]

    @property
    def profiled(self) -> list[ProbeJob]:
        return [job for job in self.jobs if job.recipe.format == "profile"]


@pytest.fixture
def pool(slowed: Bisectable, tmp_path: Path) -> ProfilingPool:
    location = Path(slowed.instance.repositories["project"].location)
    commits = [each.hash for each in Git.at(location).first_parents("main")]
    return ProfilingPool(commits, workspace=tmp_path / "workspace")


def run(slowed: Bisectable, pool: QuickPool, profiler: str) -> StoredBisection:
    instance = slowed.with_recipes(recipe(profiler=profiler))
    return run_bisection(instance, request_bisection(instance, slowed.change, who="ann"), pool, worker="test")


def log(slowed: Bisectable, done: StoredBisection) -> list[str]:
    return [line.text for line in slowed.instance.store.bisections.journal(done.id).lines(last=100)]


def test_the_change_names_the_function_that_the_found_commit_made_dearer(
    slowed: Bisectable, pool: ProfilingPool
) -> None:
    done = run(slowed, pool, PROFILER)
    assert (done.state, done.answer.culprits) == (BisectionState.CULPRIT, (CULPRIT,))
    assert [pool.commits.index(job.target.commit) - CULPRIT for job in pool.profiled] == [
        -1, 0, 0, -1, -1, 0, 0, -1, -1, 0,
    ]  # fmt: skip
    store, repository = slowed.instance.store, slowed.world.repository
    kept = store.profiles.at(repository, [CULPRIT - 1, CULPRIT])
    assert [(each.benchmark, each.kind) for each in kept] == [("parse", "count")] * 10
    assert log(slowed, done)[-1] == "kept 10 profiles of parse"
    rank_new_suspects(slowed.instance)
    stated = store.findings.statements.of_changes([slowed.change])[slowed.change]
    assert stated.cause.startswith("+30,000 samples of +30,000 samples in parse_row")


def test_a_missing_profiler_is_named_with_a_remedy_and_decides_nothing(slowed: Bisectable, pool: ProfilingPool) -> None:
    done = run(slowed, pool, "no-such-profiler {out}")
    assert (done.state, done.answer.culprits) == (BisectionState.CULPRIT, (CULPRIT,))
    (said,) = [line for line in log(slowed, done) if "not profiled" in line]
    assert "'no-such-profiler' cannot be started" in said
    assert said.endswith("Try the command by hand in a checkout.")
    assert slowed.instance.store.profiles.sizes()[0] == 0


def test_profiled_runs_measure_no_value(slowed: Bisectable, pool: ProfilingPool) -> None:
    store = slowed.instance.store
    done = run(slowed, pool, PROFILER)
    probes = store.bisections.journal(done.id).probes()
    assert [each.target.commit for each in probes] == pool.measured
    assert len(pool.jobs) == len(pool.measured) + 10


@pytest.mark.long
def test_each_of_several_culprits_is_profiled(slowed: Bisectable, pool: ProfilingPool) -> None:
    pool.level = lambda place: 100.0 + 30.0 * (place >= CULPRIT) + 30.0 * (place >= CULPRIT + 2)
    done = run(slowed, pool, PROFILER)
    assert (done.state, done.answer.culprits) == (BisectionState.RANGE, (CULPRIT, CULPRIT + 2))
    made = Counter(pool.commits.index(job.target.commit) - CULPRIT for job in pool.profiled)
    assert made == {-1: 5, 0: 5, 1: 5, 2: 5}
    assert log(slowed, done)[-1] == "kept 20 profiles of parse"


def test_a_search_that_passes_or_fails_is_profiled_though_its_command_fails(
    slowed: Bisectable, pool: ProfilingPool
) -> None:
    done = run(slowed, pool, "")
    instance, said = slowed.with_recipes(recipe()), list[str]()
    failing = shlex.join([sys.executable, "-c", f"{_PROFILER}\nsys.exit(1)", "{out}"])
    checks = recipe(results=(), measure=("false",), profiler=failing)
    none = Posterior(np.zeros(0), 0.0, 0.0, np.zeros(0))
    answer = BisectionAnswer(BisectionState.CULPRIT, (CULPRIT - GOOD,), 1.0, none)
    bisection = replace(bisection_of(instance, done), recipe=checks)
    repository, trace = slowed.world.repository, done.request.trace_key
    kept = profile_found_commits(instance, repository, bisection, answer, pool, trace=trace, log=said.append)
    assert (kept, said[-1]) == (10, "kept 10 profiles of parse")
