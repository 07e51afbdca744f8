"""An instance: a directory with ``knickpoint.toml``, the store that it names, and the worker that keeps it going.

This place puts the rooms below it together by configuration: imports, alerts, notifications, bisections, schedules.
Detection, triage and delivery themselves are in ``watch``, ``notify`` and ``bisect``. The command line, the server and
published pages work on an open ``Instance``.

Entry points:

- ``create_instance``, ``find_instance``, ``open_instance``: make, find and open one. ``read_config`` reads its file.
- ``Worker``: ``run`` works until it is stopped, ``once`` does one round.
- ``alert_round.run_alert_round``: run the alerts once, with what belongs before and after them.
- ``bisections`` and ``schedules``: ask for a bisection, run one; see what a schedule measures.
- ``alert_definition.set_alert`` and ``remove_alert``: change the alerts that people made.
- ``find_notices``, ``quarantine_suspect_results``, ``rank_new_suspects``, ``forget_values``: single pieces of the work.
- ``notifications.Notifications``, ``trackers``, ``relay.Relay``: messages, tickets, NATS.
- ``backup``, ``move_in`` and ``history_branch``: copy an instance, take in another tool's history, share it by a
  branch.

What callers can rely on:

- In: a directory. Out: an ``Instance`` whose configuration was read and checked as a whole. An unknown key or a wrong
  type is an error that names file, section and key.
- An open instance keeps the configuration that it was opened with. A changed file counts from the next opening, and the
  audit log then names the sections that changed, never their values.
- Any number of processes may share an instance; each piece of work is done by one of them. ``knick worker`` and
  ``knick serve`` refuse an embedded store that a worker of another machine uses (``worker.heartbeat``).
- Commands that probes run come from the configuration alone. Requests and alert files can only name what it allows.
- A backup contains no secret.

The stages of a worker's round, in order (``worker.worker``); results that a round imports are judged in the same round:

1. ``worker``: import from the sources, and follow the repositories, which places results that wait for their commit.
   Files are read in separate processes (``separate_import``), which can be ended when one takes too long.
2. ``alert_definition``: read the alerts that repositories define. ``alert_sources`` says which alerts run.
3. ``quarantine``: hold back results of machines that moved, and call the hooks that ask for another run.
4. ``worker.alert_runs``: claim events under a lease, run the alerts over their traces, then the alerts that are due
   over all traces; acknowledge what a commit accepts (``alert_round``).
5. ``alert_round``: rank the commits of new and updated changes.
6. ``trackers``: import tickets and sync trackers.
7. ``notices``: announce what is not a finding, such as benchmarks that stopped.
8. ``store.seal()``, then ``alert_round``: delete what the rules no longer keep.

Beside the rounds, in threads of their own (``worker.side_work``): ``bisections``, ``schedules`` and ``notifications``.
``relay`` publishes events on NATS and imports the files that are announced there. ``worker.task_runner`` runs each
task, and tries a failed one again after a growing pause; ``worker.heartbeat`` reports the state of the worker in the
store.

Invariants between the stages:

- Quarantine comes before alerts, so withheld values never become findings of that round.
- An event is done only after its findings are written. A worker that dies loses its lease, and another one repeats the
  work; running alerts twice over the same traces changes nothing.
- A failing task never stops the others. Where a newer version has migrated the store, no task runs.
- What a bisection or schedule begins is in the store before a device starts, under a lease, so that any worker goes on.

Where to begin:

- A new setting: its dataclass in ``config/settings.py`` (the docstring is the reference page), and what its type cannot
  say in ``config/checks.py``.
- A new task of the worker: a function in a module here, and its line in ``Worker._worker_tasks``, at its place in the
  order.
- A new kind of notice: ``NoticeKind`` and ``find_notices`` in ``notices.py``.
"""

from knickpoint.instance.alert_round import (
    acknowledge_accepted,
    forget_audit_entries,
    forget_events,
    forget_values,
    rank_new_suspects,
)
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
