"""The configuration of an instance: what ``knickpoint.toml`` says, checked."""

from knickpoint.instance.config.settings import (
    CONFIG_FILE,
    CanarySettings,
    Config,
    DirectionChoice,
    DirectionSettings,
    HistorySettings,
    MissingSettings,
    NatsSettings,
    RetentionSettings,
    ServerSettings,
    StoreSettings,
    TicketSettings,
    WorkerSettings,
    read_config,
)

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
