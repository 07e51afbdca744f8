"""Decide what a job of GitHub Actions or GitLab CI may do, by the identity token that its CI service gave to it.

No secret is stored in the CI: the service signs who the job is, and the configuration says which jobs may upload.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from fnmatch import fnmatchcase

from knickpoint.access.ci_job_claims import CiJob, read_job
from knickpoint.access.identity_token import check_audience, check_times, read_token, refused, verify
from knickpoint.access.issuer_keys import KeySource
from knickpoint.access.settings import CiJobSettings
from knickpoint.model.access import NO_GRANTS, Caller, CallerKind, Grants, Permission


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
