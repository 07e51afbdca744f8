"""Time notifications: 1,000 findings for 200 recipients through a mail server, and ingestion beside them.

A part of ``make bench-watch``. The mail server is a process of its own on loopback, which keeps what it took and
compares it with what had to arrive. While ingestion is measured, the sender is a process of its own as well, as a
worker is; it works and pauses in turns, so that both figures are those of the same minutes.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Event
from pathlib import Path
from statistics import median
from typing import Final

from knickpoint.ingest import import_files
from knickpoint.instance import CONFIG_FILE, create_instance, open_instance
from knickpoint.instance.notifications import Notifications
from knickpoint.model.commit import Commit
from knickpoint.model.report import Result, ResultTable, RunReport
from knickpoint.store import RunWrite, Store
from knickpoint.watch.alert_run.run import run_alerts
from table import Reach, Row

__all__ = ["notification_rows"]

_REPOSITORIES: Final = 20
_CHANGES: Final = 50
"""Changes of each repository, each of a trace of its own at a commit of its own."""

_RECIPIENTS: Final = 200
_APART: Final = 4
"""Commits between two changes, so that they do not become one change."""

_ROUNDS: Final = 9
_FILE: Final = 2_000
"""Values of each file that is imported."""

_NAME: Final = re.compile(r"bench-\d\d-\d\d")
_START: Final = datetime(2026, 1, 1, tzinfo=UTC)

_SPAWN: Final = multiprocessing.get_context("spawn")


@dataclass
class _MailBox:
    """What the mail server took: recipients and content of each mail."""

    taken: list[tuple[list[str], bytes]] = field(default_factory=list)

    async def handle_DATA(self, _server: object, _session: object, envelope: object) -> str:  # noqa: N802 - the library's name
        recipients, content = list(getattr(envelope, "rcpt_tos", [])), getattr(envelope, "content", b"")
        self.taken.append((recipients, content))
        return "250 OK"

    def heard(self) -> Counter[tuple[str, str]]:
        """Return how often each recipient heard of each change."""
        found: Counter[tuple[str, str]] = Counter()
        for recipients, content in self.taken:
            mail = message_from_bytes(content, policy=default)
            body = mail.get_body(("plain",)) if isinstance(mail, EmailMessage) else None
            names = set(_NAME.findall(body.get_content())) if body is not None else set()
            found.update((recipient, name) for recipient in recipients for name in names)
        return found


def _serve(pipe: Connection) -> None:
    """Serve mail until the process ends; answer with the port, then with counts whenever the pipe asks."""
    from aiosmtpd.smtp import SMTP

    async def run() -> None:
        box = _MailBox()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: SMTP(box, hostname="localhost", loop=loop), "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        while True:
            await loop.run_in_executor(None, pipe.recv)
            heard = box.heard()
            pipe.send((len(box.taken), len(heard), sum(heard.values()) - len(heard)))

    asyncio.run(run())


@contextmanager
def _mail_server() -> Iterator[tuple[int, Connection]]:
    """Yield the port of a mail server in a process of its own, and the pipe that asks it for its counts."""
    here, there = _SPAWN.Pipe()
    process = _SPAWN.Process(target=_serve, args=(there,), daemon=True)
    process.start()
    try:
        yield here.recv(), here
    finally:
        process.kill()
        process.join()


def _announced(directory: Path, port: int) -> None:
    """Make an instance in which every change is announced, and none is planned."""
    create_instance(directory).close()
    recipients = ", ".join(f'"reader{number:03}@example.org"' for number in range(_RECIPIENTS))
    with (directory / CONFIG_FILE).open("a", encoding="utf-8") as file:
        file.write(
            f'\n[channels.list]\nkind = "mail"\nserver = "smtp://127.0.0.1:{port}"\nsender = "knick@example.org"\n'
            f'to = [{recipients}]\n\n[alerts.all]\nmethod = "threshold"\nsettle_share = 0\nsettle_least = 3\n'
            'settle_most = 3\nnotify = ["list"]\n'
        )
    with open_instance(directory) as instance:
        for number in range(_REPOSITORIES):
            _fill(instance.store, number)
        run_alerts(instance.store, instance.alerts, as_work=True)


def _fill(store: Store, number: int) -> None:
    """Measure the traces of one repository; each steps at a commit of its own."""
    repository = store.commits.add_repository(f"project-{number:02}")
    count = 20 + _APART * _CHANGES + 10
    commits = [
        Commit(f"{number:08x}{slot:032x}", "Ada", "", _START + timedelta(hours=slot), "Change") for slot in range(count)
    ]
    store.commits.add(repository, commits)
    store.commits.set_line(repository, "main", range(count))
    with store.transaction():
        for slot in range(count):
            results = [
                Result(
                    {"benchmark": f"bench-{number:02}-{change:02}"},
                    ((20.0 if slot >= 20 + _APART * change else 10.0) + 0.01 * (slot % 3),),
                    "ms",
                )
                for change in range(_CHANGES)
            ]
            run = RunReport(ResultTable.of(results))
            store.runs.write(repository, [RunWrite(slot, run, str(slot), str(slot), "benchmark")])


def _send_while(directory: Path, go: Event, ready: Event) -> None:
    """Send in a process of its own, whenever ``go`` is set."""
    with open_instance(directory) as instance:
        notifications = Notifications(instance, "sender")
        notifications.plan()
        ready.set()
        while go.wait():
            notifications.send()


def _files(directory: Path, count: int) -> list[Path]:
    """Write results files, each of one commit."""
    made = []
    for number in range(count):
        rows = "\n".join(
            f"{number + 1:040x},2026-02-01T00:{number:02}:00Z,load {key},ms,{10 + key % 7}" for key in range(_FILE)
        )
        path = directory / f"load-{number}.csv"
        path.write_text(f"commit,time,benchmark,unit,value\n{rows}\n", encoding="utf-8")
        made.append(path)
    return made


def _beside(directory: Path) -> tuple[float, float]:
    """Return the median processor seconds of an import while a sender works, and while it pauses, in turns."""
    go, ready = _SPAWN.Event(), _SPAWN.Event()
    process = _SPAWN.Process(target=_send_while, args=(directory, go, ready), daemon=True)
    process.start()
    ready.wait()
    times: dict[bool, list[float]] = {False: [], True: []}
    try:
        with open_instance(directory) as instance:
            first, *files = _files(directory, 2 * _ROUNDS + 1)
            import_files(instance, [first], repository="load")
            for number, file in enumerate(files):
                works = number % 2 == 1
                (go.set if works else go.clear)()
                time.sleep(0.5)
                start = time.process_time()
                import_files(instance, [file], repository="load")
                times[works].append(time.process_time() - start)
    finally:
        process.kill()
        process.join()
    return median(times[True]), median(times[False])


def notification_rows() -> list[Row]:
    """Measure how long 1,000 findings take to 200 recipients, what arrives, and what ingestion beside it costs."""
    changes = _REPOSITORIES * _CHANGES
    wanted = changes * _RECIPIENTS
    with tempfile.TemporaryDirectory(prefix="knickpoint-notifications-") as place, _mail_server() as (port, pipe):
        instances = [Path(place) / name for name in ("drained", "beside")]
        _announced(instances[0], port)
        shutil.copytree(instances[0], instances[1])
        with open_instance(instances[0]) as instance:
            start, processor = time.perf_counter(), time.process_time()
            Notifications(instance, "benchmark").drain(seconds=600)
            seconds, processor = time.perf_counter() - start, time.process_time() - processor
        pipe.send("count")
        mails, heard, doubled = pipe.recv()
        beside, alone = _beside(instances[1])
    name = f"{changes:,} findings to {_RECIPIENTS} recipients"
    return [
        Row(f"{name}: planned, written and sent", "s", seconds, reach=Reach.AT_MOST, bound=60),
        Row(f"{name}: processor time of the sender", "s", processor),
        Row(f"{name}: mails", "", mails),
        Row(f"{name}: findings that a recipient did not hear of", "", wanted - heard, reach=Reach.AT_MOST),
        Row(f"{name}: findings that a recipient heard of twice", "", doubled, reach=Reach.AT_MOST),
        Row(
            f"import of {_FILE:,} values beside a sender that works",
            "s of processor time",
            beside,
            alone,
            "beside one that pauses",
            Reach.AT_MOST_TIMES,
            1.05,
        ),
    ]
