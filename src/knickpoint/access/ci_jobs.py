"""Decide what a job of GitHub Actions or GitLab CI may do, by the identity token that its CI service gave to it.

No secret is stored in the CI: the service signs who the job is, and the configuration says which jobs may upload.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Final

from knickpoint.access.identity_token import KeySource, check_audience, check_times, read_token, refused, verify
from knickpoint.access.settings import CiJobKind, CiJobSettings
from knickpoint.model.access import NO_GRANTS, Caller, CallerKind, Grants, Permission

# Read from the claims of an identity token which project a CI job belongs to, and what started it.


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


def ci_job_caller(
    text: str, settings: Mapping[str, CiJobSettings], *, audience: str, keys: KeySource, now: datetime
) -> Caller:
    """Return the CI job that sends the identity token ``text``, with the permission to upload.

    A job may upload where a section of ``settings`` names its issuer, project and ref, and the token is made for the
    audience of this section. Where several do, it has the permissions of all.

    Args:
        text: the token, without ``Bearer``.
        settings: the sections of ``[ci_jobs]``.
        audience: the audience of sections that name none: the public address of the server.
        keys: the keys of the issuers.
        now: the time at which the token must be valid.

    Raises:
        NotSignedInError: the token is not accepted. The message is the same for every reason; the log has the reason.
        ServiceError: the keys of the issuer cannot be fetched now.
    """
    token = read_token(text)
    sections = [section for section in settings.values() if section.issuer_or_default == token.issuer]
    if not sections:
        raise refused(f"its issuer {token.issuer[:200]!a} is not configured")
    key = keys.find(token.issuer, token.key_id)
    if key is None:
        raise refused("its issuer has no key with this id")
    claims = verify(token, key)

    # From here on the issuer vouches for every claim.
    if claims.get("iss") != token.issuer:
        raise refused("its issuer is not the one that it was read with")
    check_times(claims, now)
    audiences = check_audience(claims, {stated for each in sections if (stated := each.audience or audience)})
    job = read_job(sections[0].kind, claims)
    matching = [each for each in sections if (each.audience or audience) in audiences and _includes(each, job)]
    if not matching:
        raise refused(f"no section names jobs of {job.project[:200]!a} at {job.ref[:200]!a} for its audience")
    return Caller(CallerKind.CI_JOB, job.name, _grants(matching), title=f"{job.project} ({job.kind.value})")


def _includes(section: CiJobSettings, job: CiJob) -> bool:
    """Return True if a section names a job. Names are compared whole and with their case."""
    if job.project not in section.projects or (section.protected and not job.protected):
        return False
    return not section.refs or any(fnmatchcase(job.ref, pattern) for pattern in section.refs)


def _grants(sections: list[CiJobSettings]) -> Grants:
    granted = NO_GRANTS
    for section in sections:
        granted |= Grants.of({Permission.UPLOAD}, section.repositories)
    return granted
