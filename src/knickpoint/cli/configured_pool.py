"""Find the pool that the configuration of an instance describes."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from knickpoint.model.errors import ConfigError

if TYPE_CHECKING:
    from knickpoint.instance import Config


def require_cluster() -> None:
    """Refuse to go on without the package of pools over machines, before anything is asked of the configuration.

    Raises:
        ModuleNotFoundError: it is not installed.
    """
    if find_spec("distributed") is None:
        raise ModuleNotFoundError("No module named 'distributed'", name="distributed")


def configured_pool(instance: str | None) -> tuple[Config, Path]:
    """Return the configuration of an instance with a pool over machines, and the directory that its paths start from.

    Raises:
        ConfigError: there is no instance, or its section ``[pool]`` has no address.
        ModuleNotFoundError: the package of pools is not installed.
    """
    from knickpoint.instance import CONFIG_FILE, find_instance, read_config

    require_cluster()
    directory = find_instance(instance)
    config = read_config(directory / CONFIG_FILE)
    if not config.pool.address:
        raise ConfigError(
            "the instance has no pool over machines",
            where=f"{directory / CONFIG_FILE}, [pool]",
            remedy='Set address = "tls://HOST:8786" and secret there; see docs/guide/devices.md.',
        )
    return config, directory
