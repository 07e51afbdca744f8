"""Check the recipes of ``[bisect.NAME]``, as far as their types cannot."""

from __future__ import annotations

from pathlib import Path

from knickpoint.bisect.recipe_checks import check_recipe
from knickpoint.instance.config.settings import Config
from knickpoint.model.errors import ConfigError, FormatError, QueryError
from knickpoint.model.query import parse_query

__all__ = ["check_recipes"]


def check_recipes(config: Config, path: Path) -> None:
    """Check what ``config``, read from the file at ``path``, says about building and measuring commits.

    Raises:
        ConfigError: a setting is missing or cannot be used.
    """
    for name, recipe in config.bisect.items():
        where = f"{path}, [bisect.{name}]"
        check_recipe(recipe, where)
        try:
            parse_query(recipe.query)
            if recipe.format:
                from knickpoint.formats import find_format

                find_format(recipe.format)
        except (QueryError, FormatError) as error:
            raise ConfigError(error.message, where=where, remedy=error.remedy) from error
        for repository in (recipe.repository, *recipe.also):
            if repository and repository not in config.repositories:
                raise ConfigError(
                    f"it names the repository {repository!r}, and there is no section [repositories.{repository}]",
                    where=where,
                    remedy="Correct the name, or add the section.",
                )
