"""A tracker on loopback, its channel, and the messages of one change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from tests.notify.github_server import GitHubServer
from tests.notify.gitlab_server import GitLabServer
from tests.notify.jira_server import FAILING, FIXING, JiraServer
from tests.notify.tracker_server import TOKEN, Stored, TrackerServer

from knickpoint.model.notification import Message, Recipient, TrackerTicket
from knickpoint.notify.channel import ChannelContext
from knickpoint.notify.settings import ChannelKind, ChannelSettings
from knickpoint.notify.trackers.github import github_channel
from knickpoint.notify.trackers.gitlab import gitlab_channel
from knickpoint.notify.trackers.jira import jira_channel
from knickpoint.notify.trackers.tracker_channel import TrackerChannel
from knickpoint.outgoing import OutgoingRule
from knickpoint.store import Store

KINDS = ("github", "gitlab", "jira", "jira server")
COMMIT = f"{15:040d}"
"""The first failing revision of the change."""


def open_channel(kind: str, server: TrackerServer, store: Store, **more: object) -> TrackerChannel:
    context = ChannelContext(Path(), "https://perf.example.org", OutgoingRule(), "Textmill", store)
    given = ChannelSettings("tracker", ChannelKind.GITHUB, server=server.url, token=TOKEN, labels=("performance",))
    given = replace(given, **more)  # type: ignore[arg-type]
    if kind == "github":
        return github_channel(replace(given, project="ada/textmill"), context)
    if kind == "gitlab":
        return gitlab_channel(replace(given, kind=ChannelKind.GITLAB, project="tools/textmill"), context)
    user = "ada@example.org" if kind == "jira" else ""
    jira = replace(given, kind=ChannelKind.JIRA, project="PERF", user=user)
    return jira_channel(replace(jira, failing_field=FAILING, fixing_field=FIXING), context)


def server_of(kind: str) -> TrackerServer:
    if kind.startswith("jira"):
        return JiraServer(cloud=kind == "jira")
    return GitHubServer() if kind == "github" else GitLabServer()


@dataclass
class World:
    kind: str
    server: TrackerServer
    store: Store
    channel: TrackerChannel

    @property
    def ticket(self) -> Stored:
        """The only ticket of the tracker."""
        (ticket,) = self.server.tickets.values()
        return ticket

    def sync(self) -> list[TrackerTicket]:
        """Read what changed in the tracker since the last time."""
        table = self.store.findings.tracker_tickets
        changed = self.channel.tracker.changed(table.cursor("tracker"))
        table.set_cursor("tracker", changed.cursor)
        return [issue.ticket for issue in changed.issues]


def message(key: str = "k1", *kinds: str, fixed: str = "", change: int = 1) -> Message:
    entry = {
        "repository": "textmill",
        "id": f"R{change}",
        "announcements": list(kinds or ("regressed",)),
        "severity": "high",
        "lead": {"trace": ",benchmark=sort,os=linux,"},
        "traces": 1,
        "line": "main",
        "previous": f"{14:040d}",
        "commit": COMMIT,
        "fixed": fixed,
        "link": "https://perf.example.org/r/1",
    }
    return Message(
        key,
        "change-1",
        Recipient("tracker"),
        "sort is 100 % slower",
        "**sort** is [slower](https://perf.example.org/r/1) than `before`.",
        data={"changes": [entry]},
    )
