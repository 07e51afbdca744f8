"""Bisect a change of an instance where a second repository moved as well.

The runs at the ends of the range name the commits of the other repositories. Where one that takes part in the recipe
moved, the four combinations of old and new are measured first, and then the commits of the repository that made the
change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from knickpoint.bisect.coordinator import (
    Bisection,
    BisectionAnswer,
    BisectionProgress,
    JournalEntry,
    OtherRange,
    TwoRepositoriesAnswer,
    coordinate_two,
    read_range,
)
from knickpoint.bisect.job import DevicePool
from knickpoint.bisect.search.attribution import Attribution
from knickpoint.bisect.search.problem import PlannedProbe
from knickpoint.history import Git, is_url
from knickpoint.instance.bisections.store_journal import StoreJournal
from knickpoint.instance.instance import Instance
from knickpoint.model.bisection import PROBE_FACT, BisectionState, ProbeResult, Target
from knickpoint.model.errors import HistoryError, InputError
from knickpoint.model.posterior import Posterior
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.model.commit import Repository


# What the runs of a range say of the other repositories that took part in them: their commits, and where these moved.


def pins_of(
    instance: Instance, repository: Repository, slot: int, also: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    """Return the commits of the repositories of ``also`` as the newest run at a commit names them."""
    named = _revisions(instance, repository, slot) if also else {}
    return tuple(sorted((name, revision) for name, revision in named.items() if name in also))


def moved_beside(instance: Instance, repository: Repository, ends: tuple[int, int]) -> Mapping[str, tuple[str, str]]:
    """Return the other repositories that moved between the runs at the ends of a range, each with its two commits."""
    before, after = (_revisions(instance, repository, slot) for slot in ends)
    moved = {name: (before[name], after[name]) for name in sorted(before.keys() & after.keys())}
    return {name: (old, new) for name, (old, new) in moved.items() if old != new and name != repository.name}


def moved_text(moved: Mapping[str, tuple[str, str]]) -> str:
    """Name the other repositories that differ between the runs at the ends of a range, each with its two commits."""
    shown = [f"{name}: {old[:_SHORT]}..{new[:_SHORT]}" for name, (old, new) in moved.items()]
    return f"the runs at the ends also differ in {', '.join(shown)}"


def _revisions(instance: Instance, repository: Repository, slot: int) -> dict[str, str]:
    """Return the commit of each other repository by the newest run at ``slot`` that names it.

    Runs that bisections made do not count: their commits are those that the bisection chose.
    """
    runs = instance.store.runs.at(repository, [slot])
    return {name: named for run in runs if PROBE_FACT not in run.environment for name, named in run.revisions.items()}


_MAIN: Final = "main"
_CELLS: Final = "cells"
_OTHER: Final = "other"
_COMBINATIONS: Final = ("old with old", "new with old", "old with new", "new with new")
_SHORT: Final = 10
_NARROWER: Final = (
    "Measure commits of the range until only one repository moved between two of them, and bisect that part."
)


def other_range(bisection: Bisection, moved: Mapping[str, tuple[str, str]]) -> OtherRange | None:
    """Return the range of the repository that moved beside the main one, None where none did.

    Args:
        bisection: the search in the main repository, with the locations of all that take part.
        moved: repository → its commits by the runs at the good end and at the bad end.

    Raises:
        InputError: repositories moved that cannot be searched: several, one that the recipe does not take along, one
            that has no clone here, or one whose clone lacks the commits.
    """
    if not moved:
        return None
    taking_part = bisection.recipe.also
    if len(moved) > 1:
        raise InputError(
            f"{moved_text(moved)}, and only one can be searched beside the main repository", remedy=_NARROWER
        )
    ((name, (old, new)),) = moved.items()
    if name not in taking_part:
        raise InputError(
            f"{moved_text(moved)}, and the recipe {bisection.recipe.name} does not take it along",
            remedy=f"Name {name} in `also` of the recipe and its clone in [repositories.{name}].",
        )
    location = bisection.locations[name]
    if is_url(location):
        raise InputError(
            f"{moved_text(moved)}, and its commits cannot be read, since its location is a URL and no clone on this "
            "machine",
            remedy=f"Clone it, and set `location` of [repositories.{name}] to the clone.",
        )
    try:
        found = read_range(Git.at(Path(location)), f"{old}..{new}")
    except (InputError, HistoryError) as error:
        raise InputError(
            f"{moved_text(moved)}, and its range cannot be searched: {error.message}",
            remedy=f"Fetch both commits into {location}; the old one has to be an ancestor of the new one.",
        ) from error
    return OtherRange(name, found.good.hash, found.hashes)


def of_main_search(probe: str) -> bool:
    """Whether a probe is one of the search in the main repository, by its name: its value is that of a commit there."""
    return f"-{_CELLS}-" not in probe and f"-{_OTHER}-" not in probe


def coordinate_both(
    bisection: Bisection,
    other: OtherRange,
    pool: DevicePool,
    journal: StoreJournal,
    *,
    stop: Callable[[], bool],
    progress: Callable[[BisectionProgress], None],
) -> BisectionAnswer:
    """Decide which repository made the change, search its commits, and return the answer for the main repository.

    Where only the other repository made the change, the answer has no places, and its reason names the commit there.

    Raises:
        StoreError: the journal cannot be written, or another process took the bisection over.
    """
    journal.log(
        f"{other.repository} moved as well, from {other.good[:_SHORT]} to {other.bad[:_SHORT]}:"
        " the four combinations of old and new come first."
    )
    found = coordinate_two(
        bisection,
        other,
        pool,
        lambda part: _PartJournal(journal, bisection, other, part),
        stop=stop,
        progress=lambda state: progress(state) if len(state.posterior.single) == len(bisection.commits) else None,
    )
    answer = _answer(bisection, other, found)
    if answer.reason:
        journal.log(f"{answer.reason[0].upper()}{answer.reason[1:]}.")
    return answer


@dataclass
class _PartJournal:
    """The journal of one part of the search in that of the whole bisection; the part is in the names of its probes.

    The store knows places of the main repository only. A combination and a probe of the other repository are kept at
    the commit of the main one that they build; their place comes back from their target. Their results stay out of the
    traces: they are values of commits that never stood beside each other.
    """

    whole: StoreJournal
    bisection: Bisection
    other: OtherRange
    part: str

    def load(self) -> Sequence[JournalEntry]:
        """Return the probes of this part, in their order."""
        prefix = f"{self.bisection.id}-{self.part}-"
        return [
            replace(entry, planned=replace(entry.planned, place=self._place(entry)))
            for entry in self.whole.load()
            if entry.probe.startswith(prefix)
        ]

    def begin(self, probe: str, planned: PlannedProbe, target: Target) -> None:
        """Note a probe before it is submitted."""
        if self.part == _CELLS:
            self.log(f"Measures {_COMBINATIONS[planned.place]} on {planned.device}.")
        if self.part != _MAIN:
            planned = replace(planned, place=self.bisection.places.index(target.commit))
        self.whole.begin(probe, planned, target)

    def record(self, result: ProbeResult) -> None:
        """Keep the result of a probe; results files go on to the import only where they belong to the main search."""
        if self.part == _CELLS:
            measured = next(iter(result.measured.values()), None)
            value = (
                f"{figure_text(measured.value, '.5g')} {measured.unit}".strip() if measured else result.outcome.value
            )
            self.log(f"{_COMBINATIONS[self._cell(result.target)]} on {result.device}: {value}.")
        joins = self.part == _MAIN and dict(result.target.pins)[self.other.repository] == self.other.bad
        self.whole.record(result if joins else replace(result, files=()))

    def drop(self, probe: str) -> None:
        """Note that a probe was cancelled."""
        self.whole.drop(probe)

    def log(self, line: str) -> None:
        """Keep a line for people."""
        self.whole.log(line)

    def state(self, progress: BisectionProgress) -> None:
        """Keep where the search in the main repository stands; the store has no posterior of the other one."""
        if self.part == _MAIN:
            self.whole.state(progress)

    def _place(self, entry: JournalEntry) -> int:
        if self.part == _CELLS:
            return self._cell(entry.target)
        if self.part == _OTHER:
            return (self.other.good, *self.other.commits).index(dict(entry.target.pins)[self.other.repository])
        return entry.planned.place

    def _cell(self, target: Target) -> int:
        new = target.commit == self.bisection.commits[-1]
        return int(new) + 2 * (dict(target.pins)[self.other.repository] == self.other.bad)


def _answer(bisection: Bisection, other: OtherRange, found: TwoRepositoriesAnswer) -> BisectionAnswer:
    """Return the answer of a search in the main repository."""
    elsewhere = _elsewhere(other, found.other) if found.other is not None else ""
    if found.main is not None:
        beside = elsewhere or f"{other.repository} moved as well, and made no change"
        return replace(found.main, reason="; ".join(filter(None, (found.main.reason, beside))))
    if found.other is not None:
        return _nothing_here(bisection, found.other.state, found.other.probability, elsewhere)
    if found.attribution is Attribution.NEITHER:
        return _nothing_here(bisection, BisectionState.NOT_REPRODUCIBLE, found.probability, found.reason)
    state = BisectionState.STOPPED if found.reason == "stopped" else BisectionState.GAVE_UP
    return _nothing_here(bisection, state, 0.0, found.reason)


def _elsewhere(other: OtherRange, found: BisectionAnswer) -> str:
    """Say in words what the search in the other repository found."""
    places = (other.good, *other.commits)
    names = ", ".join(places[place][:_SHORT] for place in found.places[:_SHORT])
    if found.state is BisectionState.CULPRIT or found.several:
        return f"{other.repository} made the change: {names}"
    left = f" ({names} are left)" if names else ""
    return f"{other.repository} made the change, and its commit is not found: {found.reason or found.state.value}{left}"


def _nothing_here(bisection: Bisection, state: BisectionState, probability: float, reason: str) -> BisectionAnswer:
    """Return an answer that names no commit of the main repository."""
    nothing = np.zeros(len(bisection.commits))
    return BisectionAnswer(state, (), probability, Posterior(nothing, 1.0, 0.0, nothing), reason, bisection.trace)
