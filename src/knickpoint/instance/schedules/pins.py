"""Choose the commits of the other repositories that take part in the probes of a schedule."""

from __future__ import annotations

from knickpoint.bisect.settings import RecipeSettings
from knickpoint.instance.instance import Instance
from knickpoint.instance.schedules.scheduled_line import repository_of
from knickpoint.model.errors import ConfigError
from knickpoint.store.schedules import ScheduledProbeState

__all__ = ["pins_for"]


def pins_for(instance: Instance, recipe: RecipeSettings) -> tuple[tuple[str, str], ...]:
    """Return (repository, hash) for the other repositories of a recipe, sorted by repository.

    The hash is that of the newest commit that a schedule of that repository chose and that can be measured, so that the rule of
    that schedule says when it moves. Without such a schedule, it is the tip of the default line.

    Raises:
        ConfigError: one of the repositories has no commits.
    """
    return tuple((name, _pin(instance, name)) for name in sorted(recipe.also))


def _pin(instance: Instance, name: str) -> str:
    store = instance.store
    repository = next((each for each in store.commits.repositories() if each.name == name), None)
    line = store.commits.line(repository) if repository else None
    if repository is None or line is None or not line.slots:
        raise ConfigError(
            f"the repository {name!r} has no commits yet",
            where="also",
            remedy=f"Give [repositories.{name}] a location.",
        )
    chosen = [
        probe
        for schedule, settings in instance.config.schedule.items()
        if repository_of(instance, instance.config.bisect[settings.recipe], schedule) == name
        for probe in store.schedules.of_schedule(repository, schedule)
        if probe.state not in {ScheduledProbeState.SKIPPED, ScheduledProbeState.FAILED}
    ]
    hashes = {probe.choice.commit for probe in chosen}
    # The newest on the line counts, and not the one that was chosen last: filling a range goes back.
    for slot in reversed(line.slots if hashes else ()):
        commit = store.commits.get(repository, [slot])[0].commit.hash
        if commit in hashes:
            return commit
    return store.commits.get(repository, [line.slots[-1]])[0].commit.hash
