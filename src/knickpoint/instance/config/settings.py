"""The configuration of an instance: what ``knickpoint.toml`` says, checked."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final

from knickpoint.ingest.settings import IngestSettings, RepositorySettings
from knickpoint.instance.config.toml_tables import read_section
from knickpoint.model.alert import Alert
from knickpoint.model.direction import DirectionRule
from knickpoint.model.errors import ConfigError, QueryError
from knickpoint.model.query import parse_query
from knickpoint.model.unit import Better

__all__ = [
    "CONFIG_FILE",
    "CanarySettings",
    "Config",
    "DirectionChoice",
    "DirectionSettings",
    "HistorySettings",
    "MissingSettings",
    "NatsSettings",
    "RetentionSettings",
    "ServerSettings",
    "StoreSettings",
    "TicketSettings",
    "WorkerSettings",
    "read_config",
]

CONFIG_FILE: Final = "knickpoint.toml"


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Say where values and findings are kept; ``[store]``.

    Attributes:
        location: path of an SQLite file, relative to the instance, or `postgresql://…`.
    """

    location: str = "knickpoint.db"


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Say where the dashboard and the API are served; ``[server]``.

    Attributes:
        host: address to listen at.
        port: port to listen at.
        names: names under which people reach the server, beside addresses and localhost.
        upload_token: secret that an upload of results must show, as in `${KNICKPOINT_UPLOAD_TOKEN}`; without
            it, nothing can be uploaded.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    names: tuple[str, ...] = ()
    upload_token: str = ""


@dataclass(frozen=True, slots=True)
class NatsSettings:
    """Say where events are passed on and files are announced; ``[nats]``.

    Attributes:
        url: address of a NATS server with JetStream, as in `nats://user:${NATS_PASSWORD}@host:4222`; several with
            commas between them. Without it, NATS is not used.
        stream: name of the stream. Without it, the instance has one of its own, `knickpoint-NAME`.
        credentials: path of a file of credentials (`.creds`) or of the seed of an nkey, relative to the instance.
        authorities: path of a file of certificates (PEM), relative to the instance, that the server's is signed by.
            Without it, those of the system are trusted.
        publish: whether events are passed on.
        files: whether files that are announced are taken in.
    """

    url: str = ""
    stream: str = ""
    credentials: str = ""
    authorities: str = ""
    publish: bool = True
    files: bool = True


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Say how the worker goes about its work; ``[worker]``.

    Attributes:
        poll_seconds: how long to rest when there is nothing to do.
        lease_seconds: how long a worker has for one event before another may take it.
        every_seconds: how often to run all alerts over everything, without any event.
        history_seconds: how often to look for new commits, and to try again what waits for them.
        seal_seconds: how often to pack values that no longer change.
        event_days: how long an event that nobody took is kept.
        most_events: how many events of a kind are kept; then the oldest is forgotten.
    """

    poll_seconds: float = 1.0
    lease_seconds: float = 300.0
    every_seconds: float = 3600.0
    history_seconds: float = 300.0
    seal_seconds: float = 60.0
    event_days: float = 7.0
    most_events: int = 100_000


@dataclass(frozen=True, slots=True)
class HistorySettings:
    """Say what becomes of what the first run over a repository finds; ``[history]``.

    Attributes:
        as_work: whether it is work as well. Without it, what lies at or before the newest commit that the repository
            then has is history: listed, and never announced. It counts for repositories that come from now on.
    """

    as_work: bool = False


@dataclass(frozen=True, slots=True)
class RetentionSettings:
    """Say what of old results is forgotten, in each repository; ``[retention]``.

    The evidence of findings that somebody decided about is kept in any case, and so are results of branches.

    Attributes:
        samples_commits: on how many of the newest commits of the default line single samples are kept; older
            points keep their median. 0 keeps all.
        values_commits: on how many of them values are kept at all. 0 keeps all.
        every_hours: how often the worker applies the rule.
    """

    samples_commits: int = 0
    values_commits: int = 0
    every_hours: float = 24.0


@dataclass(frozen=True, slots=True)
class CanarySettings:
    """Name benchmarks that no commit should change: when they move, the machines moved; ``[canaries.NAME]``.

    Attributes:
        name: unique in the instance.
        query: which traces; text of a query.
        repository: name, "" for every repository.
    """

    name: str
    query: str
    repository: str = ""


class DirectionChoice(Enum):
    """Say which direction of a value is better, or that neither is."""

    LOWER = "lower"
    HIGHER = "higher"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class DirectionSettings:
    """Say which direction is better for some traces, whatever files and units say; ``[directions.NAME]``.

    It holds for traces that exist as well as for new ones. Of several sections that match a trace, the last one in the
    file counts.

    Attributes:
        query: which traces; text of a query.
        better: `lower`, `higher`, or `none` where neither is.
        repository: name, "" for every repository.
    """

    query: str
    better: DirectionChoice
    repository: str = ""

    @property
    def rule(self) -> DirectionRule:
        """What the section says, with its query read."""
        better = {DirectionChoice.LOWER: Better.LOWER, DirectionChoice.HIGHER: Better.HIGHER}
        return DirectionRule(parse_query(self.query), better.get(self.better, Better.UNKNOWN), self.repository)


@dataclass(frozen=True, slots=True)
class MissingSettings:
    """Say which benchmarks are missed when they stop; ``[missing]``.

    Attributes:
        watch: whether anybody is told.
        query: which traces; "" is every trace.
    """

    watch: bool = True
    query: str = ""


@dataclass(frozen=True, slots=True)
class TicketSettings:
    """Say where tickets of an issue tracker come from; ``[tickets]``.

    Attributes:
        file: path of a CSV or JSON file, relative to the instance, that a script of yours keeps up to date. It is
            the whole list: tickets that are not in it are forgotten.
        every_seconds: how often the worker reads it.
    """

    file: str = ""
    every_seconds: float = 3600.0


@dataclass(frozen=True, slots=True)
class Config:
    """Everything that ``knickpoint.toml`` can say.

    Attributes:
        name: what the instance is called on its pages and in its messages.
        store: where values and findings are kept.
        repositories: the repositories by name.
        ingest: how results are taken in.
        alerts: what to watch, by name. Without any, one alert watches every trace for both directions.
        directions: which direction of some traces is better, by name of the section.
        canaries: benchmarks that no commit should change, by name.
        missing: which benchmarks are missed when they stop.
        tickets: where tickets of an issue tracker come from.
        server: where the dashboard is served.
        worker: how the worker goes about its work.
        nats: where events are passed on and files are announced.
        retention: what of old results is forgotten.
        history: what becomes of what the first run over a repository finds.
    """

    name: str = "Knickpoint"
    store: StoreSettings = field(default_factory=StoreSettings)
    repositories: Mapping[str, RepositorySettings] = field(default_factory=dict)
    ingest: IngestSettings = field(default_factory=IngestSettings)
    alerts: Mapping[str, Alert] = field(default_factory=dict)
    directions: Mapping[str, DirectionSettings] = field(default_factory=dict)
    canaries: Mapping[str, CanarySettings] = field(default_factory=dict)
    missing: MissingSettings = field(default_factory=MissingSettings)
    tickets: TicketSettings = field(default_factory=TicketSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    worker: WorkerSettings = field(default_factory=WorkerSettings)
    nats: NatsSettings = field(default_factory=NatsSettings)
    retention: RetentionSettings = field(default_factory=RetentionSettings)
    history: HistorySettings = field(default_factory=HistorySettings)


def read_config(path: Path) -> Config:
    """Read and check the configuration file at ``path``.

    Raises:
        ConfigError: it cannot be read, is not TOML, or says something that nobody would read.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"cannot be read: {error.strerror}", where=str(path), remedy="Make the file readable for you."
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"byte {error.start} is not UTF-8", where=str(path), remedy="Save the file as UTF-8."
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"is not TOML: {error}", where=str(path), remedy="Correct it there.") from error
    config = read_section(Config, table, file=str(path))
    _check_numbers(config, path)
    asked = {
        **{f"directions.{name}": settings.query for name, settings in config.directions.items()},
        **{f"canaries.{name}": settings.query for name, settings in config.canaries.items()},
        "missing": config.missing.query,
    }
    for section, query in asked.items():
        try:
            parse_query(query)
        except QueryError as error:
            where = f"{path}, [{section}]"
            raise ConfigError(f"the query cannot be read: {error.message}", where=where, remedy=error.remedy) from error
    return config


def _check_numbers(config: Config, path: Path) -> None:
    """Refuse times and counts with which the worker could do nothing, or nothing but one thing."""
    bounded: dict[str, dict[str, float]] = {
        "worker": {name: value for name, value in asdict(config.worker).items() if name != "lease_seconds"},
        "tickets": {"every_seconds": config.tickets.every_seconds},
        "retention": {"every_hours": config.retention.every_hours},
        **{
            f"ingest.sources.{name}": {"every_seconds": own.every_seconds}
            for name, own in config.ingest.sources.items()
        },
    }
    for section, settings in bounded.items():
        for name, value in settings.items():
            if not value > 0:
                where = f"{path}, [{section}]"
                raise ConfigError(f"{name} is {value:g}", where=where, remedy="Give a number greater than 0.")
    for name, value in asdict(config.retention).items():
        if not value >= 0:
            where = f"{path}, [retention]"
            raise ConfigError(f"{name} is {value:g}", where=where, remedy="Give 0, which keeps all, or more.")
    lease = config.worker.lease_seconds
    if not lease >= 0:
        raise ConfigError(f"lease_seconds is {lease:g}", where=f"{path}, [worker]", remedy="Give 0 or more.")
