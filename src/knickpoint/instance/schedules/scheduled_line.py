"""Read what a schedule decides about: the end of its line, which commits are measured, what it chose before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from knickpoint.bisect.settings import RecipeSettings, ScheduleSettings
from knickpoint.instance.instance import Instance
from knickpoint.model.commit import Commit, Line, Repository
from knickpoint.model.errors import ConfigError
from knickpoint.model.query import parse_query
from knickpoint.store import Store
from knickpoint.store.schedules import ScheduledProbe

__all__ = ["ScheduledLine", "measured_positions", "read_scheduled_line", "repository_of"]

_NEWEST: Final = 2_000
"""How far a schedule looks back on its line."""

_MOST_TRACES: Final = 256
"""Of so many traces of a recipe, spread over all of them, one with a value says that a commit is measured."""


@dataclass(frozen=True)
class ScheduledLine:
    """A schedule with its recipe, the line that it measures, and its probes, in the order in which it chose them.

    ``commits`` are the newest of the line, oldest first. ``measured`` has the hashes of those with results.
    """

    settings: ScheduleSettings
    recipe: RecipeSettings
    repository: Repository
    line: Line
    commits: tuple[Commit, ...]
    measured: frozenset[str]
    probes: tuple[ScheduledProbe, ...]

    @cached_property
    def chosen(self) -> dict[str, ScheduledProbe]:
        """Hash → probe of the commits that the schedule chose."""
        return {probe.choice.commit: probe for probe in self.probes}

    @cached_property
    def answered(self) -> frozenset[str]:
        """The commits that are measured, or were chosen before, whatever became of them."""
        return self.measured | self.chosen.keys()


def read_scheduled_line(instance: Instance, name: str) -> ScheduledLine:
    """Read what the schedule ``name`` decides about; the lines are as the last look at the repository left them.

    Raises:
        ConfigError: its repository is not clear, or has no line of its branch.
        StoreError: the store cannot be read.
    """
    settings = instance.config.schedule[name]
    recipe = instance.config.bisect[settings.recipe]
    store = instance.store
    repository = store.commits.add_repository(*_named(instance, repository_of(instance, recipe, name)))
    lines = store.commits.lines(repository)
    if settings.branch and settings.branch not in lines:
        raise ConfigError(
            f"there is no line of the branch {settings.branch!r}",
            where=f"[schedule.{name}]",
            remedy=f"Its lines are {', '.join(lines[:12]) or 'none'}; add the branch to branches of [repositories.{repository.name}].",
        )
    line = store.commits.line(repository, settings.branch)
    first = max(0, len(line.slots) - _NEWEST)
    commits = tuple(each.commit for each in store.commits.get(repository, line.slots[first:]))
    measured = measured_positions(store, line, recipe, range(first, len(line.slots)))
    hashes = frozenset(commits[position - first].hash for position in measured)
    return ScheduledLine(
        settings, recipe, repository, line, commits, hashes, tuple(store.schedules.of_schedule(repository, name))
    )


def repository_of(instance: Instance, recipe: RecipeSettings, schedule: str) -> str:
    """Return the name of the repository that a schedule measures. Raises ``ConfigError`` where it is not clear."""
    names = [name for name, settings in instance.repositories.items() if settings.location]
    if recipe.repository in names:
        return recipe.repository
    if not recipe.repository and len(names) == 1:
        return names[0]
    what = f"{recipe.repository!r} is no git repository" if recipe.repository else "no repository is named"
    raise ConfigError(
        what,
        where=f"[schedule.{schedule}], recipe {recipe.name!r}",
        remedy="Name in repository of the recipe a repository that has a location.",
    )


def measured_positions(store: Store, line: Line, recipe: RecipeSettings, positions: range) -> set[int]:
    """Return those of ``positions`` on ``line`` that have a run, with values of traces of the recipe if it names some."""
    with_runs = store.runs.slots(line.repository)
    found = {position for position in positions if line.slots[position] in with_runs}
    if not recipe.query or not found:
        return found
    ids = store.traces.select(line.repository, parse_query(recipe.query))
    spread = ids[:: max(1, len(ids) // _MOST_TRACES)]
    if not len(spread):
        return set()
    values = store.frames.values(line, spread, first=positions.start, last=positions.stop - 1)
    measured = np.flatnonzero((~np.isnan(values)).any(axis=0)) + positions.start
    return found & set(measured.tolist())


def _named(instance: Instance, name: str) -> tuple[str, str]:
    from knickpoint.model.secrets import without_secrets

    return name, without_secrets(instance.repositories[name].location)
