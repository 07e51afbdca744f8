"""``knick doctor``: check the health of an instance, its data and its alerts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, format_option, show
from knickpoint.model.errors import AbsentError, HistoryError, StoreError
from knickpoint.model.plain_text import counted
from knickpoint.model.service_part import joined_parts

if TYPE_CHECKING:
    from knickpoint.cli.output import Row
    from knickpoint.instance import Instance
    from knickpoint.store import DamagedRow

_UNHEALTHY: Final = 1
_MOST_NOTICES: Final = 5
_MOST_DAMAGED: Final = 100
_TRACES_SHOWN: Final = 3
_RESTORE: Final = "Check the disk; then restore the newest backup with knick restore."
_WORKER_LOST_AFTER: Final = timedelta(minutes=10)
_RELAY_STUCK_AFTER: Final = timedelta(minutes=10)
_DELIVERIES_LATE_AFTER: Final = timedelta(minutes=30)

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
            f"repository {repository.name}",
            f"{counted(traces, 'trace')} over {counted(len(line.slots), 'commit')} of {line.name!r}",
        )
        lines = [store.commits.line(repository, name).slots for name in store.commits.lines(repository)]
        if hidden := len(store.runs.slots(repository).difference(*lines)):
            reason = "they were merged in or rewritten, or their branch is gone"
            yield _row(
                f"lines of {repository.name}", f"the points of {counted(hidden, 'commit')} appear on no line: {reason}"
            )


def _git_repositories(instance: Instance) -> Iterator[Row]:
    """Report git repositories that cannot be read: commits, authors and suspects come from there."""
    from knickpoint.ingest.commit_sources.git_repository import open_present_git

    for name, settings in instance.repositories.items():
        try:
            open_present_git(name, settings, instance.directory)
        except HistoryError as error:
            yield _row(f"git repository of {name}", f"cannot be read at {error.where}: {error.message}", error.remedy)


def _directions(instance: Instance) -> Iterator[Row]:
    """Report traces without a direction, which may be intended."""
    from knickpoint.ingest.import_summary import remark_on_directions
    from knickpoint.model.query import Query

    traces = instance.store.traces
    for repository in instance.store.commits.repositories():
        ids = traces.select(repository, Query())
        units = Counter(trace.unit for trace in traces.without_direction(ids))
        if units:
            yield _row(f"directions in {repository.name}", remark_on_directions(units))


def _held_files(instance: Instance) -> Iterator[Row]:
    from knickpoint.ingest import ingest_status
    from knickpoint.model.report import Severity

    status = ingest_status(instance, recent=0)
    if status.waiting:
        yield _row(
            "ingest",
            f"{counted(len(status.waiting), 'file')} waiting for commits that their repository does not have",
            "Bring the repository up to date, then knick ingest retry; see knick ingest status.",
        )
    if status.refused:
        yield _row("ingest", f"{counted(len(status.refused), 'file')} refused", "See knick ingest quarantine.")
    defects = sum(any(each.severity is Severity.DEFECT for each in file.problems) for file in status.refused)
    if defects:
        yield _row(
            "ingest",
            f"{counted(defects, 'file')} refused because of a defect of Knickpoint",
            "Report the output of knick ingest quarantine; after an update, run knick ingest retry.",
        )
    if not (status.waiting or status.refused):
        yield _row("ingest", "no files waiting, none refused")


def _events(instance: Instance) -> Iterator[Row]:
    from knickpoint.instance.relay.session import CONSUMER
    from knickpoint.instance.worker.heartbeat import abandoned_since, waiting_events

    outbox = instance.store.outbox
    waiting = waiting_events(instance)
    if waiting:
        listed = ", ".join(f"{each.count:,} {each.kind.value} for {each.consumer}" for each in waiting)
        since = abandoned_since(instance, datetime.now(UTC))
        observed = f", since {since:%Y-%m-%d %H:%M} UTC, and no process runs the alerts" if since else ""
        remedy = "Start knick serve or knick worker, or run knick run." if since else ""
        yield _row("events", f"waiting: {listed}{observed}", remedy)
    oldest = outbox.oldest(CONSUMER) if instance.config.nats.url else None
    if oldest is not None and datetime.now(UTC) - oldest > _RELAY_STUCK_AFTER:
        yield _row(
            "events",
            f"NATS has not accepted events since {oldest:%Y-%m-%d %H:%M} UTC",
            "Keep knick worker running, and check its messages about NATS.",
        )
    dead = outbox.dead()
    if dead:
        yield _row(
            "events",
            f"{len(dead):,} failed for good, the newest: {dead[-1].reason}",
            "Fix the cause, then knick worker --retry-events.",
        )
    if not waiting and not dead:
        yield _row("events", "no events waiting, none failed")


def _workers(instance: Instance) -> Iterator[Row]:
    for worker in instance.store.workers.all():
        about = f"worker {worker.name}"
        if worker.failures:
            remedy = "Fix the cause; the worker retries by itself."
            yield _row(about, f"failed {worker.failures:,} times in a row: {worker.reason}", remedy)
        elif datetime.now(UTC) - worker.seen > _WORKER_LOST_AFTER:
            seen = f"{worker.seen:%Y-%m-%d %H:%M} UTC"
            yield _row(about, f"has not been seen since {seen}", "Restart it if it should be running.")
        else:
            parts = f", as {joined_parts(worker.parts)}" if worker.parts else ""
            slowed = (
                f", slowed down as those who detect for it are sent the values: {worker.slowed}"
                if worker.slowed
                else ""
            )
            yield _row(about, f"has been running since {worker.started:%Y-%m-%d %H:%M} UTC{parts}{slowed}")


def _notices(instance: Instance) -> Iterator[Row]:
    from knickpoint.instance import NoticeKind, find_notices

    remedies = {
        NoticeKind.CANARY: "Check the machines, then triage the findings in doubt.",
        NoticeKind.SILENCE: "Check the job that measures it, or narrow the query of [missing].",
        NoticeKind.DIRECTION: "Accept it, which announces nothing; until then runs judge by the former direction.",
    }
    notices = find_notices(instance)
    for kind in NoticeKind:
        of_kind = [notice for notice in notices if notice.kind is kind]
        for notice in of_kind[:_MOST_NOTICES]:
            yield _row(f"{kind.value} in {notice.repository}", notice.text, remedies[kind])
        if len(of_kind) > _MOST_NOTICES:
            yield _row(kind.value, f"and {len(of_kind) - _MOST_NOTICES:,} more", "Ask /api/v1/notices for all of them.")


def _canaries(instance: Instance) -> Iterator[Row]:
    from knickpoint.instance import canary_health
    from knickpoint.model.quarantine import QuarantineState

    for health in canary_health(instance):
        if health.useless:
            about = f"canary {health.trace.canary}{f' on {health.machine}' if health.machine else ''}"
            remedy = "Measure it longer, or take it out of the query of the canary."
            yield _row(about, f"{health.trace.key} is ignored: {health.useless}", remedy)
    for repository in instance.store.commits.repositories():
        waiting = instance.store.quarantines.all(repository, states={QuarantineState.QUARANTINED})
        if waiting:
            observed = f"results of {counted(len(waiting), 'run')} are quarantined, the first since {waiting[0].since:%Y-%m-%d}"
            yield _row(f"canaries in {repository.name}", observed, "Run them again, or see knick canaries.")


def _deliveries(instance: Instance) -> Iterator[Row]:
    from knickpoint.instance.notifications import idle_channels
    from knickpoint.model.notification import DeliveryState

    if not instance.config.channels:
        return
    for name in idle_channels(instance):
        yield _row(f"channel {name}", "no alert sends to it", f'Name it in an alert: notify = ["{name}"].')
    counts = instance.store.notifications.counts()
    failed = {name: count for (name, state), count in counts.items() if state is DeliveryState.FAILED}
    for name, count in failed.items():
        (newest,) = instance.store.notifications.newest(state=DeliveryState.FAILED, channel=name, limit=1)
        yield _row(
            f"channel {name}",
            f"{counted(count, 'delivery', 'deliveries')} failed for good, the newest: {newest.answer}",
            "Fix the cause, then knick deliveries retry --all; or knick deliveries drop.",
        )
    late = instance.store.notifications.next_due()
    if late is not None and datetime.now(UTC) - late > _DELIVERIES_LATE_AFTER and not instance.config.notify.paused:
        remedy = "Keep knick worker running, or run knick notify."
        yield _row("notifications", f"deliveries wait since {late:%Y-%m-%d %H:%M} UTC", remedy)
    waiting = sum(count for (_, state), count in counts.items() if state is DeliveryState.WAITING)
    if not failed:
        paused = "; [notify] pauses them" if instance.config.notify.paused else ""
        yield _row("notifications", f"{waiting:,} wait, none failed{paused}")


def _schedules(instance: Instance) -> Iterator[Row]:
    from knickpoint.instance.schedules import describe_policy, schedule_status

    for name in instance.config.schedule:
        status = schedule_status(instance, name, datetime.now(UTC))
        observed = status.problem or f"measures {describe_policy(status.settings)} of {status.branch!r}"
        yield _row(f"schedule {name}", observed, status.remedy)


def _alerts(instance: Instance) -> Iterator[Row]:
    from knickpoint.watch.alert_config.alert_health import health_of_alerts
    from knickpoint.watch.alert_run.persistence import REWATCH, unwatched_text

    lost = instance.store.findings.unwatched_lately(instance.store.commits.repositories())
    if lost:
        yield _row("alerts", unwatched_text(len(lost)), REWATCH)
    for health in health_of_alerts(instance.store, instance.alerts):
        about = f"alert {health.name}"
        if not health.runs and not health.failure:
            yield _row(about, *_first_run(instance, health.name))
        for problem in health.problems:
            yield _row(about, problem, "See knick alerts list, and the guide on alerts.")
        if health.runs and not health.problems:
            found = counted(health.findings, "finding") if health.findings else "no findings yet"
            yield _row(about, f"watches {counted(health.traces, 'trace')}; {found}")


def _first_run(instance: Instance, alert: str) -> tuple[str, str]:
    """Return the state of an alert that has not judged all its traces yet, and the remedy, "" for nothing.

    A run is recorded at its end. Of one that is under way there are the events that a worker holds, and the worker.
    """
    from knickpoint.model.service_part import ServicePart
    from knickpoint.store import EventKind

    ran = instance.store.findings.alert_runs.runs(alert, last=1)
    known = (
        f"has judged new results, the last at {ran[0].started:%Y-%m-%d %H:%M} UTC, and not yet all its traces"
        if ran
        else "it has not completed a run yet"
    )
    if held := instance.store.outbox.held([EventKind.TRACES_CHANGED]):
        return f"{known}; a run is in progress over results that arrived at {held:%Y-%m-%d %H:%M} UTC", ""
    since = datetime.now(UTC) - _WORKER_LOST_AFTER
    alive = [each for each in instance.store.workers.all() if ServicePart.WORKER in each.parts and each.seen >= since]
    if alive:
        started = min(each.started for each in alive)
        return f"{known}; a worker has been running since {started:%Y-%m-%d %H:%M} UTC, and starts with all traces", ""
    return f"{known}; no worker is running", "Run it: knick run, or keep knick worker running."


def _alert_sources(instance: Instance) -> Iterator[Row]:
    """Report whom alerts cannot reach, and files of repositories that cannot be used."""
    from knickpoint.instance.alert_sources import sourced_alerts
    from knickpoint.model.errors import ConfigError
    from knickpoint.watch.alert_validation import check_references

    for each in sourced_alerts(instance.config, instance.store):
        try:
            check_references(each.alert, people=instance.config.people, channels=instance.config.channels)
        except ConfigError as error:
            yield _row(f"alert {each.alert.name}", error.message, error.remedy)
        if each.shadowed:
            yield _row(
                f"alert {each.alert.name}", f"the one of {each.place} does not run: another has its name", "Rename one."
            )
    for file in instance.store.findings.alert_definitions.files().values():
        about = f"alerts of {file.repository}"
        if file.failure:
            where = f" since {file.failed_at[:10]}" if file.failed_at else ""
            remedy = f"Correct {file.path} there; until then its last good alerts stay."
            yield _row(about, f"{file.path} cannot be used{where}: {file.failure}", remedy)
        else:
            yield _row(about, f"{counted(len(file.alerts), 'alert')} in {file.path} at {file.commit[:10]}")


def _access(instance: Instance) -> Iterator[Row]:
    from knickpoint.access.exposure import advise
    from knickpoint.access.tokens import list_tokens
    from knickpoint.model.access import Token

    config, tokens = instance.config, list[Token]()
    try:
        tokens = list_tokens(instance.store)
    except StoreError as error:  # a damaged row; the rest of the report is wanted all the more
        yield _row("tokens", error.message, error.remedy)
    found = advise(
        config.server.host,
        config.access,
        config.sign_in,
        roles=config.roles.values(),
        tokens=tokens,
        now=datetime.now(UTC),
    )
    for advice in found:
        yield _row(advice.about, advice.observed, advice.remedy)


def _integrity(instance: Instance) -> Iterator[Row]:
    """Report what is damaged in the store, and how much of it has no checksum yet."""
    report = instance.store.check_integrity()
    for damaged in report.damaged[:_MOST_DAMAGED]:
        yield _row(
            f"damage in {damaged.repository}" if damaged.repository else "damage",
            _described(instance, damaged),
            _RESTORE,
        )
    if len(report.damaged) > _MOST_DAMAGED:
        yield _row("damage", f"and {len(report.damaged) - _MOST_DAMAGED:,} more rows", _RESTORE)
    older = f"; {counted(report.without_checksum, 'older row')} without a checksum" if report.without_checksum else ""
    intact = report.checked - len(report.damaged)
    yield _row("checksums", f"{counted(intact, 'row')} as they were written{older}")


def _described(instance: Instance, damaged: DamagedRow) -> str:
    """Name the damaged row, and the commits and traces whose values are left out."""
    if not damaged.repository and not damaged.commits and damaged.traces == (-1, -1):
        return damaged.row
    first, last = damaged.traces
    traces = "traces unknown"
    if 0 <= first <= last:
        traces = f"{counted(last + 1 - first, 'trace')} from {first} to {last}"
        some = range(first, min(last + 1, first + _TRACES_SHOWN))
        with suppress(AbsentError):  # the numbers of the row may be the damage
            shown = " ".join(trace.key for trace in instance.store.traces.get(some))
            traces += f": {shown}{' …' if len(some) < last + 1 - first else ''}"
    commits = " to ".join(commit[:12] for commit in damaged.commits) or "commits unknown"
    return f"{damaged.row} is damaged; left out: {commits}, {traces}"


_CHECKS: Final[Mapping[str, Callable[[Instance], Iterator[Row]]]] = {
    "data": _data,
    "git repositories": _git_repositories,
    "directions": _directions,
    "ingest": _held_files,
    "events": _events,
    "workers": _workers,
    "notices": _notices,
    "canaries": _canaries,
    "deliveries": _deliveries,
    "schedules": _schedules,
    "alerts": _alerts,
    "alert sources": _alert_sources,
    "access": _access,
}


def _checked(name: str, check: Callable[[Instance], Iterator[Row]], instance: Instance) -> Iterator[Row]:
    """Report what ``check`` finds; what cannot be read in the store is a row, and the other checks go on."""
    try:
        yield from check(instance)
    except StoreError as error:
        yield _row(name, f"cannot be read: {error.message}", error.remedy)


@click.command("doctor")
@instance_option
@click.option("--deep", is_flag=True, help="Read the whole store, and compare each row with its checksum.")
@format_option
def command(instance: str | None, output: OutputFormat, *, deep: bool) -> None:
    """Check the health of the instance, its data and its alerts.

    The exit code is 0 when all is well, 1 when there is a warning, 2 when the instance cannot be opened.
    """
    with open_chosen_instance(instance) as opened:
        checks = {**_CHECKS, **({"damage": _integrity} if deep else {})}
        rows = [row for name, check in checks.items() for row in _checked(name, check, opened)]
    show(_COLUMNS, rows, output)
    raise click.exceptions.Exit(_UNHEALTHY if any(row["state"] != "good" for row in rows) else 0)
