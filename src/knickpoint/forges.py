"""Post reports to the forge that hosts a project: one comment in each pull request, found by its first line.

It is updated in place, and what two jobs at once did is repaired. GitHub is spoken to through its REST API (version
2022-11-28), GitLab through version 4 of its own; both also on a server of a company.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import quote

from knickpoint.model.errors import InputError
from knickpoint.notify.channel import DeliveryError, Exchange, RefusedError
from knickpoint.notify.trackers.rest import Rest, text_of
from knickpoint.outgoing import OutgoingRule

_MARK: Final = "<!-- knickpoint "

_RESULT: Final = re.compile(r"<!-- knickpoint result: (?P<happened>\w+) -->\s*\Z")
"""The last line of a report, which says whether anything changed, or is worse."""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment that the holder of the token wrote: its id, its text and its page."""

    id: str
    body: str
    url: str = ""


class When(Enum):
    """When a pull request gets a comment; one that it has is always updated."""

    ALWAYS = "always"
    CHANGED = "changed"
    WORSE = "worse"

    def covers(self, body: str) -> bool:
        """Whether a report is one of those that are posted; one that does not say what happened is."""
        found = _RESULT.search(body)
        happened = found["happened"] if found else "worse"
        return self is When.ALWAYS or happened == "worse" or (self is When.CHANGED and happened == "changed")


class Posted(Enum):
    """What became of a comment."""

    CREATED = "created"
    UPDATED = "updated"
    SAME = "unchanged"
    OUTDATED = "outdated"
    LEFT_OUT = "left out"


class CommentThread(Protocol):
    """The comments of one pull request."""

    def head(self) -> str:
        """Return the newest commit of the pull request, "" where it is closed."""

    def written(self) -> Sequence[Comment]:
        """Return the comments that the holder of the token wrote, the oldest first."""

    def create(self, body: str) -> None:
        """Add a comment."""

    def update(self, comment: Comment, body: str) -> None:
        """Replace the text of a comment."""

    def delete(self, comment: Comment) -> None:
        """Delete a comment."""


def post_comment(thread: CommentThread, body: str, *, commit: str = "", when: When = When.ALWAYS) -> Posted:
    """Write ``body`` into the comment that has the same first line; add the comment where there is none.

    A pull request that has a newer commit than ``commit``, or is closed, keeps its comment: the answer would be about
    what is gone. ``when`` says which reports begin a comment. Two jobs that add a comment at the same time end with
    one: each looks again, and the oldest stays.

    Raises:
        InputError: the first line is not a marker.
        DeliveryError: the forge refuses, or does not answer.
    """
    mark = body.partition("\n")[0]
    if not mark.startswith(_MARK) or not mark.endswith("-->"):
        raise InputError(
            "the report has no marker as its first line",
            where="FILE",
            remedy="Give the file that knick check --report markdown=FILE wrote.",
        )
    if commit and thread.head() != commit:
        return Posted.OUTDATED
    found = _marked(thread, mark)
    if found:
        return _keep_oldest(thread, body, found)
    if not when.covers(body):
        return Posted.LEFT_OUT
    _create(thread, body, mark)
    _keep_oldest(thread, body, _marked(thread, mark))
    return Posted.CREATED


def _marked(thread: CommentThread, mark: str) -> list[Comment]:
    """Return the comments that begin with ``mark``; forges may change the ends of lines."""
    return [comment for comment in thread.written() if comment.body.partition("\n")[0].strip() == mark]


def _create(thread: CommentThread, body: str, mark: str) -> None:
    """Add the comment; where the answer is lost, the list says whether it arrived."""
    try:
        thread.create(body)
    except DeliveryError as error:
        if not error.unclear or not _marked(thread, mark):
            raise


def _keep_oldest(thread: CommentThread, body: str, found: Sequence[Comment]) -> Posted:
    """Write ``body`` into the oldest comment, and delete what another job added beside it."""
    if not found:
        return Posted.CREATED  # the list of the forge is behind
    oldest, *others = found
    same = _lines(oldest.body) == _lines(body)
    if not same:
        thread.update(oldest, body)
    for other in others:
        thread.delete(other)
    return Posted.SAME if same else Posted.UPDATED


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


# Ask the API of a forge with patience: a rate limit is waited for, a request that only reads is repeated.


_MOST_ATTEMPTS: Final = 4
_PAUSE_SECONDS: Final = 2.0
"""The first pause where the forge does not say how long to wait; each further one is twice as long."""


@dataclass(frozen=True, slots=True)
class PatientRest:
    """Requests that wait at most ``patience`` seconds in all for one answer.

    Attributes:
        rest: the API.
        patience: the longest wait for one request, in seconds. A job costs money while it waits.
        pause: waits for so many seconds.
    """

    rest: Rest
    patience: float = 120.0
    pause: Callable[[float], None] = time.sleep

    def ask(self, method: str, path: str, *, body: Mapping[str, object] | None = None) -> Any:
        """Send a request, and return the JSON of its answer.

        Raises:
            DeliveryError: the forge refuses, or asks to wait for longer than there is patience.
        """
        return self._repeated(lambda: self.rest.ask(method, path, body=body)[1], reads=method == "GET")

    def list(self, path: str, query: Mapping[str, str]) -> list[Any]:
        """Return all values of a list, from all of its pages; a page that fails begins the list again.

        Raises:
            DeliveryError: as for :meth:`ask`.
        """
        found: list[Any] = self._repeated(lambda: list(self._values(path, query)), reads=True)
        return found

    def _values(self, path: str, query: Mapping[str, str]) -> Iterator[Any]:
        for _, page in self.rest.pages(path, query):
            yield from page

    def _repeated(self, request: Callable[[], Any], *, reads: bool) -> Any:
        left = self.patience
        for attempt in range(_MOST_ATTEMPTS):
            try:
                return request()
            except DeliveryError as error:
                wait = error.wait_seconds or _PAUSE_SECONDS * 2**attempt
                if attempt + 1 == _MOST_ATTEMPTS or wait > left or not _may_repeat(error, reads=reads):
                    raise
                left -= wait
                self.pause(wait)
        raise AssertionError  # the last attempt returns or raises


def _may_repeat(error: DeliveryError, *, reads: bool) -> bool:
    """Return True if the same request may succeed later, and does nothing twice.

    A rate limit refuses before anything is done. What broke in the middle may be repeated where it only reads.
    """
    if error.wait_seconds and not error.unclear:
        return True
    if not reads or error.lasting:
        return False
    return not isinstance(error, RefusedError) or error.status >= 500 or error.status in {408, 429}


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


# Read from the variables of a CI job which pull request it is about: forge, project, number and newest commit.


_LARGEST_EVENT: Final = 1 << 22


class ForgeKind(Enum):
    """The forges that comments are posted to."""

    GITHUB = "github"
    GITLAB = "gitlab"


@dataclass(frozen=True, slots=True)
class ForgeJob:
    """What a job says about its pull request.

    Attributes:
        kind: the forge.
        api: the address of its REST API.
        project: ``owner/name``, or the path or id of a project of GitLab.
        number: the number of the pull request, "" where only its branch is known.
        commit: its newest commit when the job began, "" where the job does not say.
        owner: the owner of the repository that its branch is in; GitHub only.
        branch: its branch; GitHub only.
    """

    kind: ForgeKind
    api: str
    project: str
    number: str
    commit: str = ""
    owner: str = ""
    branch: str = ""


def read_job(variables: Mapping[str, str]) -> ForgeJob:
    """Return the pull request of the job that has these environment variables.

    A job of the event ``workflow_run`` is the second step for a pull request from a fork. Which one that is, the event
    says: nothing that the first step wrote is trusted. A job of ``issue_comment`` does not say the newest commit.

    Raises:
        InputError: this is not a job of GitHub Actions or GitLab, or it is about no pull request.
    """
    if variables.get("GITHUB_ACTIONS"):
        return _github(variables)
    if variables.get("GITLAB_CI"):
        return _gitlab(variables)
    raise InputError(
        "this is not a job of GitHub Actions or GitLab",
        where="--number",
        remedy="Give --forge, --api, --project and --number.",
    )


def _github(variables: Mapping[str, str]) -> ForgeJob:
    event = _event(variables.get("GITHUB_EVENT_PATH", ""))
    api, project = variables.get("GITHUB_API_URL", ""), variables.get("GITHUB_REPOSITORY", "")
    number = text_of(event, "pull_request", "number")
    if number:
        return ForgeJob(ForgeKind.GITHUB, api, project, number, text_of(event, "pull_request", "head", "sha"))
    if text_of(event, "issue", "pull_request", "url"):
        return ForgeJob(ForgeKind.GITHUB, api, project, text_of(event, "issue", "number"))
    run = event.get("workflow_run")
    if text_of(run, "event") == "pull_request":
        return ForgeJob(
            ForgeKind.GITHUB,
            api,
            project,
            "",
            commit=text_of(run, "head_sha"),
            owner=text_of(run, "head_repository", "owner", "login"),
            branch=text_of(run, "head_branch"),
        )
    raise InputError(
        f"the event {variables.get('GITHUB_EVENT_NAME', '')!r} is about no pull request",
        where="GITHUB_EVENT_PATH",
        remedy="Run in a job of pull_request, of workflow_run after one, or of issue_comment; or give --number.",
    )


def _event(path: str) -> dict[str, Any]:
    try:
        with Path(path).open("rb") as file:
            event = json.loads(file.read(_LARGEST_EVENT))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            "the event of the job cannot be read", where=path or "GITHUB_EVENT_PATH", remedy="Give --number."
        ) from error
    return event if isinstance(event, dict) else {}


def _gitlab(variables: Mapping[str, str]) -> ForgeJob:
    number = variables.get("CI_MERGE_REQUEST_IID", "")
    if not number:
        raise InputError(
            "this pipeline is about no merge request",
            where="CI_MERGE_REQUEST_IID",
            remedy='Run the job with the rule if: $CI_PIPELINE_SOURCE == "merge_request_event"; or give --number.',
        )
    # In a pipeline of merged results, CI_COMMIT_SHA is a merge that the merge request does not have.
    commit = variables.get("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or variables.get("CI_COMMIT_SHA", "")
    project = variables.get("CI_MERGE_REQUEST_PROJECT_ID") or variables.get("CI_PROJECT_ID", "")
    return ForgeJob(ForgeKind.GITLAB, variables.get("CI_API_V4_URL", ""), project, number, commit)


_PUBLIC: Final = {ForgeKind.GITHUB: "https://api.github.com", ForgeKind.GITLAB: "https://gitlab.com/api/v4"}


def open_thread(job: ForgeJob, token: str, *, pause: Callable[[float], None] | None = None) -> CommentThread | None:
    """Return the comments of the pull request; None where its branch has no open one with the commit of the job.

    The address of the API comes from whoever runs the job, so it may be in a private network.

    Raises:
        DeliveryError: the forge refuses, or does not answer.
        AddressError: the address of the API is none.
    """
    base = (job.api or _PUBLIC[job.kind]).rstrip("/")
    rest = Rest(base, Exchange(OutgoingRule(()).also(base), _headers(job.kind, token)), token)
    patient = PatientRest(rest) if pause is None else PatientRest(rest, pause=pause)
    if job.kind is ForgeKind.GITLAB:
        return GitLabThread(patient, job.project, job.number)
    number = job.number or find_pull_request(patient, job.project, job.owner, job.branch, job.commit)
    return GitHubThread(patient, job.project, number) if number else None


def _headers(kind: ForgeKind, token: str) -> dict[str, str]:
    if kind is ForgeKind.GITLAB:
        return {"PRIVATE-TOKEN": token}
    return {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {token}",
        "X-GitHub-Api-Version": "2022-11-28",
    }
