"""Check where alerts detect, as far as the types of the settings cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from knickpoint.instance.config.settings import RunnerChoice, WorkSettings
from knickpoint.model.errors import ConfigError

__all__ = ["check_work"]

_THIS_MACHINE: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def check_work(settings: WorkSettings, path: Path) -> None:
    """Check the section ``[work]`` of the file at ``path``.

    Raises:
        ConfigError: a setting is missing, cannot be used, or would send values and code in the clear to another machine.
    """
    where = f"{path}, [work]"
    if settings.processes < 0:
        raise ConfigError(
            f"processes is {settings.processes}", where=where, remedy="Give 1 or more, or 0 for one a core."
        )
    if settings.runner is not RunnerChoice.DASK:
        return
    address = _parsed(settings.scheduler, where)
    if address is None:
        raise ConfigError(
            f"scheduler is {settings.scheduler!r}",
            where=where,
            remedy='Give the address of the scheduler of Dask, as in "tls://dask.example.org:8786".',
        )
    scheme, host = address
    if scheme == "tcp" and host not in _THIS_MACHINE:
        raise ConfigError(
            f"the scheduler at {host} would take work from anybody",
            where=where,
            remedy="Start it with TLS, and use tls:// with certificate and authorities.",
        )
    for name in ("certificate", "authorities") if scheme == "tls" else ():
        if not getattr(settings, name):
            raise ConfigError(
                f"{name} is missing", where=where, remedy="tls:// needs certificate and authorities, files in PEM."
            )


def _parsed(scheduler: str, where: str) -> tuple[str, str] | None:
    """Return scheme and host of the address, None where it is no address of a scheduler."""
    try:
        parts = urlsplit(scheduler)
        usable = parts.scheme in {"tcp", "tls"} and parts.hostname and parts.port
    except ValueError as error:
        raise ConfigError(f"scheduler is {scheduler!r}: {error}", where=where, remedy="Correct the address.") from error
    return (parts.scheme, parts.hostname) if usable and parts.hostname else None
