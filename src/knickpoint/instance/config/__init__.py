"""The configuration of an instance: the settings of ``knickpoint.toml``, and how they are read and checked."""

from knickpoint.instance.config.reader import CONFIG_FILE, read_config
from knickpoint.instance.config.settings import (
    CanarySettings,
    CheckSettings,
    Config,
    DirectionChoice,
    DirectionSettings,
    FindingSettings,
    HistorySettings,
    HookSettings,
    LimitSettings,
    MissingSettings,
    NatsSettings,
    QuarantineSettings,
    RetentionSettings,
    ServerSettings,
    StoreSettings,
    TicketSettings,
    WorkerSettings,
)

__all__ = [
    "CONFIG_FILE",
    "CanarySettings",
    "CheckSettings",
    "Config",
    "DirectionChoice",
    "DirectionSettings",
    "FindingSettings",
    "HistorySettings",
    "HookSettings",
    "LimitSettings",
    "MissingSettings",
    "NatsSettings",
    "QuarantineSettings",
    "RetentionSettings",
    "ServerSettings",
    "StoreSettings",
    "TicketSettings",
    "WorkerSettings",
    "read_config",
]
