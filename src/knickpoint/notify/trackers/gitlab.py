"""GitLab: issues of one project, through its REST API (version 4), on gitlab.com or a server of your company."""

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

_PUBLIC: Final = "https://gitlab.com"
_API: Final = "/api/v4"
_PAGE: Final = "100"


@dataclass(frozen=True, slots=True)
class GitLab:
    """The issues of ``project`` (its path, such as ``group/name``)."""

    channel: str
    project: str
    rest: Rest

    def find(self, key: str) -> Issue | None:
        """Return the issue with the block of ``key``, by GitLab's search in descriptions."""
        query = {"labels": LABEL, "search": key, "in": "description", "per_page": _PAGE}
        for _, page in self.rest.pages(self._issues, query):
            for each in page:
                if read_block(text_of(each, "description"))[0] == key:
                    return self._issue(each)
        return None

    def create(self, draft: TicketDraft) -> Issue:
        """Make an issue."""
        body = {
            "title": draft.title,
            "description": f"{draft.body}\n\n{markdown_block(draft)}",
            "labels": ",".join(draft.labels),
        }
        _, made = self.rest.ask("POST", self._issues, body=body)
        return self._issue(made)

    def has_comment(self, ticket: TrackerTicket, key: str) -> bool:
        """Return True if the issue has the note with this key."""
        pages = self.rest.pages(f"{self._issue_path(ticket)}/notes", {"per_page": _PAGE})
        return any(has_mark(text_of(each, "body"), key) for _, page in pages for each in page)

    def comment(self, ticket: TrackerTicket, key: str, text: str) -> None:
        """Add a note."""
        body = {"body": f"{text}\n\n<!-- {comment_mark(key)} -->"}
        self.rest.ask("POST", f"{self._issue_path(ticket)}/notes", body=body)

    def relocate(self, ticket: TrackerTicket, was: str, located: str) -> None:
        """Edit the description of the issue."""
        _, found = self.rest.ask("GET", self._issue_path(ticket))
        body = {"description": relocated(text_of(found, "description"), was, located)}
        self.rest.ask("PUT", self._issue_path(ticket), body=body)

    def finish(self, ticket: TrackerTicket, fixed: str) -> None:
        """Write the fixing revision into the description of the issue, and close it."""
        body = {"state_event": "close"}
        if fixed:
            _, found = self.rest.ask("GET", self._issue_path(ticket))
            body["description"] = with_fix(text_of(found, "description"), fixed)
        self.rest.ask("PUT", self._issue_path(ticket), body=body)

    def changed(self, cursor: TrackerCursor) -> ChangedIssues:
        """Return the issues that changed since ``cursor``, asked conditionally where nothing changed the last time."""
        query = {"labels": LABEL, "order_by": "updated_at", "sort": "asc", "per_page": _PAGE}
        if cursor.since:
            query["updated_after"] = cursor.since
        issues: list[Issue] = []
        since, etag = cursor.since, ""
        for answer, page in self.rest.pages(self._issues, query, etag=cursor.etag):
            etag = etag or answer.headers.get("etag", "")
            for each in page:
                since = later(since, text_of(each, "updated_at"))
                issues.append(self._with_fix(self._issue(each)))
        kept = (etag or cursor.etag) if since == cursor.since else ""
        return ChangedIssues(tuple(issues), TrackerCursor(since, kept))

    def _with_fix(self, issue: Issue) -> Issue:
        """Find the fixing revision of a closed issue: the merge request that closed it, else what its text names."""
        if issue.ticket.open:
            return issue
        fixed = ""
        for _, page in self.rest.pages(f"{self._issue_path(issue.ticket)}/closed_by", {"per_page": _PAGE}):
            for request in page:
                if text_of(request, "state") == "merged":
                    fixed = text_of(request, "merge_commit_sha") or text_of(request, "squash_commit_sha") or fixed
        return replace(issue, ticket=replace(issue.ticket, fixed=fixed or fixing_revision(issue.body)))

    @property
    def _issues(self) -> str:
        return f"/projects/{quote(self.project, safe='')}/issues"

    def _issue_path(self, ticket: TrackerTicket) -> str:
        return f"{self._issues}/{quote(ticket.name.rpartition('#')[2])}"

    def _issue(self, found: Any) -> Issue:
        body = text_of(found, "description")
        ticket = TrackerTicket(
            channel=self.channel,
            name=f"{self.project}#{text_of(found, 'iid')}",
            url=text_of(found, "web_url"),
            title=text_of(found, "title"),
            open=text_of(found, "state") != "closed",
            assignee=", ".join(texts_of(found, "assignees", "username")),
            fixed=fixing_revision(body),
            updated=time_of(text_of(found, "updated_at")),
        )
        return Issue(ticket, body)


def gitlab_channel(settings: ChannelSettings, context: ChannelContext) -> TrackerChannel:
    """Open the channel that ``settings`` describe.

    Raises:
        ConfigError: the project, the token or the store is missing.
    """
    if "/" not in settings.project.strip("/"):
        raise ConfigError(
            f"project is {settings.project!r}",
            where=f"[channels.{settings.name}]",
            remedy="Write its path, as in group/name.",
        )
    base = (settings.server.rstrip("/") or _PUBLIC).removesuffix(_API) + _API
    rest = Rest(base, Exchange(context.rule.also(base), {"PRIVATE-TOKEN": settings.token}), settings.token)
    return open_tracker_channel(settings, context, GitLab(settings.name, settings.project.strip("/"), rest))
