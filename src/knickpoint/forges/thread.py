"""Open the comments of the pull request that a job is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from knickpoint.forges.comment import CommentThread
from knickpoint.forges.github import GitHubThread, find_pull_request
from knickpoint.forges.gitlab import GitLabThread
from knickpoint.forges.job import ForgeJob, ForgeKind
from knickpoint.forges.patience import PatientRest
from knickpoint.notify.exchange import Exchange
from knickpoint.notify.trackers.rest import Rest
from knickpoint.outgoing import OutgoingRule

__all__ = ["open_thread"]

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
