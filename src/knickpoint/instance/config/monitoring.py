"""The settings of what an instance says about itself: its log, and its metrics for Graphite."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from knickpoint.model.errors import ConfigError

__all__ = ["LogChoice", "MonitoringSettings", "check_monitoring", "graphite_address", "graphite_prefix"]

_PREFIX: Final = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]+")
_GREATEST_PORT: Final = 65_535


class LogChoice(Enum):
    """Say how the log is written."""

    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class MonitoringSettings:
    """Say how an instance reports about itself; ``[monitoring]``. Prometheus reads `/api/v1/metrics` without a setting.

    Attributes:
        log: `text` for people, or `json`: a line of JSON for each message and each request, with the id of the request.
        graphite: `host:port` of a Graphite server (plaintext protocol) to which each process sends its metrics.
        graphite_prefix: what the names of the metrics begin with there. `{host}` is the name of the machine, and `{process}` what the
            process runs, and its port, as in `api-8765`: so processes with one configuration do not write over each other.
        graphite_seconds: how often they are sent.
    """

    log: LogChoice = LogChoice.TEXT
    graphite: str = ""
    graphite_prefix: str = "knickpoint.{host}.{process}"
    graphite_seconds: float = 60.0


def graphite_address(settings: MonitoringSettings) -> tuple[str, int] | None:
    """Return host and port of the Graphite server, None where there is none or the setting is no address."""
    host, colon, port = settings.graphite.rpartition(":")
    if not (host and colon and port.isdecimal() and 0 < int(port[:6]) <= _GREATEST_PORT):
        return None
    return host.strip("[]"), int(port)


def graphite_prefix(settings: MonitoringSettings, host: str, process: str) -> str:
    """Return the prefix of the process ``process`` of the machine ``host``; what divides names in Graphite becomes a dash."""
    return _filled(settings.graphite_prefix, _UNFIT.sub("-", host), _UNFIT.sub("-", process))


def _filled(prefix: str, host: str, process: str) -> str:
    return prefix.replace("{host}", host).replace("{process}", process)


def check_monitoring(settings: MonitoringSettings, path: Path) -> None:
    """Check the section ``[monitoring]`` of the file at ``path``.

    Raises:
        ConfigError: a setting cannot be used.
    """
    where = f"{path}, [monitoring]"
    if settings.graphite and graphite_address(settings) is None:
        raise ConfigError(
            f"graphite is {settings.graphite!r}",
            where=where,
            remedy='Write host:port, as in "graphite.example.org:2003".',
        )
    if not _PREFIX.fullmatch(_filled(settings.graphite_prefix, "host", "process")):
        raise ConfigError(
            f"graphite_prefix is {settings.graphite_prefix!r}",
            where=where,
            remedy="Use letters, digits, _ and -, with dots between, and {host} and {process} in it.",
        )
    if settings.graphite_seconds < 1:
        raise ConfigError(
            f"graphite_seconds is {settings.graphite_seconds:g}", where=where, remedy="Give 1 or more seconds."
        )
