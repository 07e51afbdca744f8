"""What the store knows of a change in a range of commits that a person names, before anything is measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from knickpoint.bisect.search.problem import Level
from knickpoint.instance.bisections.requests import known_levels, movement_of
from knickpoint.instance.instance import Instance
from knickpoint.instance.probe_pool import git_location
from knickpoint.model.params import decode_key
from knickpoint.model.query import Query, QueryTerm

if TYPE_CHECKING:
    from knickpoint.bisect.coordinator import Bisection
    from knickpoint.model.change_point import ChangePoint
    from knickpoint.model.commit import Repository
    from knickpoint.model.frame import Trace

__all__ = ["KnownChange", "known_change"]


@dataclass(frozen=True, slots=True)
class KnownChange:
    """A change of a trace: its direction, and its two levels where the device measures like the machine of the trace.

    ``text`` says in words what is known and where it comes from.
    """

    movement: int
    text: str
    before: Level = field(default_factory=Level)
    after: Level = field(default_factory=Level)


def known_change(instance: Instance, location: str, bisection: Bisection) -> KnownChange | None:
    """Return the only live change of the trace of ``bisection`` whose suspect range lies within its commits.

    ``location`` is the repository that is searched. Without one such trace, or one such change, there is None: a search
    that knows nothing measures a little more, one that knows something wrong measures much more.
    """
    repository = _repository(instance, location)
    trace = _trace(instance, repository, bisection.trace) if repository is not None else None
    if repository is None or trace is None:
        return None
    within = [
        each
        for each in instance.store.findings.change_points(trace.id)
        if _lies_within(instance, repository, each, bisection)
    ]
    if len(within) != 1:
        return None
    (point,) = within
    name = f"P{point.id} of {instance.config.name or instance.directory.name}"
    if not bisection.recipe.same_machine:
        text = f"the direction of the change is that of {name}"
        return KnownChange(movement_of(point.numbers), text)
    before, after = (Level(*known_levels(point.numbers, after=side)) for side in (False, True))
    return KnownChange(movement_of(point.numbers), f"the levels before and after are those of {name}", before, after)


def _repository(instance: Instance, location: str) -> Repository | None:
    for repository in instance.store.commits.repositories():
        settings = instance.repositories.get(repository.name)
        if settings is not None and settings.location and git_location(instance, repository.name) == location:
            return repository
    return None


def _trace(instance: Instance, repository: Repository, key: str) -> Trace | None:
    """Return the trace of a key, or the only one that has these params and no device of its own."""
    traces = instance.store.traces
    exact = traces.find(repository, key)
    if len(exact) == 1:
        return exact[0]
    params = decode_key(key)
    query = Query.of(*(QueryTerm(name, values=(value,)) for name, value in params.items()))
    if "device" not in params:
        query = query.with_term(QueryTerm("device", missing=True))
    found = traces.select(repository, query)
    return traces.get(found.tolist())[0] if len(found) == 1 else None


def _lies_within(instance: Instance, repository: Repository, point: ChangePoint, bisection: Bisection) -> bool:
    """Whether the good end is no later than the last commit before the change, and the bad end no earlier than the first after it."""
    line = instance.store.commits.line(repository, point.suspect_range.line)
    ends = [instance.store.commits.find(repository, each) for each in (bisection.good, bisection.commits[-1])]
    positions = [line.positions.get(each.slot, -1) if each is not None else -1 for each in ends]
    interval = point.suspect_range.on(line)
    if interval is None or -1 in positions:
        return False
    return positions[0] <= interval.previous and interval.position <= positions[1]
