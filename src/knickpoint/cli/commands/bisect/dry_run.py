"""Say what a search would cost, and run nothing of it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from knickpoint.bisect.search import conclude, plan
from knickpoint.bisect.search.problem import Budget, Observation, Problem
from knickpoint.cli.commands.bisect.search import Search
from knickpoint.model.errors import KnickpointError
from knickpoint.model.plain_text import counted

__all__ = ["dry_run_lines", "dry_run_object", "expected_probes"]

_SIGMAS: Final = 4.0
"""Size of the change that is assumed, in standard deviations of a probe."""

_PLAYED: Final = 9
"""Searches that are played for the estimate."""

_MOST: Final = 400
_MOST_LISTED: Final = 8


@dataclass(frozen=True, slots=True)
class _Cost:
    """How many probes played searches took: the median and the largest number."""

    usual: int
    most: int


def expected_probes(search: Search) -> _Cost:
    """Play the search with culprits all over the range, and return how many probes it takes.

    Values have a change of :data:`_SIGMAS` standard deviations; answers of a test are as wrong as the options say.
    """
    bisection = search.bisection
    count = len(bisection.commits)
    problem = Problem(
        count,
        prior=None if bisection.priors is None else np.array(bisection.priors),
        error=None if bisection.measures else bisection.error,
        unknown_error=not bisection.measures and bisection.error > 0,
        probability=bisection.profile.probability,
    )
    culprits = sorted({round(place) for place in np.linspace(1, count, min(_PLAYED, count)).tolist()})
    taken = [_play(problem, culprit) for culprit in culprits]
    return _Cost(round(statistics.median(taken)), max(taken))


def _play(problem: Problem, culprit: int) -> int:
    """Return how many probes a search for ``culprit`` takes, one after the other; the noise is always the same."""
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


def _seconds(search: Search) -> float:
    """Return how long one probe may take at most, by the time limits."""
    profile = search.bisection.profile
    seconds = profile.repeats * profile.measure_seconds
    seconds += profile.build_seconds if profile.build else 0
    return seconds + (profile.prepare_seconds if profile.prepare else 0)


def _measured_seconds(search: Search) -> float | None:
    """Return the median duration of the probes of an earlier run of the same search, None where there was none."""
    from knickpoint.bisect.coordinator import FileJournal

    if not search.journal.exists():
        return None
    try:
        with FileJournal(search.journal, search.about, resume=True) as journal:
            seconds = [entry.result.seconds for entry in journal.load() if entry.result is not None]
    except KnickpointError:
        return None
    return statistics.median(seconds) if seconds else None


def dry_run_object(search: Search) -> dict[str, object]:
    """Return the cost of a search as plain values."""
    cost = expected_probes(search)
    return {
        "good": search.range.good.hash,
        "bad": search.range.commits[-1].hash,
        "commits": [commit.hash for commit in search.range.commits],
        "expected_probes": cost.usual,
        "most_probes": cost.most,
        "longest_probe_seconds": _seconds(search),
        "measured_probe_seconds": _measured_seconds(search),
        "prepare": list(search.bisection.profile.prepare),
        "build": list(search.bisection.profile.build),
        "measure": list(search.bisection.profile.measure),
        "workspace": str(search.workspace),
    }


def dry_run_lines(search: Search) -> Iterator[str]:
    """Yield what the search would do, in words."""
    profile, found, cost = search.bisection.profile, search.range, expected_probes(search)
    yield f"{counted(len(found.commits), 'commit')} after the good end {found.good.hash[:10]} {found.good.subject}:"
    listed = found.commits if len(found.commits) <= _MOST_LISTED else (*found.commits[:4], None, *found.commits[-3:])
    for commit in listed:
        yield "  …" if commit is None else f"  {commit.hash[:10]} {commit.author}: {commit.subject}"
    for name, command in (("prepare", profile.prepare), ("build", profile.build), ("measure", profile.measure)):
        if command:
            yield f"{name:8} {' '.join(command)}"
    yield f"results  {' '.join(profile.results) or 'none: the exit code is the answer'}"
    shape = f"for a change of {_SIGMAS:g} standard deviations of a probe" if profile.results else "for a test"
    yield f"About {counted(cost.usual, 'probe')} {shape}, at most {cost.most} in the searches that were played."
    measured = _measured_seconds(search)
    if measured is not None:
        yield f"A probe took {measured:.1f} s in the earlier run of this search: about {_hours(cost.usual * measured)} in all."
    else:
        longest = _seconds(search)
        yield f"The time limits end a probe after {longest:,.0f} s, so that this takes {_hours(cost.usual * longest)} at most."
    yield f"Commits are checked out below {search.workspace}. Nothing was run."


def _hours(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 3600:.1f} h"
