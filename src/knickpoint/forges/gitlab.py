"""The notes of a merge request of GitLab, through its REST API (version 4), on gitlab.com or a server of a company."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from knickpoint.forges.comment import Comment, PatientRest
from knickpoint.notify.trackers.rest import text_of

_PAGE: Final = "100"


@dataclass(frozen=True, slots=True)
class GitLabThread:
    """The notes of the merge request ``number`` of ``project``, its path or its id.

    The token is an access token of the project with the scope ``api`` and the role of a reporter: the token of a job
    may not write notes.
    """

    rest: PatientRest
    project: str
    number: str

    def head(self) -> str:
        """Return the newest commit of the merge request, "" where it is closed."""
        found = self.rest.ask("GET", self._base)
        return text_of(found, "sha") if text_of(found, "state") == "opened" else ""

    def written(self) -> Sequence[Comment]:
        """Return the notes that the holder of the token wrote, the oldest first."""
        author = text_of(self.rest.ask("GET", "/user"), "id")
        query = {"sort": "asc", "order_by": "created_at", "per_page": _PAGE}
        return [
            Comment(text_of(each, "id"), text_of(each, "body"))
            for each in self.rest.list(f"{self._base}/notes", query)
            if author and text_of(each, "author", "id") == author
        ]

    def create(self, body: str) -> None:
        """Add a note."""
        self.rest.ask("POST", f"{self._base}/notes", body={"body": body})

    def update(self, comment: Comment, body: str) -> None:
        """Replace the text of a note."""
        self.rest.ask("PUT", f"{self._base}/notes/{quote(comment.id, safe='')}", body={"body": body})

    def delete(self, comment: Comment) -> None:
        """Delete a note."""
        self.rest.ask("DELETE", f"{self._base}/notes/{quote(comment.id, safe='')}")

    @property
    def _base(self) -> str:
        return f"/projects/{quote(self.project, safe='')}/merge_requests/{quote(self.number, safe='')}"
