"""An instance: a directory with ``knickpoint.toml``, the store that it names, and the worker that keeps it going.

``config`` reads the file, ``instance`` opens the instance, ``worker`` runs its tasks, ``relay`` connects it to NATS.
"""

from knickpoint.instance.alert_round import acknowledge_accepted
from knickpoint.instance.config import (
    CONFIG_FILE,
    CanarySettings,
    Config,
    DirectionChoice,
    DirectionSettings,
    MissingSettings,
    NatsSettings,
    RetentionSettings,
    ServerSettings,
    StoreSettings,
    TicketSettings,
    WorkerSettings,
    read_config,
)
from knickpoint.instance.instance import (
    Instance,
    create_instance,
    find_instance,
    make_configured_store,
    open_instance,
)
from knickpoint.instance.notices import Notice, NoticeKind, find_notices
from knickpoint.instance.quarantine import canary_health, quarantine_rule, quarantine_suspect_results
from knickpoint.instance.retention import forget_audit_entries, forget_events, forget_values
from knickpoint.instance.suspects import rank_new_suspects
from knickpoint.instance.worker import Worker

__all__ = [
    "CONFIG_FILE",
    "CanarySettings",
    "Config",
    "DirectionChoice",
    "DirectionSettings",
    "Instance",
    "MissingSettings",
    "NatsSettings",
    "Notice",
    "NoticeKind",
    "RetentionSettings",
    "ServerSettings",
    "StoreSettings",
    "TicketSettings",
    "Worker",
    "WorkerSettings",
    "acknowledge_accepted",
    "canary_health",
    "create_instance",
    "find_instance",
    "find_notices",
    "forget_audit_entries",
    "forget_events",
    "forget_values",
    "make_configured_store",
    "open_instance",
    "quarantine_rule",
    "quarantine_suspect_results",
    "rank_new_suspects",
    "read_config",
]
