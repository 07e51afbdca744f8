"""Ask for a bisection, as a person or by rule: which recipe measures it, which commits may have made it, what is known.

A request names a recipe of the configuration and nothing else that would run: commands come from the file of the
operator. The rule asks about settled changes of a stated size, within the device hours of a day.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from knickpoint.bisect.search.problem import Level
from knickpoint.instance.instance import Instance
from knickpoint.instance.probes import git_location
from knickpoint.model.access import AuditKind
from knickpoint.model.alert import AlertKind
from knickpoint.model.change_point import Condition, Direction, Status
from knickpoint.model.errors import InputError
from knickpoint.model.params import decode_key
from knickpoint.model.query import Query, QueryTerm, parse_query

if TYPE_CHECKING:
    from knickpoint.bisect.coordinator import Bisection
    from knickpoint.bisect.settings import RecipeSettings
    from knickpoint.model.change_point import ChangePoint, StepNumbers
    from knickpoint.model.commit import Repository
    from knickpoint.model.frame import Trace
    from knickpoint.model.statement import Change
    from knickpoint.store.bisections import BisectionRequest, StoredBisection


_LEAST_VALUES: Final = 2
"""Values of a stable region from which its deviation says something."""


def fitting_recipes(instance: Instance, change_id: int) -> list[str]:
    """Return the names of the recipes that can bisect a change, by name; empty where none can.

    Raises:
        InputError: there is no such change.
    """
    store = instance.store
    repository = store.findings.repository_of(change_id)
    members = bisectable_members(store.findings.live_members(change_id))
    recipes = instance.config.bisect.values()
    return sorted(each.name for each in recipes if member_for(instance, repository, each, members))


def request_bisection(
    instance: Instance, change_id: int, recipe: str = "", *, who: str, by_rule: bool = False
) -> StoredBisection:
    """Let the commit of a change be searched with a recipe of the configuration; return the bisection.

    Without ``recipe``, the only one that fits is taken. Where the same bisection waits or runs, that one is returned.
    The audit log gets an entry.

    Raises:
        InputError: there is no such change or recipe, the recipe does not measure it, or it cannot be bisected.
    """
    store = instance.store
    request = plan_bisection(instance, change_id, recipe, who=who, by_rule=by_rule)
    with store.transaction():
        asked = store.bisections.ask(request)
        if asked.request.asked == request.asked:
            about = f"{asked.name}: R{change_id} with the recipe {request.recipe}{', by rule' if by_rule else ''}"
            store.audit.append(AuditKind.BISECTION_ASKED, who, about)
    return asked


def plan_bisection(
    instance: Instance, change_id: int, recipe: str = "", *, who: str, by_rule: bool = False
) -> BisectionRequest:
    """Return the request of :func:`request_bisection`, and write nothing.

    Raises:
        InputError: as :func:`request_bisection`.
    """
    from knickpoint.store.bisections import BisectionRequest

    store = instance.store
    repository = store.findings.repository_of(change_id)
    change = store.findings.change(change_id)
    settings, lead = _chosen(instance, repository, change_id, recipe)
    slots = _searched_slots(instance, repository, change, lead)
    return BisectionRequest(
        repository_id=repository.id,
        line=change.suspect_range.line,
        slots=slots,
        recipe=settings.name,
        digest=settings.digest,
        who=who,
        asked=datetime.now(UTC),
        change_id=change_id,
        trace_id=lead.trace_id,
        trace_key=lead.key,
        facts=_facts(instance, change_id, lead, settings, slots),
        by_rule=by_rule,
    )


def stop_bisection(instance: Instance, key: int, *, who: str) -> StoredBisection:
    """Stop a bisection, and return it; the audit log gets an entry.

    Raises:
        AbsentError: there is none.
        InputError: it ended already.
    """
    with instance.store.transaction():
        stopped = instance.store.bisections.ask_stop(key, who, datetime.now(UTC))
        instance.store.audit.append(AuditKind.BISECTION_STOPPED, who, stopped.name)
    return stopped


def bisectable_members(members: list[ChangePoint]) -> list[ChangePoint]:
    """Return the members of a change that a commit may have made, the lead first.

    Moves of canaries and held findings are none: a machine moved there.
    """
    return sorted(
        (each for each in members if each.alert_kind is not AlertKind.CANARY and not each.held),
        key=lambda each: each.rank,
    )


def member_for(
    instance: Instance, repository: Repository, recipe: RecipeSettings, members: list[ChangePoint]
) -> ChangePoint | None:
    """Return the first of ``members`` whose trace ``recipe`` measures, None where it measures none."""
    settings = instance.repositories.get(repository.name)
    if recipe.repository not in {"", repository.name} or settings is None or not settings.location:
        return None
    wanted = set(instance.store.traces.select(repository, parse_query(recipe.query)).tolist())
    fitting = (each for each in members if each.trace_id in wanted)
    return next((each for each in fitting if added_params(recipe, each.key) is not None), None)


def added_params(recipe: RecipeSettings, trace_key: str) -> Mapping[str, str] | None:
    """Return the params of a recipe that join its results, because the trace has them too; None where they differ.

    Others only choose devices. A recipe whose devices measure another value of a param measures another trace.
    """
    params = decode_key(trace_key)
    shared = {name: value for name, value in recipe.params.items() if name in params}
    return shared if all(params[name] == value for name, value in shared.items()) else None


def _chosen(
    instance: Instance, repository: Repository, change_id: int, recipe: str
) -> tuple[RecipeSettings, ChangePoint]:
    """Return the recipe that is named or fits alone, and the member that it measures."""
    recipes = instance.config.bisect
    if recipe and recipe not in recipes:
        raise InputError(
            f"there is no recipe {recipe!r}",
            where="[bisect]",
            remedy=f"Recipes of the configuration: {', '.join(sorted(recipes)) or 'none'}.",
        )
    live = instance.store.findings.live_members(change_id)
    members = bisectable_members(live)
    if not members:
        reason = "canaries or quarantined results moved, not code" if live else "later data no longer show it"
        raise InputError(f"change R{change_id} cannot be bisected: {reason}")
    if not recipe:
        fitting = fitting_recipes(instance, change_id)
        if len(fitting) != 1:
            raise InputError(
                f"{'several recipes measure' if fitting else 'no recipe measures'} change R{change_id}",
                where="[bisect]",
                remedy=f"Name one of {', '.join(fitting)}."
                if fitting
                else "Give one whose repository has a location and whose query selects its traces.",
            )
        recipe = fitting[0]
    settings = recipes[recipe]
    lead = member_for(instance, repository, settings, members)
    if lead is None:
        raise InputError(
            f"the recipe {recipe!r} measures no trace of change R{change_id}",
            where=f"[bisect.{recipe}]",
            remedy="Check its query, its params, its repository, and that the repository has a location.",
        )
    return settings, lead


def _searched_slots(instance: Instance, repository: Repository, change: Change, lead: ChangePoint) -> tuple[int, ...]:
    """Return the slots of the suspect range and of the interval around it, the good end first."""
    from knickpoint.watch.suspects.update import candidates_of

    store = instance.store
    line = store.commits.line(repository, change.suspect_range.line)
    found = candidates_of(line, change.suspect_range, store.runs.slots(repository), lead.interval)
    first = found[0].position - 1 if found else -1
    if first < 0:
        raise InputError(
            f"change R{change.id} cannot be bisected: its suspect range is too long, or no longer on its line",
            remedy="knick bisect GOOD..BAD searches any range.",
        )
    return tuple(int(slot) for slot in line.slots[first : found[-1].position + 1])


def _facts(
    instance: Instance, change_id: int, lead: ChangePoint, recipe: RecipeSettings, slots: tuple[int, ...]
) -> dict[str, object]:
    """Return the facts known before the first measurement, as JSON values.

    The levels of the history count only where the devices measure like the machines whose results the traces have.
    """
    facts: dict[str, object] = {
        "movement": movement_of(lead.numbers),
        "added_params": dict(added_params(recipe, lead.key) or {}),
    }
    if recipe.same_machine:
        facts |= {
            "before": list(known_levels(lead.numbers, after=False)),
            "after": list(known_levels(lead.numbers, after=True)),
        }
    suspects = instance.store.findings.suspects.get(change_id)
    if suspects is not None and suspects.suspects:
        shares = {each.slot: each.probability for each in suspects.suspects}
        facts["shares"] = [shares.get(slot, 0.0) for slot in slots[1:]]
    return facts


def movement_of(numbers: StepNumbers) -> int:
    """Return +1 where the values of a step rose, -1 where they fell, 0 where neither is known."""
    return 0 if not numbers.size else int(math.copysign(1, numbers.size))


def known_levels(numbers: StepNumbers, *, after: bool) -> tuple[float, float, int]:
    """Return the mean, the deviation and the count of the values on one side of a step.

    Count 0 where they say little.
    """
    region = numbers.after if after else numbers.before
    level = numbers.after_level if after else numbers.before_level
    count = region.count if region.count >= _LEAST_VALUES and math.isfinite(numbers.deviation + level) else 0
    return (level, numbers.deviation, count) if count else (0.0, 0.0, 0)


# What the store knows of a change in a range of commits that a person names, before anything is measured.


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
    """Whether the good end is not after the last commit before the change, and the bad end not before the change."""
    line = instance.store.commits.line(repository, point.suspect_range.line)
    ends = [instance.store.commits.find(repository, each) for each in (bisection.good, bisection.commits[-1])]
    positions = [line.positions.get(each.slot, -1) if each is not None else -1 for each in ends]
    interval = point.suspect_range.on(line)
    if interval is None or -1 in positions:
        return False
    return positions[0] <= interval.previous and interval.position <= positions[1]


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
