"""Open the comments of the pull request that a job is about."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Final

from knickpoint.forges.comment import CommentThread, PatientRest
from knickpoint.forges.github import GitHubThread, find_pull_request
from knickpoint.forges.gitlab import GitLabThread
from knickpoint.model.errors import InputError
from knickpoint.notify.channel import Exchange
from knickpoint.notify.trackers.rest import Rest, text_of
from knickpoint.outgoing import OutgoingRule

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
