"""Find the pool that the configuration of an instance describes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from knickpoint.model.errors import ConfigError

if TYPE_CHECKING:
    from knickpoint.instance import Config

__all__ = ["configured_pool"]


def configured_pool(instance: str | None) -> tuple[Config, Path]:
    """Return the configuration of an instance with a pool over machines, and the directory that its files are relative to.

    Raises:
        ConfigError: there is no instance, or its section ``[pool]`` has no address.
    """
    from knickpoint.instance import CONFIG_FILE, find_instance, read_config

    directory = find_instance(instance)
    config = read_config(directory / CONFIG_FILE)
    if not config.pool.address:
        raise ConfigError(
            "the instance has no pool over machines",
            where=f"{directory / CONFIG_FILE}, [pool]",
            remedy='Set address = "tls://HOST:8786" and secret there; see docs/guide/devices.md.',
        )
    return config, directory
