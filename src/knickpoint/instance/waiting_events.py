"""Count the events that an instance still has to process."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from knickpoint.instance.instance import Instance
from knickpoint.instance.relay.session import CONSUMER
from knickpoint.model.service_part import ServicePart
from knickpoint.store import EventKind
from knickpoint.store.events.outbox import MAIN, EventCount

_LOST_AFTER: Final = timedelta(minutes=10)


def waiting_events(instance: Instance) -> list[EventCount]:
    """Count the events that wait for a worker or for NATS, by consumer and kind.

    Events about findings are for NATS, and for programs that read the outbox through the library: the copies of the
    latter stay, and nothing waits for them.

    Raises:
        StoreError: the store cannot be read.
    """
    pending = instance.store.outbox.pending(after=_covered(instance))
    waiting = [each for each in pending if each.consumer == MAIN and each.kind is EventKind.TRACES_CHANGED]
    if instance.config.nats.url:
        waiting += [each for each in instance.store.outbox.pending() if each.consumer == CONSUMER]
    return waiting


def oldest_waiting_results(instance: Instance) -> datetime | None:
    """Return since when results have waited for the alerts, None where none wait.

    Raises:
        StoreError: the store cannot be read.
    """
    return instance.store.outbox.oldest(MAIN, [EventKind.TRACES_CHANGED], after=_covered(instance))


def abandoned_since(instance: Instance, now: datetime) -> datetime | None:
    """Return since when results have waited for more than ten minutes while no worker runs alerts.

    None where that is not so.

    Raises:
        StoreError: the store cannot be read.
    """
    since = now - _LOST_AFTER
    if any(ServicePart.WORKER in each.parts and each.seen >= since for each in instance.store.workers.all()):
        return None
    oldest = oldest_waiting_results(instance)
    return oldest if oldest is not None and oldest < since else None


def _covered(instance: Instance) -> datetime | None:
    """Return until when results were judged without their events; None where a worker takes the events.

    Without a worker, the last complete run covered the traces of all events before it.
    """
    store = instance.store
    if store.workers.all():
        return None
    runs = [
        run for alert in instance.alerts for run in store.findings.alert_runs.runs(alert.name, last=1, complete=True)
    ]
    return max((run.started for run in runs), default=None)
