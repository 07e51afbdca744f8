"""An instance whose alert makes tickets in a tracker on loopback: measure, announce, send and sync as the worker does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.notify.conftest import serving
from tests.notify.jira_server import FAILING, FIXING
from tests.notify.tracker_server import TOKEN, Stored, TrackerServer
from tests.notify.tracker_world import server_of
from tests.watch.conftest import World

from knickpoint.instance import Instance, create_instance, open_instance
from knickpoint.instance.alert_round import run_alert_round
from knickpoint.instance.notifications import Notifications
from knickpoint.instance.trackers import sync_tracker
from knickpoint.model.change_point import ChangePoint
from knickpoint.model.commit import Commit
from knickpoint.model.notification import FixVerdict, TicketFields, TrackerTicket
from knickpoint.notify.trackers.tracker_channel import read_block
from knickpoint.store import Store

_PROJECTS = {"github": "ada/textmill", "gitlab": "tools/textmill", "jira": "PERF", "jira server": "PERF"}
_SETTINGS = """
[channels.code]
kind = "{kind}"
server = "{server}"
project = "{project}"
token = "{token}"
close = true
{further}

[alerts.quick]
method = "threshold"
settle_share = 0
settle_least = 3
settle_most = 3
{alert}
"""


@dataclass
class Ticketed:
    """An instance with one repository, and its tracker of one kind."""

    kind: str
    instance: Instance
    server: TrackerServer
    world: World

    @property
    def store(self) -> Store:
        return self.instance.store

    @property
    def tickets(self) -> list[Stored]:
        """The tickets of the tracker, the oldest first."""
        return list(self.server.tickets.values())

    def feed(self, *, first: int = 0, **values: Sequence[float]) -> None:
        """Measure from the commit ``first`` on, run the alert, and send what is due."""
        self.world.measure(values, first=first)
        self.round()

    def round(self) -> None:
        """Run the alert, send what is due, and sync."""
        self.announce()
        sync_tracker(self.instance, "code")

    def announce(self) -> None:
        """Run the alert, and send what is due."""
        run_alert_round(self.instance)
        Notifications(self.instance, "test").drain()

    def point(self, name: str) -> ChangePoint:
        """Return the first change point of a trace."""
        return self.world.points(name)[0]

    def fields(self, ticket: Stored) -> TicketFields:
        """Return what the fields of a ticket say; those of Jira and those of its text agree."""
        _, (change,) = read_block(ticket.body)
        if self.kind.startswith("jira"):
            assert ticket.fields[FAILING] == change.failing
            assert ticket.fixed in {"", change.fixed}
        return change

    def known(self) -> list[TrackerTicket]:
        """Return what the store knows of the tickets."""
        return self.store.findings.tracker_tickets.all()

    def verdicts(self) -> list[FixVerdict]:
        """Return what the data say about each ticket."""
        return [each.verdict for each in self.known()]


@contextmanager
def ticketed(directory: Path, kind: str, *, alert: str = 'notify = ["code"]') -> Iterator[Ticketed]:
    """Serve a tracker of ``kind``, and make an instance with its channel ``code`` and the settings ``alert`` of its alert."""
    create_instance(directory, as_work=True).close()
    is_jira = kind.startswith("jira")
    further = f'failing_field = "{FAILING}"\nfixing_field = "{FIXING}"\n' if is_jira else ""
    further += 'user = "ada@example.org"\n' if kind == "jira" else ""
    with serving(server_of(kind)) as server:
        with (directory / "knickpoint.toml").open("a", encoding="utf-8") as file:
            file.write(
                _SETTINGS.format(
                    kind=kind.split(maxsplit=1)[0],
                    server=server.url,
                    project=_PROJECTS[kind],
                    token=TOKEN,
                    further=further,
                    alert=alert,
                )
            )
        with open_instance(directory) as instance:
            store = instance.store
            repository = store.commits.add_repository("project")
            begin = datetime(2026, 1, 1, tzinfo=UTC)
            store.commits.add(repository, [Commit(f"{k:040d}", "Ada", "", begin, f"Change {k}") for k in range(80)])
            store.commits.set_line(repository, "main", range(80))
            store.notifications.switch(on=True)
            yield Ticketed(kind, instance, server, World(store, repository))
