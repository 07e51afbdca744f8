"""Check the settings of schedules, as far as their types cannot."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from knickpoint.bisect.settings import RecipeSettings, ScheduleSettings
from knickpoint.instance.config.settings import Config
from knickpoint.model.errors import ConfigError

__all__ = ["check_schedules"]


def check_schedules(config: Config, path: Path) -> None:
    """Check the schedules of ``config``, read from the file at ``path``, and the repositories that their recipes name.

    Raises:
        ConfigError: a setting is missing or cannot be used.
    """
    for schedule in config.schedule.values():
        where = f"{path}, [schedule.{schedule.name}]"
        recipe = config.bisect.get(schedule.recipe)
        if recipe is None:
            known = f" There are: {', '.join(config.bisect)}." if config.bisect else ""
            raise ConfigError(
                f"there is no recipe {schedule.recipe!r}",
                where=where,
                remedy=f"Add [bisect.{schedule.recipe}], or correct recipe.{known}",
            )
        _check_numbers(schedule, where)
        _check_recipe(config, recipe, f"{path}, [bisect.{recipe.name}]")


def _check_numbers(schedule: ScheduleSettings, where: str) -> None:
    for name, value, wanted, fits in (
        ("commits", schedule.commits, "1 or more", schedule.commits >= 1),
        ("minutes", schedule.minutes, "more than 0", schedule.minutes > 0),
        ("fill_hours", schedule.fill_hours, "0 or more", schedule.fill_hours >= 0),
    ):
        if not fits:
            raise ConfigError(f"{name} is {value:g}", where=where, remedy=f"Give {wanted}.")


def _check_recipe(config: Config, recipe: RecipeSettings, where: str) -> None:
    if not recipe.measure or not recipe.results:
        raise ConfigError(
            "a schedule needs results, and the recipe has no measure command or no results",
            where=where,
            remedy='Give measure, as in ["make", "bench"], and results, as in ["build/*.json"].',
        )
    located = [name for name, settings in config.repositories.items() if settings.location]
    if recipe.repository not in located and (recipe.repository or len(located) != 1):
        raise ConfigError(
            f"repository is {recipe.repository!r}",
            where=where,
            remedy=f"Name a repository with a location: {', '.join(located) or 'none has one'}.",
        )
    for name, folder in recipe.also.items():
        if name not in located:
            raise ConfigError(
                f"also names the repository {name!r}, which has no location",
                where=where,
                remedy=f"Add it as [repositories.{name}], or correct the name.",
            )
        parts = PurePosixPath(folder)
        if not folder or parts.is_absolute() or ".." in parts.parts or not parts.parts:
            raise ConfigError(
                f"also puts {name!r} into {folder!r}, outside the worktree",
                where=where,
                remedy="Name a directory below the worktree, as in third_party/lib.",
            )
