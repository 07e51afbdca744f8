"""Jira: issues of one project, through version 2 of its REST API, which Cloud and Server (Data Center) share.

They differ in how they search. Cloud answers 410 to ``/search`` and has ``/search/jql`` with tokens of pages; Server
has ``/search`` with numbers of rows. Which one it is stands in ``/serverInfo``.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import ceil
from typing import Any, Final
from urllib.parse import quote

from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import TrackerTicket
from knickpoint.notify.channel import ChannelContext, Exchange
from knickpoint.notify.markup import wiki_text
from knickpoint.notify.settings import ChannelSettings
from knickpoint.notify.trackers.rest import MOST_PAGES, Rest, text_of, time_of
from knickpoint.notify.trackers.tracker_channel import (
    LABEL,
    ChangedIssues,
    Issue,
    TicketDraft,
    TrackerChannel,
    comment_mark,
    fixing_revision,
    has_mark,
    open_tracker_channel,
    read_block,
    relocated,
    text_block,
    unique_label,
    with_fix,
)
from knickpoint.store.findings.tickets import TrackerCursor

_API: Final = "/rest/api/2"
_PAGE: Final = 100
_OVERLAP_MINUTES: Final = 5
"""Times in a query count whole minutes, and clocks differ."""


@dataclass
class Jira:
    """The issues of the project with the key ``project``, with the ids of the fields for revisions, "" without them."""

    channel: str
    project: str
    rest: Rest
    issue_type: str = "Task"
    failing_field: str = ""
    fixing_field: str = ""
    _is_cloud: bool | None = field(default=None, init=False)

    def find(self, key: str) -> Issue | None:
        """Return the issue with the block of ``key``, by a label that only this ticket has."""
        for each in self._search(f"labels = {unique_label(key)}"):
            issue = self._issue(each)
            if read_block(issue.body)[0] == key:
                return issue
        return None

    def create(self, draft: TicketDraft) -> Issue:
        """Make an issue, and read it back: Jira answers with its key alone."""
        labels = [label.replace(" ", "-") for label in (*draft.labels, unique_label(draft.key))]
        fields: dict[str, object] = {
            "project": {"key": self.project},
            "issuetype": {"name": self.issue_type},
            "summary": draft.title,
            "description": f"{wiki_text(draft.body)}\n\n{text_block(draft)}",
            "labels": labels,
        }
        if self.failing_field and draft.changes:
            fields[self.failing_field] = draft.changes[0].failing
        _, made = self.rest.ask("POST", f"{_API}/issue", body={"fields": fields})
        name = text_of(made, "key")
        ticket = TrackerTicket(self.channel, name, f"{self.rest.base}/browse/{quote(name)}", draft.title)
        return Issue(ticket, str(fields["description"]))

    def has_comment(self, ticket: TrackerTicket, key: str) -> bool:
        """Return True if the issue has the comment with this key."""
        start = 0
        for _ in range(MOST_PAGES):
            query = {"startAt": str(start), "maxResults": str(_PAGE)}
            _, page = self.rest.ask("GET", f"{self._path(ticket)}/comment", query=query)
            comments = _list(page, "comments")
            if any(has_mark(text_of(each, "body"), key) for each in comments):
                return True
            start += len(comments)
            if not comments or start >= _total(page):
                break
        return False

    def comment(self, ticket: TrackerTicket, key: str, text: str) -> None:
        """Add a comment."""
        body = {"body": f"{wiki_text(text)}\n\n{{color:#999999}}{comment_mark(key)}{{color}}"}
        self.rest.ask("POST", f"{self._path(ticket)}/comment", body=body)

    def relocate(self, ticket: TrackerTicket, was: str, located: str) -> None:
        """Edit the description, and the field for the first failing revision."""
        _, found = self.rest.ask("GET", self._path(ticket))
        fields = {"description": relocated(text_of(found, "fields", "description"), was, located)}
        if self.failing_field:
            fields[self.failing_field] = located
        self.rest.ask("PUT", self._path(ticket), body={"fields": fields})

    def finish(self, ticket: TrackerTicket, fixed: str) -> None:
        """Write the fixing revision into its fields, and take the first transition to a status that counts as done."""
        if fixed:
            _, issue = self.rest.ask("GET", self._path(ticket))
            fields = {"description": with_fix(text_of(issue, "fields", "description"), fixed)}
            if self.fixing_field:
                fields[self.fixing_field] = fixed
            self.rest.ask("PUT", self._path(ticket), body={"fields": fields})
        _, found = self.rest.ask("GET", f"{self._path(ticket)}/transitions")
        for each in _list(found, "transitions"):
            if text_of(each, "to", "statusCategory", "key") == "done":
                body = {"transition": {"id": text_of(each, "id")}}
                self.rest.ask("POST", f"{self._path(ticket)}/transitions", body=body)
                return

    def changed(self, cursor: TrackerCursor) -> ChangedIssues:
        """Return the issues that changed since ``cursor``.

        The query says how many minutes ago: a time in it would be read in the time zone of the user.
        """
        now = datetime.fromtimestamp(self.rest.exchange.clock(), UTC)
        clause = f"labels = {LABEL}"
        since = time_of(cursor.since)
        if since is not None:
            minutes = ceil((now - since).total_seconds() / 60) + _OVERLAP_MINUTES
            clause += f" AND updated >= -{max(minutes, _OVERLAP_MINUTES)}m"
        issues = tuple(self._issue(each) for each in self._search(clause))
        return ChangedIssues(issues, TrackerCursor(now.isoformat()))

    def _search(self, clause: str) -> Iterator[Any]:
        """Yield the issues of the project that match ``clause``, the oldest change first, page by page."""
        jql = f'project = "{self.project}" AND {clause} ORDER BY updated ASC'
        names = ["summary", "status", "assignee", "description", "updated", "labels", self.fixing_field]
        asked: dict[str, object] = {"jql": jql, "maxResults": _PAGE, "fields": [name for name in names if name]}
        cloud = self._cloud()
        seen = 0
        for _ in range(MOST_PAGES):
            _, page = self.rest.ask("POST", f"{_API}/search/jql" if cloud else f"{_API}/search", body=asked)
            issues = _list(page, "issues")
            yield from issues
            seen += len(issues)
            token = text_of(page, "nextPageToken")
            if not issues or (not token if cloud else seen >= _total(page)):
                return
            asked |= {"nextPageToken": token} if cloud else {"startAt": seen}

    def _cloud(self) -> bool:
        if self._is_cloud is None:
            _, found = self.rest.ask("GET", f"{_API}/serverInfo")
            self._is_cloud = text_of(found, "deploymentType") == "Cloud"
        return self._is_cloud

    def _path(self, ticket: TrackerTicket) -> str:
        return f"{_API}/issue/{quote(ticket.name)}"

    def _issue(self, found: Any) -> Issue:
        fields = found.get("fields") if isinstance(found, dict) else None
        body = text_of(fields, "description")
        name = text_of(found, "key")
        ticket = TrackerTicket(
            channel=self.channel,
            name=name,
            url=f"{self.rest.base}/browse/{quote(name)}",
            title=text_of(fields, "summary"),
            open=text_of(fields, "status", "statusCategory", "key") != "done",
            assignee=text_of(fields, "assignee", "displayName"),
            fixed=(text_of(fields, self.fixing_field).strip() if self.fixing_field else "") or fixing_revision(body),
            updated=time_of(text_of(fields, "updated")),
        )
        return Issue(ticket, body)


def _list(found: Any, name: str) -> list[Any]:
    values = found.get(name) if isinstance(found, dict) else None
    return values if isinstance(values, list) else []


def _total(found: Any) -> int:
    total = found.get("total") if isinstance(found, dict) else None
    return total if isinstance(total, int) else 0


def jira_channel(settings: ChannelSettings, context: ChannelContext) -> TrackerChannel:
    """Open the channel that ``settings`` describe: with a user for Cloud, without one for a personal token of a Server.

    Raises:
        ConfigError: the address, the project, the token or the store is missing.
    """
    where = f"[channels.{settings.name}]"
    base = settings.server.rstrip("/")
    if not base.startswith(("http://", "https://")):
        raise ConfigError("server is not an address", where=where, remedy="Give that of Jira, without /rest.")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", settings.project):
        raise ConfigError(f"project is {settings.project!r}", where=where, remedy="Give its key, as in PERF.")
    basic = base64.b64encode(f"{settings.user}:{settings.token}".encode()).decode()
    headers = {
        "Accept": "application/json",
        "Authorization": f"Basic {basic}" if settings.user else f"Bearer {settings.token}",
    }
    rest = Rest(base, Exchange(context.rule.also(base), headers), settings.token)
    jira = Jira(
        settings.name,
        settings.project,
        rest,
        settings.issue_type,
        settings.failing_field,
        settings.fixing_field,
    )
    return open_tracker_channel(settings, context, jira)
