"""Ask for bisections by rule: settled changes of a stated size, within the device hours of a day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from knickpoint.instance.bisections.requests import added_params, bisectable_members, request_bisection
from knickpoint.instance.instance import Instance
from knickpoint.model.alert import AlertKind
from knickpoint.model.change_point import Condition, Direction, Status
from knickpoint.model.errors import InputError
from knickpoint.model.query import parse_query

if TYPE_CHECKING:
    from knickpoint.bisect.settings import RecipeSettings
    from knickpoint.model.change_point import ChangePoint
    from knickpoint.model.commit import Repository
    from knickpoint.store.bisections import StoredBisection

_RULE: str = "rule"
"""Who asks for a bisection by rule."""


def ask_by_rule(instance: Instance, *, now: datetime | None = None) -> list[StoredBisection]:
    """Ask for a bisection of each change that a recipe with a ``minimum_effect`` covers; return what was asked for.

    A change is bisected by rule once with a recipe, and not where a person asked for that already. Once the device
    hours of a recipe are spent for the last 24 hours, it asks for nothing more.

    Raises:
        StoreError: the store cannot be read or written.
    """
    time = now or datetime.now(UTC)
    recipes = [each for each in instance.config.bisect.values() if each.minimum_effect > 0]
    asked: list[StoredBisection] = []
    for repository in instance.store.commits.repositories() if recipes else ():
        for recipe in sorted(recipes, key=lambda each: each.name):
            asked += _ask(instance, repository, recipe, time)
    return asked


def _ask(instance: Instance, repository: Repository, recipe: RecipeSettings, now: datetime) -> list[StoredBisection]:
    settings = instance.repositories.get(repository.name)
    if recipe.repository not in {"", repository.name} or settings is None or not settings.location:
        return []
    store = instance.store
    known = store.bisections.asked_for(repository)
    asked: list[StoredBisection] = []
    for key in _changes(instance, repository, recipe):
        spent = store.bisections.seconds_by_rule(recipe.name, now - timedelta(days=1)) / 3600.0
        if spent >= recipe.budget_hours:
            break
        if (key, recipe.name) not in known:
            try:
                asked.append(request_bisection(instance, key, recipe.name, who=_RULE, by_rule=True))
            except InputError:
                continue  # its range is too long, or it went meanwhile
    return asked


def _changes(instance: Instance, repository: Repository, recipe: RecipeSettings) -> list[int]:
    """Return the changes with a member that the recipe bisects by rule, the oldest first."""
    traces = instance.store.traces.select(repository, parse_query(recipe.query)).tolist()
    found: set[int] = set()
    for begin in range(0, len(traces), 1000):
        for points in instance.store.findings.of_traces(traces[begin : begin + 1000]).values():
            found |= {each.change_id for each in bisectable_members(points) if _by_rule(each, recipe)}
    return sorted(found - {0})


def _by_rule(point: ChangePoint, recipe: RecipeSettings) -> bool:
    return (
        point.condition is Condition.PRESENT
        and point.settlement.settled
        and point.alert_kind is AlertKind.WORK
        and not point.history
        and point.direction is not Direction.IMPROVEMENT
        and point.effective_status is not Status.HIDDEN
        and abs(point.numbers.relative_size) >= recipe.minimum_effect
        and added_params(recipe, point.key) is not None
    )
