"""Instances: a directory with ``knickpoint.toml``, the store it names, and the worker that keeps it going."""

from knickpoint.instance.config import (
    CONFIG_FILE,
    Config,
    NatsSettings,
    RetentionSettings,
    ServerSettings,
    StoreSettings,
    WorkerSettings,
    read_config,
)
from knickpoint.instance.events import forget_events
from knickpoint.instance.place import Instance, create_instance, find_instance, open_instance
from knickpoint.instance.retention import forget_values
from knickpoint.instance.worker import Worker

__all__ = [
    "CONFIG_FILE",
    "Config",
    "Instance",
    "NatsSettings",
    "RetentionSettings",
    "ServerSettings",
    "StoreSettings",
    "Worker",
    "WorkerSettings",
    "create_instance",
    "find_instance",
    "forget_events",
    "forget_values",
    "open_instance",
    "read_config",
]
