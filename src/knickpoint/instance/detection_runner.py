"""Make the runner that the configuration names: where alerts of this instance detect."""

from __future__ import annotations

from pathlib import Path

from knickpoint.instance.config.settings import RunnerChoice, WorkSettings
from knickpoint.model.errors import ConfigError
from knickpoint.work import Dask, Encryption, Processes, Runner, Serial

__all__ = ["detection_runner"]


def detection_runner(settings: WorkSettings, directory: Path) -> Runner:
    """Return the runner of ``settings``; it starts processes and connects at its first use.

    Args:
        settings: the section ``[work]``.
        directory: the directory of the instance, from which paths of certificates count.

    Raises:
        ConfigError: a file of certificates is missing.
    """
    match settings.runner:
        case RunnerChoice.THREADS:
            return Serial()
        case RunnerChoice.PROCESSES:
            return Processes(settings.processes or None)
        case RunnerChoice.DASK:
            return Dask(settings.scheduler, encryption=_encryption(settings, directory))


def _encryption(settings: WorkSettings, directory: Path) -> Encryption | None:
    if not settings.authorities:
        return None
    return Encryption(
        certificate=_file(directory, "certificate", settings.certificate),
        private_key=_file(directory, "private_key", settings.private_key or settings.certificate),
        authorities=_file(directory, "authorities", settings.authorities),
    )


def _file(directory: Path, name: str, path: str) -> Path:
    found = directory / Path(path).expanduser()
    if not found.is_file():
        raise ConfigError(
            f"{name}: there is no file {found}", where="[work]", remedy="Correct the path, relative to the instance."
        )
    return found
