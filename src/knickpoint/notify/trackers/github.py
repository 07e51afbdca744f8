"""GitHub: issues of one repository, through its REST API (version 2022-11-28), also of an Enterprise server."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import quote

from knickpoint.model.errors import ConfigError
from knickpoint.model.notification import TrackerTicket
from knickpoint.notify.channel import ChannelContext, Exchange
from knickpoint.notify.settings import ChannelSettings
from knickpoint.notify.trackers.rest import Rest, later, text_of, texts_of, time_of
from knickpoint.notify.trackers.tracker_channel import (
    LABEL,
    ChangedIssues,
    Issue,
    TicketDraft,
    TrackerChannel,
    comment_mark,
    fixing_revision,
    has_mark,
    markdown_block,
    open_tracker_channel,
    read_block,
    relocated,
    with_fix,
)
from knickpoint.store.findings.tickets import TrackerCursor

_PUBLIC: Final = "https://api.github.com"
_PAGE: Final = "100"


@dataclass(frozen=True, slots=True)
class GitHub:
    """The issues of ``project`` (``owner/name``). A channel that makes tickets needs a token that may write issues."""

    channel: str
    project: str
    rest: Rest

    def find(self, key: str) -> Issue | None:
        """Return the issue with the block of ``key``: lists are up to date at once, the search of GitHub is not."""
        query = {"labels": LABEL, "state": "all", "sort": "created", "direction": "desc", "per_page": _PAGE}
        for _, page in self.rest.pages(f"/repos/{self._path}/issues", query):
            for each in page:
                if read_block(text_of(each, "body"))[0] == key:
                    return self._issue(each)
        return None

    def create(self, draft: TicketDraft) -> Issue:
        """Make an issue. GitHub drops labels silently where the token may not set them."""
        body = {
            "title": draft.title,
            "body": f"{draft.body}\n\n{markdown_block(draft)}",
            "labels": list(draft.labels),
        }
        _, made = self.rest.ask("POST", f"/repos/{self._path}/issues", body=body)
        return self._issue(made)

    def has_comment(self, ticket: TrackerTicket, key: str) -> bool:
        """Return True if the issue has the comment with this key."""
        pages = self.rest.pages(f"{self._issue_path(ticket)}/comments", {"per_page": _PAGE})
        return any(has_mark(text_of(each, "body"), key) for _, page in pages for each in page)

    def comment(self, ticket: TrackerTicket, key: str, text: str) -> None:
        """Add a comment."""
        body = {"body": f"{text}\n\n<!-- {comment_mark(key)} -->"}
        self.rest.ask("POST", f"{self._issue_path(ticket)}/comments", body=body)

    def relocate(self, ticket: TrackerTicket, was: str, located: str) -> None:
        """Edit the text of the issue."""
        _, found = self.rest.ask("GET", self._issue_path(ticket))
        body = {"body": relocated(text_of(found, "body"), was, located)}
        self.rest.ask("PATCH", self._issue_path(ticket), body=body)

    def finish(self, ticket: TrackerTicket, fixed: str) -> None:
        """Write the fixing revision into the text of the issue, and close it."""
        body = {"state": "closed", "state_reason": "completed"}
        if fixed:
            _, found = self.rest.ask("GET", self._issue_path(ticket))
            body["body"] = with_fix(text_of(found, "body"), fixed)
        self.rest.ask("PATCH", self._issue_path(ticket), body=body)

    def changed(self, cursor: TrackerCursor) -> ChangedIssues:
        """Return the issues that changed since ``cursor``, asked conditionally where nothing changed the last time."""
        query = {"labels": LABEL, "state": "all", "sort": "updated", "direction": "asc", "per_page": _PAGE}
        if cursor.since:
            query["since"] = cursor.since
        issues: list[Issue] = []
        since, etag = cursor.since, ""
        for answer, page in self.rest.pages(f"/repos/{self._path}/issues", query, etag=cursor.etag):
            etag = etag or answer.headers.get("etag", "")
            for each in page:
                since = later(since, text_of(each, "updated_at"))
                if isinstance(each, dict) and "pull_request" not in each:
                    issues.append(self._with_fix(self._issue(each)))
        # The address has the time: where that stays, so does the address, and its ETag counts again.
        kept = (etag or cursor.etag) if since == cursor.since else ""
        return ChangedIssues(tuple(issues), TrackerCursor(since, kept))

    def _with_fix(self, issue: Issue) -> Issue:
        """Find the fixing revision of a closed issue: the commit that closed it, else what its text names."""
        if issue.ticket.open:
            return issue
        fixed = ""
        for _, page in self.rest.pages(f"{self._issue_path(issue.ticket)}/events", {"per_page": _PAGE}):
            for event in page:
                if text_of(event, "event") == "closed":
                    fixed = text_of(event, "commit_id")
        return replace(issue, ticket=replace(issue.ticket, fixed=fixed or fixing_revision(issue.body)))

    @property
    def _path(self) -> str:
        return quote(self.project)

    def _issue_path(self, ticket: TrackerTicket) -> str:
        return f"/repos/{self._path}/issues/{quote(ticket.name.rpartition('#')[2])}"

    def _issue(self, found: Any) -> Issue:
        body = text_of(found, "body")
        ticket = TrackerTicket(
            channel=self.channel,
            name=f"{self.project}#{text_of(found, 'number')}",
            url=text_of(found, "html_url"),
            title=text_of(found, "title"),
            open=text_of(found, "state") != "closed",
            assignee=", ".join(texts_of(found, "assignees", "login")),
            fixed=fixing_revision(body),
            updated=time_of(text_of(found, "updated_at")),
        )
        return Issue(ticket, body)


def github_channel(settings: ChannelSettings, context: ChannelContext) -> TrackerChannel:
    """Open the channel that ``settings`` describe.

    Raises:
        ConfigError: the project, the token or the store is missing.
    """
    if len([part for part in settings.project.split("/") if part]) != 2:
        raise ConfigError(
            f"project is {settings.project!r}", where=f"[channels.{settings.name}]", remedy="Write owner/name."
        )
    base = settings.server.rstrip("/") or _PUBLIC
    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {settings.token}",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    rest = Rest(base, Exchange(context.rule.also(base), headers), settings.token)
    return open_tracker_channel(settings, context, GitHub(settings.name, settings.project, rest))
