"""Open the pool of devices that the configuration asks for: this machine, or those that lend themselves."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.bisect.settings import RecipeSettings
from knickpoint.history import is_url
from knickpoint.instance.instance import Instance
from knickpoint.model.errors import ConfigError

if TYPE_CHECKING:
    from knickpoint.bisect.device_pool import DevicePool

__all__ = ["WORKSPACE", "absolute_recipe", "git_location", "open_probe_pool"]

_LOG: Final = logging.getLogger("knickpoint.instance")
WORKSPACE: Final = "probes"
"""The directory below the instance in which this machine makes probes."""


def open_probe_pool(instance: Instance, progress: Callable[[str, str], None] | None = None) -> DevicePool:
    """Open the pool of ``[pool]``; ``progress`` hears of each probe of this machine its id and a line. Close it at the end.

    Raises:
        ConfigError: its address or its credentials cannot be used.
        ServiceError: Dask is not installed, or the scheduler does not answer.
    """
    from knickpoint.bisect.pool import open_pool
    from knickpoint.bisect.runner import Workspace

    settings = instance.config.pool
    workspace = Workspace(instance.directory / WORKSPACE, settings.space_megabytes)
    return open_pool(
        settings,
        instance.directory,
        workspace,
        devices=instance.config.devices,
        progress=progress,
        announce=_LOG.warning,
    )


def git_location(instance: Instance, repository: str) -> str:
    """Return where devices find a repository: its URL, or its absolute path. Raises ``ConfigError`` where it has none."""
    settings = instance.repositories.get(repository)
    if settings is None or not settings.location:
        raise ConfigError(
            "it has no git repository",
            where=f"[repositories.{repository}]",
            remedy="Give its location: a path or a URL.",
        )
    if is_url(settings.location):
        return settings.location
    return str((instance.directory / Path(settings.location).expanduser()).resolve())


def absolute_recipe(instance: Instance, recipe: RecipeSettings) -> RecipeSettings:
    """Return a recipe whose directory of finished artefacts does not depend on where it is read."""
    if not recipe.prebuilt or "://" in recipe.prebuilt:
        return recipe
    return replace(recipe, prebuilt=str(instance.directory.absolute() / Path(recipe.prebuilt).expanduser()))
