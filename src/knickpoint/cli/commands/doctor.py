"""``knick doctor``: the health of an instance, its data and its alerts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, counted, format_option, show

if TYPE_CHECKING:
    from knickpoint.cli.output import Row
    from knickpoint.instance import Instance
    from knickpoint.store import EventCount

__all__ = ["command"]

_UNHEALTHY: Final = 1
_MOST_NOTICES: Final = 5
_RELAY: Final = "nats"
_WORKER_PATIENCE: Final = timedelta(minutes=10)
_RELAY_PATIENCE: Final = timedelta(minutes=10)

_COLUMNS = (Column("state"), Column("about"), Column("observed"), Column("remedy"))


def _row(about: str, observed: str, remedy: str = "", *, state: str = "") -> Row:
    return {"state": state or ("warning" if remedy else "good"), "about": about, "observed": observed, "remedy": remedy}


def _data(instance: Instance) -> Iterator[Row]:
    store = instance.store
    yield _row("store", f"open at {store.location}")
    repositories = store.commits.repositories()
    if not repositories:
        yield _row("data", "nothing has been imported", "Import results: knick import PATH.")
    for repository in repositories:
        line = store.commits.line(repository)
        traces = store.traces.count(repository)
        yield _row(
            f"repository {repository.name}", f"{traces:,} traces over {len(line.slots):,} commits of {line.name!r}"
        )


def _directions(instance: Instance) -> Iterator[Row]:
    """Say which traces have no direction; that may be as it should be, and is no warning."""
    from knickpoint.ingest.import_summary import remark_on_directions
    from knickpoint.model.query import Query

    traces = instance.store.traces
    for repository in instance.store.commits.repositories():
        ids = traces.select(repository, Query())
        units = Counter(trace.unit for trace in traces.without_direction(ids))
        if units:
            yield _row(f"directions in {repository.name}", remark_on_directions(units))


def _arrivals(instance: Instance) -> Iterator[Row]:
    from knickpoint.ingest import ingest_status

    status = ingest_status(instance, recent=0)
    if status.waiting:
        yield _row(
            "ingest",
            f"{len(status.waiting):,} files wait for commits that their repository does not have",
            "Bring the repository up to date, then knick ingest retry; see knick ingest status.",
        )
    if status.refused:
        yield _row("ingest", f"{len(status.refused):,} files were refused", "See knick ingest quarantine.")
    if not (status.waiting or status.refused):
        yield _row("ingest", "nothing waits, nothing was refused")


def _awaited(instance: Instance) -> list[EventCount]:
    """Count the events that a worker or NATS takes, by consumer and kind.

    Announcements of findings are there for programs that take them through the library, and for NATS. Where no worker is
    at work, a run over everything does what the traces that changed before it ask for.
    """
    from knickpoint.store import EventKind
    from knickpoint.store.events.outbox import MAIN

    store = instance.store
    runs = [run for alert in instance.alerts for run in store.findings.alerts.runs(alert.name, last=1, complete=True)]
    after = None if store.workers.all() else max((run.started for run in runs), default=None)
    pending = store.outbox.pending(after=after)
    awaited = [each for each in pending if each.consumer == MAIN and each.kind is EventKind.TRACES_CHANGED]
    if instance.config.nats.url:
        awaited += [each for each in store.outbox.pending() if each.consumer == _RELAY]
    return awaited


def _events(instance: Instance) -> Iterator[Row]:
    outbox = instance.store.outbox
    awaited = _awaited(instance)
    if awaited:
        listed = ", ".join(f"{each.count:,} {each.kind.value} for {each.consumer}" for each in awaited)
        yield _row("events", f"waiting: {listed}")
    behind = outbox.oldest(_RELAY) if instance.config.nats.url else None
    if behind is not None and datetime.now(UTC) - behind > _RELAY_PATIENCE:
        yield _row(
            "events",
            f"NATS has not taken events since {behind:%Y-%m-%d %H:%M} UTC",
            "Keep knick worker running, and look at what it says of NATS.",
        )
    dead = outbox.dead()
    if dead:
        yield _row(
            "events",
            f"{len(dead):,} failed for good, the newest: {dead[-1].reason}",
            "Mend the reason, then knick worker --retry-events.",
        )
    if not awaited and not dead:
        yield _row("events", "nothing waits, nothing failed")


def _workers(instance: Instance) -> Iterator[Row]:
    for worker in instance.store.workers.all():
        about = f"worker {worker.name}"
        if worker.failures:
            remedy = "Mend the reason; the worker tries again by itself."
            yield _row(about, f"failed {worker.failures:,} times in a row: {worker.reason}", remedy)
        elif datetime.now(UTC) - worker.seen > _WORKER_PATIENCE:
            seen = f"{worker.seen:%Y-%m-%d %H:%M} UTC"
            yield _row(about, f"has not been seen since {seen}", "Start it again, if it should be working.")
        else:
            yield _row(about, f"is at work since {worker.started:%Y-%m-%d %H:%M} UTC")


def _notices(instance: Instance) -> Iterator[Row]:
    from knickpoint.instance import NoticeKind, find_notices

    remedies = {
        NoticeKind.CANARY: "Look at the machines; then decide about what was found there.",
        NoticeKind.SILENCE: "Look at the job that measures it, or narrow the query of [missing].",
    }
    notices = find_notices(instance)
    for kind in NoticeKind:
        own = [notice for notice in notices if notice.kind is kind]
        for notice in own[:_MOST_NOTICES]:
            yield _row(f"{kind.value} in {notice.repository}", notice.text, remedies[kind])
        if len(own) > _MOST_NOTICES:
            yield _row(kind.value, f"and {len(own) - _MOST_NOTICES:,} more", "Ask /api/v1/notices for all of them.")


def _alerts(instance: Instance) -> Iterator[Row]:
    from knickpoint.watch.alert_config.alert_health import health_of_alerts

    for health in health_of_alerts(instance.store, instance.alerts):
        about = f"alert {health.name}"
        if not health.runs and not health.failure:
            yield _row(about, "has never run", "Run it: knick run, or keep knick worker running.")
        for problem in health.problems:
            yield _row(about, problem, "See knick alerts list, and the guide on alerts.")
        if health.runs and not health.problems:
            found = counted(health.findings, "finding") if health.findings else "nothing found so far"
            yield _row(about, f"watches {counted(health.traces, 'trace')}; {found}")


@click.command("doctor")
@instance_option
@format_option
def command(instance: str | None, output: OutputFormat) -> None:
    """Examine the health of the instance, its data and its alerts.

    The exit code is 0 when all is well, 1 when something wants attention, 2 when the instance cannot be opened.
    """
    with open_chosen_instance(instance) as opened:
        rows = [
            *_data(opened),
            *_directions(opened),
            *_arrivals(opened),
            *_events(opened),
            *_workers(opened),
            *_notices(opened),
            *_alerts(opened),
        ]
    show(_COLUMNS, rows, output)
    raise click.exceptions.Exit(_UNHEALTHY if any(row["state"] != "good" for row in rows) else 0)
