"""Estimate the cost of a search, and run nothing of it."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from knickpoint.bisect.coordinator import Bisection
from knickpoint.bisect.search import conclude, plan
from knickpoint.bisect.search.problem import Budget, Observation, Problem
from knickpoint.cli.commands.bisect.answer import short_subject
from knickpoint.cli.output import Column, OutputFormat, render
from knickpoint.model.commit import Commit
from knickpoint.model.plain_text import counted

_SIGMAS: Final = 4.0
"""Size of the change that is assumed, in standard deviations of a probe."""

_PLAYED: Final = 9
"""Searches that are played for the estimate."""

_MOST: Final = 400
_MOST_LISTED: Final = 8


_COLUMNS: Final = tuple(
    Column(name)
    for name in (
        "good",
        "bad",
        "commits",
        "expected_probes",
        "most_probes",
        "longest_probe_seconds",
        "measured_probe_seconds",
        "workspace",
    )
)


@dataclass(frozen=True, slots=True)
class PlannedSearch:
    """A search that could begin: what is searched, its commits by place, and where they would be measured.

    ``probe_seconds`` is the median time of the probes of an earlier run of this search, None where there was none.
    """

    bisection: Bisection
    commits: Sequence[Commit]
    workspace: str
    probe_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class _Cost:
    """How many probes played searches took: the median and the largest number."""

    usual: int
    most: int


def expected_probes(bisection: Bisection) -> _Cost:
    """Play the search with culprits all over the range, and return how many probes it takes.

    Values have a change of :data:`_SIGMAS` standard deviations; answers of a test are as wrong as the options say.
    """
    count = len(bisection.commits)
    problem = Problem(
        count,
        prior=None if bisection.priors is None else np.array(bisection.priors),
        error=None if bisection.measures else bisection.error,
        unknown_error=not bisection.measures and bisection.error > 0,
        probability=bisection.recipe.probability,
    )
    culprits = sorted({round(place) for place in np.linspace(1, count, min(_PLAYED, count)).tolist()})
    taken = [_play(problem, culprit) for culprit in culprits]
    return _Cost(round(statistics.median(taken)), max(taken))


def _play(problem: Problem, culprit: int) -> int:
    """Return the number of probes of a search for ``culprit``, one after the other; the noise is always the same."""
    noise = np.random.default_rng(culprit)
    observations: list[Observation] = []
    while len(observations) < _MOST:
        if conclude(problem, observations, Budget()) is not None:
            break
        planned = plan(problem, observations, (), ("machine",))
        if not planned:
            break
        place = planned[0].place
        changed = place >= culprit
        if problem.error is None:
            value = float(noise.normal()) + _SIGMAS * changed
            observations.append(Observation(place, "machine", value, purpose=planned[0].purpose))
        else:
            wrong = bool(noise.random() < problem.error)
            observations.append(Observation(place, "machine", passed=changed == wrong, purpose=planned[0].purpose))
    return len(observations)


def _seconds(bisection: Bisection) -> float:
    """Return the most seconds of one probe, by the time limits."""
    recipe = bisection.recipe
    seconds = recipe.repeats * recipe.measure_seconds
    seconds += recipe.build_seconds if recipe.build else 0
    return seconds + (recipe.prepare_seconds if recipe.prepare else 0)


def render_dry_run(planned: PlannedSearch, output: OutputFormat) -> str:
    """Return the plan of a search: in words, as one object of JSON, or as one row of CSV."""
    cost = expected_probes(planned.bisection)
    if output is OutputFormat.TEXT:
        return "".join(f"{line}\n" for line in _lines(planned, cost))
    recipe = planned.bisection.recipe
    found = {
        "good": planned.commits[0].hash,
        "bad": planned.commits[-1].hash,
        "commits": [commit.hash for commit in planned.commits[1:]],
        "expected_probes": cost.usual,
        "most_probes": cost.most,
        "longest_probe_seconds": _seconds(planned.bisection),
        "measured_probe_seconds": planned.probe_seconds,
        "workspace": planned.workspace,
    }
    if output is OutputFormat.CSV:
        return render(_COLUMNS, [{**found, "commits": len(planned.commits) - 1}], output)  # type: ignore[dict-item]
    commands = {name: list(getattr(recipe, name)) for name in ("prepare", "build", "measure")}
    return json.dumps({**found, **commands}, indent=2) + "\n"


def _lines(planned: PlannedSearch, cost: _Cost) -> Iterator[str]:
    """Yield what the search would do, in words."""
    recipe, (good, *commits) = planned.bisection.recipe, planned.commits
    yield f"{counted(len(commits), 'commit')} after the good end {good.hash[:10]} {short_subject(good)}:"
    listed = commits if len(commits) <= _MOST_LISTED else (*commits[:4], None, *commits[-3:])
    for commit in listed:
        yield "  …" if commit is None else f"  {commit.hash[:10]} {commit.author}: {short_subject(commit)}"
    for name, command in (("prepare", recipe.prepare), ("build", recipe.build), ("measure", recipe.measure)):
        if command:
            yield f"{name:8} {' '.join(command)}"
    yield f"results  {' '.join(recipe.results) or 'none: the exit code is the answer'}"
    shape = f"for a change of {_SIGMAS:g} standard deviations of a probe" if recipe.results else "for a test"
    yield f"About {counted(cost.usual, 'probe')} {shape}, at most {cost.most} in simulated searches."
    if planned.probe_seconds is not None:
        seconds = planned.probe_seconds
        yield (
            f"A probe took {seconds:.1f} s in an earlier run of this search: about {_hours(cost.usual * seconds)} in "
            "all."
        )
    else:
        longest = _seconds(planned.bisection)
        yield (
            f"The time limits end a probe after {longest:,.0f} s, so that this takes {_hours(cost.usual * longest)} at "
            "most."
        )
    yield f"Commits are checked out below {planned.workspace}. Nothing was run."


def _hours(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 3600:.1f} h"
