"""The comments of a pull request of GitHub, through its REST API (version 2022-11-28), also of an Enterprise server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from knickpoint.forges.comment import Comment, PatientRest
from knickpoint.notify.channel import RefusedError
from knickpoint.notify.trackers.rest import text_of

_PAGE: Final = "100"


@dataclass(frozen=True, slots=True)
class GitHubThread:
    """The comments of the pull request ``number`` of ``project`` (``owner/name``).

    The token needs ``pull-requests: write``, and nothing else.
    """

    rest: PatientRest
    project: str
    number: str

    def head(self) -> str:
        """Return the newest commit of the pull request, "" where it is closed."""
        found = self.rest.ask("GET", f"{self._base}/pulls/{quote(self.number, safe='')}")
        return text_of(found, "head", "sha") if text_of(found, "state") == "open" else ""

    def written(self) -> Sequence[Comment]:
        """Return the comments that the holder of the token wrote, the oldest first."""
        login = self._login()
        found = self.rest.list(f"{self._base}/issues/{quote(self.number, safe='')}/comments", {"per_page": _PAGE})
        return [
            Comment(text_of(each, "id"), text_of(each, "body"), text_of(each, "html_url"))
            for each in found
            if _is_written_by(login, each)
        ]

    def create(self, body: str) -> None:
        """Add a comment."""
        self.rest.ask("POST", f"{self._base}/issues/{quote(self.number, safe='')}/comments", body={"body": body})

    def update(self, comment: Comment, body: str) -> None:
        """Replace the text of a comment."""
        self.rest.ask("PATCH", f"{self._base}/issues/comments/{quote(comment.id, safe='')}", body={"body": body})

    def delete(self, comment: Comment) -> None:
        """Delete a comment."""
        self.rest.ask("DELETE", f"{self._base}/issues/comments/{quote(comment.id, safe='')}")

    def _login(self) -> str:
        """Return the name of the user of the token, "" for the token of a job or an app, which has no user."""
        try:
            return text_of(self.rest.ask("GET", "/user"), "login")
        except RefusedError as error:
            if error.status != 403 or error.wait_seconds:
                raise
            return ""

    @property
    def _base(self) -> str:
        return _path(self.project)


def _is_written_by(login: str, comment: Any) -> bool:
    """Return True if a comment is of this user; the token of a job or an app writes as some bot.

    A person who copies the marker into a comment must not choose which comment is overwritten.
    """
    if login:
        return text_of(comment, "user", "login") == login
    return text_of(comment, "user", "type") == "Bot"


def find_pull_request(rest: PatientRest, project: str, owner: str, branch: str, commit: str) -> str:
    """Return the number of the open pull request of ``owner``'s ``branch`` whose newest commit is ``commit``.

    "" for none.
    """
    found = rest.list(
        f"{_path(project)}/pulls",
        {"state": "open", "head": f"{owner}:{branch}", "per_page": _PAGE},
    )
    return next((text_of(each, "number") for each in found if text_of(each, "head", "sha") == commit), "")


def _path(project: str) -> str:
    return f"/repos/{quote(project)}"
