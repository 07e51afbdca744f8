"""Check a recipe, from the configuration or the command line, as far as its types cannot."""

from __future__ import annotations

import math
import re
from typing import Final

from knickpoint.bisect.settings import RecipeSettings
from knickpoint.model.errors import ConfigError

__all__ = ["check_recipe"]

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST_REPEATS: Final = 10_000
_LARGEST: Final = 10.0
"""The largest change to look for, relative to the level before it."""


def check_recipe(recipe: RecipeSettings, where: str) -> None:
    """Refuse a recipe that measures nothing, or whose numbers, paths or variables cannot be used.

    Raises:
        ConfigError: the message names the setting.
    """
    if not recipe.measure:
        raise ConfigError(
            "'measure' is missing",
            where=where,
            remedy='Add the command that measures, as in measure = ["make", "bench"].',
        )
    for name, command in (("prepare", recipe.prepare), ("build", recipe.build), ("measure", recipe.measure)):
        if command and (not command[0] or any("\0" in part for part in command)):
            raise ConfigError(f"{name} is no command", where=where, remedy="Give a program and its arguments.")
    if recipe.find and not recipe.results:
        raise ConfigError(
            "find needs values, and probes that pass or fail have no size",
            where=where,
            remedy="Name the files that the command writes, with results or --results.",
        )
    _check_numbers(recipe, where)
    _check_paths(recipe, where)
    for name, value in recipe.environment.items():
        if not _VARIABLE.fullmatch(name) or "\0" in value:
            raise ConfigError(
                f"environment has {name!r}, which is no variable", where=where, remedy="Use letters, digits and _."
            )


def _check_numbers(recipe: RecipeSettings, where: str) -> None:
    seconds = {
        "prepare_seconds": recipe.prepare_seconds,
        "build_seconds": recipe.build_seconds,
        "measure_seconds": recipe.measure_seconds,
    }
    for name, value, wanted, fits in (
        *((name, value, "more than 0", value > 0) for name, value in seconds.items()),
        ("probability", recipe.probability, "more than 0.5, less than 1", 0.5 < recipe.probability < 1),
        ("find", recipe.find, "a share: 0.05 is 5 %, and 0 leaves the size open", 0 <= recipe.find <= _LARGEST),
        ("repeats", recipe.repeats, f"1 to {_MOST_REPEATS:,}", 1 <= recipe.repeats <= _MOST_REPEATS),
        (
            "most_probes",
            recipe.most_probes,
            "0, which follows the length of the range, or more",
            recipe.most_probes >= 0,
        ),
        ("most_minutes", recipe.most_minutes, "0, which is no limit, or more", recipe.most_minutes >= 0),
        ("minimum_effect", recipe.minimum_effect, "0, which is never, or more", recipe.minimum_effect >= 0),
        ("budget_hours", recipe.budget_hours, "0 or more", recipe.budget_hours >= 0),
    ):
        if not fits or not math.isfinite(value):
            raise ConfigError(f"{name} is {value:g}", where=where, remedy=f"Give {wanted}.")


def _check_paths(recipe: RecipeSettings, where: str) -> None:
    places = [("results", path) for path in recipe.results]
    places += [("artefact", path) for path in recipe.artefact]
    places += [(f"also, {name!r},", path) for name, path in recipe.also.items()]
    for name, path in places:
        parts = path.split("/")
        if not path or parts[0] == "" or ".." in parts or "\0" in path:
            raise ConfigError(
                f"{name} is {path!r}",
                where=where,
                remedy="Give a path below the worktree, relative and without .., as in build/*.json.",
            )
