"""Measure how many changes one cause makes: generated traces in which it is known which commits changed them.

A part of ``make bench-watch``. A commit moves all traces by 6 %, or a commit moves one half of them, and a later commit
the other half. Each trace has a noise of its own within the range that the row names, and is measured at every commit,
or at every fourth. The steps are those of the default method, false ones included. The peer is the same rule with
suspect ranges alone, as if methods were never off. ``python benchmarks/watch_places.py`` prints all cases.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

import numpy as np

from knickpoint.detect import find_steps_many
from knickpoint.watch.changes.groups import Group, Member, group_members
from knickpoint.watch.detection.sightings import location_interval
from table import Row

__all__ = ["place_rows"]

_SEED: Final = 20261127
_COMMITS, _PLACE, _SIZE, _DRAWS, _SELDOM = 200, 120, 0.06, 5, 4
_NOISES: Final = {
    "0.5 %": (0.005, 0.005),
    "1 to 3 %": (0.01, 0.03),
    "3 to 6 %": (0.03, 0.06),
    "0.5 to 6 %": (0.005, 0.06),
}
_DISTANCES: Final = (0, 1, 2, 3, 5, 10)
_TRACES: Final = (5, 50, 200)
_ALONE: Final = "suspect ranges alone"


@dataclass(frozen=True, slots=True)
class _Case:
    """What is drawn: ``distance`` is that of two causes in commits, 0 for one cause, ``every`` that of measured commits."""

    noise: str
    traces: int
    distance: int
    every: int

    @property
    def causes(self) -> int:
        return 2 if self.distance else 1


@dataclass(frozen=True, slots=True)
class _Found:
    """The groups of a draw: those with change points of a cause, those without, and points that are not with their cause."""

    members: int
    groups: int
    false: int
    wrong: int

    def __add__(self, other: _Found) -> _Found:
        return _Found(*(getattr(self, name) + getattr(other, name) for name in self.__slots__))


def _draw(random: np.random.Generator, case: _Case) -> tuple[list[Member], dict[int, int]]:
    """Return the change points that the default method finds, and the cause of those that have one, by id."""
    low, high = _NOISES[case.noise]
    deviations = np.exp(random.uniform(np.log(low), np.log(high), case.traces))
    members: list[Member] = []
    cause_of: dict[int, int] = {}
    first = random.integers(0, case.every, case.traces)
    length = _COMMITS * case.every
    places = (_PLACE * case.every, _PLACE * case.every + case.distance)
    for start in range(case.every):
        rows = np.flatnonzero(first == start)
        measured = np.arange(start, length, case.every)
        if not rows.size:
            continue
        causes = rows % case.causes
        values = 1 + deviations[rows, None] * random.standard_normal((rows.size, measured.size))
        values *= 1 + _SIZE * (measured >= np.take(places, causes)[:, None])
        for row, cause, steps in zip(rows.tolist(), causes.tolist(), find_steps_many(values, threads=1), strict=True):
            found = [
                Member(
                    len(members) + number,
                    int(measured[step.previous]),
                    int(measured[step.index]),
                    interval=location_interval(step),
                    trace=row + 1,
                    before=case.every * location_interval(step),
                    after=case.every * location_interval(step),
                )
                for number, step in enumerate(steps, 1)
            ]
            members += found
            near = [member for member in found if abs(member.position - places[cause]) <= 40 * case.every]
            if near:
                cause_of[min(near, key=lambda each: abs(each.position - places[cause])).id] = cause
    return members, cause_of


def _score(groups: Sequence[Group], cause_of: dict[int, int]) -> _Found:
    """Count groups, and the points that are not in the group that holds most of their cause, and most of which it has."""
    held = Counter(
        (cause_of[key], place) for place, group in enumerate(groups) for key in group.members if key in cause_of
    )
    own: dict[int, int] = {}
    for (cause, place), _ in sorted(held.items(), key=lambda item: (-item[1], item[0])):
        if cause not in own and place not in own.values():
            own[cause] = place
    right = sum(count for (cause, place), count in held.items() if own.get(cause) == place)
    with_cause = len({place for _, place in held})
    return _Found(len(cause_of), with_cause, len(groups) - with_cause, len(cause_of) - right)


def _measured(case: _Case) -> tuple[_Found, _Found]:
    """Return what both rules make of some draws together: the one of suspect ranges alone first."""
    random = np.random.default_rng([_SEED, case.traces, case.distance, case.every, list(_NOISES).index(case.noise)])
    alone, ours = _Found(0, 0, 0, 0), _Found(0, 0, 0, 0)
    for _ in range(_DRAWS):
        members, cause_of = _draw(random, case)
        alone += _score(
            group_members([replace(member, interval=0, trace=0, before=0, after=0) for member in members]), cause_of
        )
        ours += _score(group_members(members), cause_of)
    return alone, ours


def _cases() -> Iterator[_Case]:
    for every, distance, noise, traces in product((1, _SELDOM), _DISTANCES, _NOISES, _TRACES):
        yield _Case(noise, traces, distance, every)


def place_rows() -> list[Row]:
    """Return rows about 200 traces of much noise: one cause, and two causes ten commits apart."""
    rows: list[Row] = []
    for case in (_Case("3 to 6 %", 200, 0, 1), _Case("3 to 6 %", 200, 10, 1), _Case("0.5 to 6 %", 200, 3, 1)):
        alone, ours = _measured(case)
        name = f"places: 200 traces, noise of {case.noise}, " + (
            f"two causes {case.distance} commits apart" if case.distance else "one cause"
        )
        count = case.causes * _DRAWS
        elsewhere = (100 * ours.wrong / ours.members, 100 * alone.wrong / alone.members)
        rows += [
            Row(f"{name}: changes of each cause", "1", ours.groups / count, alone.groups / count, _ALONE),
            Row(f"{name}: change points elsewhere", "%", *elsewhere, peer_name=_ALONE),
        ]
    return rows


def _print() -> None:
    print("measured  distance  noise       traces  changes/cause  elsewhere %  without cause")
    for case in _cases():
        alone, ours = _measured(case)
        count = case.causes * _DRAWS
        cells = (
            f"{alone.groups / count:5.1f} → {ours.groups / count:4.1f}",
            f"{100 * alone.wrong / max(1, alone.members):5.1f} → {100 * ours.wrong / max(1, ours.members):5.1f}",
            f"{alone.false / _DRAWS:5.1f} → {ours.false / _DRAWS:4.1f}",
        )
        print(
            f"1 in {case.every}  {case.distance:8}    {case.noise:12}{case.traces:5}   {'     '.join(cells)}",
            flush=True,
        )


if __name__ == "__main__":
    _print()
