"""Explain a change of the noise in sentences: its spread, the levels on both sides, and how far its distribution changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from knickpoint.cli.output import percent
from knickpoint.model.quantity_text import value_text

if TYPE_CHECKING:
    from knickpoint.model.step import Check
    from knickpoint.watch.explanation import ExplainedStep

__all__ = ["noise_sentences"]

_DIFFERENCE: Final = "largest difference of the shares below a bound"
_NUMBERS: Final = ("no", "one", "two", "three", "four", "five", "six")


def noise_sentences(name: str, commit: str, step: ExplainedStep, checks: Sequence[Check], unit: str) -> Iterator[str]:
    """Yield what changed about the noise of the trace ``name`` at ``commit``, by the ``checks`` of the candidate there."""
    numbers = step.sighting.numbers
    known = {check.name: check.value for check in checks}
    if _DIFFERENCE not in known:
        before, after = (value_text(level, unit) for level in (numbers.before_level, numbers.after_level))
        yield (
            f"The values of {name} stray by {after} around their level since {commit}, by {before} before"
            f" (one standard deviation, {percent(numbers.relative_size)})."
        )
        yield from _of_values(step)
        return
    yield f"The distribution of {name} changed at {commit}: {_levels_text(known, unit)}."
    yield from _of_values(step)
    spreads = (value_text(known[f"noise {when} (standard deviation)"], unit) for when in ("before", "after"))
    yield "The values stray by {} around their level before, and by {} since (one standard deviation).".format(*spreads)
    yield (
        f"Up to {known[_DIFFERENCE] * 100:.0f} % of the values lie elsewhere, relative to the median; values of equal rank lie"
        f" {value_text(abs(numbers.size), unit)} apart on average, as a standard deviation."
    )


def _of_values(step: ExplainedStep) -> Iterator[str]:
    """Yield where the values lay before and lie since, where that is known."""
    if step.note:
        yield f"Values from {step.note}."


def _levels_text(known: Mapping[str, float], unit: str) -> str:
    """Return how many levels there were and are, and where they lie if there are several."""
    before, since = (int(known[f"levels {when}"]) for when in ("before", "since"))
    if before == since == 1:
        return "one level as before, with the values spread differently around it"
    return f"{_side(known, 'before', before, unit)} before, {_side(known, 'since', since, unit)} since"


def _side(known: Mapping[str, float], when: str, count: int, unit: str) -> str:
    word = _NUMBERS[count] if count < len(_NUMBERS) else str(count)
    if count == 1:
        return "one level"
    levels = ", ".join(
        f"{value_text(known[f'level {number} {when}'], unit)} ({known[f'share of the values at level {number} {when}'] * 100:.0f} %)"
        for number in range(1, count + 1)
    )
    return f"{word} levels ({levels})"
