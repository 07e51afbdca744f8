"""Say in words what a search decides: what it measures and why, what came of it, what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from knickpoint.bisect.coordinator.bisection import Bisection, BisectionAnswer, JournalEntry
from knickpoint.bisect.search.problem import PlannedProbe
from knickpoint.model.bisection import BisectionState, ProbeOutcome, ProbePurpose, ProbeResult
from knickpoint.model.plain_text import counted
from knickpoint.model.posterior import Posterior
from knickpoint.model.quantity_text import certainty_text, figure_text

_SHORT: Final = 10
"""Digits of a hash."""


def begin_line(bisection: Bisection, finished: int) -> str:
    """Describe the search at its start; ``finished`` probes of an earlier process count already."""
    commits = counted(len(bisection.commits), "commit")
    if finished:
        return f"Resuming the search of {commits}; {counted(finished, 'probe')} ended before."
    return f"Searches {commits} after {bisection.good[:_SHORT]} with the recipe {bisection.recipe.name}."


def planned_line(bisection: Bisection, planned: PlannedProbe) -> str:
    """Name the commit that is measured next, with the device and the reason."""
    return f"Measures {bisection.places[planned.place][:_SHORT]} on {planned.device}: {_why(bisection, planned)}."


def outcome_text(result: ProbeResult) -> str:
    """Describe a probe that gave the trace no value."""
    return "no value of the trace" if result.outcome is ProbeOutcome.MEASURED else result.outcome.value


def result_line(bisection: Bisection, entry: JournalEntry, trace: str, posterior: Posterior) -> str:
    """Describe the result of a probe, and the candidates left after it."""
    result = entry.result
    assert result is not None
    measured = result.measured.get(trace)
    value = f"{figure_text(measured.value, '.5g')} {measured.unit}".strip() if measured else outcome_text(result)
    reason = f", since {result.reason}" if result.reason and not measured else ""
    left = standing_text(posterior, bisection.places)
    return f"{entry.target.commit[:_SHORT]} on {result.device}: {value}{reason}. Now {left}."


def moot_line(entry: JournalEntry) -> str:
    """Say that a probe under way is cancelled."""
    return (
        f"Cancels the probe of {entry.target.commit[:_SHORT]} on {entry.planned.device}: its answer decides nothing any "
        "more."
    )


def end_line(bisection: Bisection, answer: BisectionAnswer) -> str:
    """Describe the end of the search."""
    names = ", ".join(bisection.places[place][:_SHORT] for place in answer.places[:_SHORT])
    share = f"with a probability of {certainty_text(answer.probability)}"
    reason = f": {answer.reason}" if answer.reason else ""
    match answer.state:
        case BisectionState.CULPRIT:
            return f"Ends: {names} made the change, {share}."
        case BisectionState.RANGE if answer.several:
            return f"Ends: each of {names} made a change, {share}."
        case BisectionState.RANGE:
            return f"Ends with {counted(len(answer.places), 'commit')} that no measurement separates, {share}{reason}."
        case _:
            return f"Ends: {answer.state.value}{reason}."


def standing_text(posterior: Posterior, places: Sequence[str]) -> str:
    """Describe the candidates that are left; ``places`` are the hashes by place, the good end first."""
    left, marginal = posterior.left, posterior.marginal
    if not left:
        return f"no change with {certainty_text(posterior.none)}"
    likeliest = f"{places[left[0] + 1][:_SHORT]} {certainty_text(float(marginal[left[0]]))}"
    return f"{len(left)} of {counted(len(marginal), 'commit')} left, {likeliest}"


def _why(bisection: Bisection, planned: PlannedProbe) -> str:
    match planned.purpose:
        case ProbePurpose.END:
            return "the good end" if planned.place == 0 else "the bad end"
        case ProbePurpose.VERIFY:
            return "the likely culprit beside its parent"
        case _ if planned.place in {0, len(bisection.commits)}:
            return "an end again, since the levels are not sure enough"
        case _:
            return "where the answer says most about the commits that are left"
