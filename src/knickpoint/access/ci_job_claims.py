"""Read from the claims of an identity token which project a CI job belongs to, and what started it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from knickpoint.access.identity_token import refused
from knickpoint.access.settings import CiJobKind

_GITHUB_EVENTS: Final = frozenset(
    {
        "merge_group",
        "pull_request",
        "push",
        "release",
        "repository_dispatch",
        "schedule",
        "workflow_dispatch",
    }
)
"""The events whose jobs may upload: those that only people start who may write to the project.

Jobs of ``pull_request`` from a fork have no identity token. ``pull_request_target``, ``workflow_run``,
``issue_comment`` and their like have one, with the ref of the default branch, although anyone can start them: such a
job may run the code of a fork, which would then upload in the name of ``main``.
"""

_GITLAB_REFS: Final = {"branch": "refs/heads/", "tag": "refs/tags/"}
_GITLAB_MERGE_REQUESTS: Final = ("merge_request_event", "external_pull_request_event")


@dataclass(frozen=True, slots=True)
class CiJob:
    """A job as its CI service describes it: project, full name of the branch or tag, whether that is protected."""

    kind: CiJobKind
    project: str
    ref: str
    protected: bool

    @property
    def name(self) -> str:
        """The name of the caller, as in ``github:owner/name``."""
        return f"{self.kind.value}:{self.project}"


def read_job(kind: CiJobKind, claims: Mapping[str, object]) -> CiJob:
    """Return the job that verified ``claims`` describe.

    Raises:
        NotSignedInError: a claim is missing, or jobs of such an event may not upload.
    """
    return _github_job(claims) if kind is CiJobKind.GITHUB else _gitlab_job(claims)


def _github_job(claims: Mapping[str, object]) -> CiJob:
    event = _text(claims, "event_name")
    if event not in _GITHUB_EVENTS:
        raise refused(f"jobs of the event {event[:100]!a} may not upload")
    return CiJob(CiJobKind.GITHUB, _text(claims, "repository"), _text(claims, "ref"), _is_protected(claims))


def _gitlab_job(claims: Mapping[str, object]) -> CiJob:
    ref, kind = _text(claims, "ref"), _text(claims, "ref_type")
    if kind not in _GITLAB_REFS:
        raise refused(f"its claim ref_type is {kind[:100]!a}")
    # The ref of a merge request is its source branch, which a fork may call main.
    from_merge_request = claims.get("pipeline_source") in _GITLAB_MERGE_REQUESTS
    prefix = "refs/merge-requests/" if from_merge_request else _GITLAB_REFS[kind]
    return CiJob(CiJobKind.GITLAB, _text(claims, "project_path"), prefix + ref, _is_protected(claims))


def _is_protected(claims: Mapping[str, object]) -> bool:
    value = claims.get("ref_protected")
    return value is True or value == "true"


def _text(claims: Mapping[str, object], name: str) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or not value:
        raise refused(f"its claim {name} is missing or no text")
    return value
