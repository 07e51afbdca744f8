"""Choose which commits inside a suspect range are worth a measurement, the most useful first; pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["FillRange", "useful_commits"]


@dataclass(frozen=True, slots=True)
class FillRange:
    """A suspect range: ``commits`` after the last good one, oldest first; the last of them is the first bad one.

    ``answered`` are the places in ``commits`` that are measured or about to be, ``impossible`` those that cannot be. Both ends
    of the range are measured. ``weights`` has how likely each commit is the cause, not negative, of any sum; empty for equally.
    """

    commits: tuple[str, ...]
    answered: frozenset[int] = frozenset()
    impossible: frozenset[int] = frozenset()
    weights: tuple[float, ...] = ()


def useful_commits(suspects: FillRange, count: int) -> tuple[str, ...]:
    """Return at most ``count`` commits to measure at the same time, the most useful first.

    A measurement at a commit says on which side of it the change is. So the next commit is the one that leaves the least
    weight on its heavier side, in the heaviest stretch between two places with an answer. Of one commit, that is the middle;
    of three, the middle and the middles of both halves, so that two rounds decide a range of sixteen.
    """
    last = len(suspects.commits) - 1
    weights = suspects.weights if sum(suspects.weights) > 0 else (1.0,) * len(suspects.commits)
    answered = suspects.answered | {-1, last}
    chosen: list[int] = []
    while len(chosen) < count:
        place = _most_useful(weights, sorted(answered), answered | suspects.impossible)
        if place is None:
            break
        chosen.append(place)
        answered = answered | {place}
    return tuple(suspects.commits[place] for place in chosen)


def _most_useful(weights: Sequence[float], answered: Sequence[int], taken: frozenset[int]) -> int | None:
    """Return the place that splits the heaviest stretch that has one best; stretches lie between places in ``answered``."""
    best: tuple[float, float, int] | None = None
    for low, high in pairwise(answered):
        free = [place for place in range(low + 1, high) if place not in taken]
        if not free:
            continue
        stretch = sum(weights[low + 1 : high + 1])
        heavier, place = min((_heavier_side(weights, low, place, high), place) for place in free)
        if best is None or (-stretch, heavier, place) < best:
            best = -stretch, heavier, place
    return best[2] if best else None


def _heavier_side(weights: Sequence[float], low: int, place: int, high: int) -> float:
    """Return the larger weight that is left in a stretch once ``place`` has an answer."""
    return max(sum(weights[low + 1 : place + 1]), sum(weights[place + 1 : high + 1]))
