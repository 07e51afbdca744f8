"""Read the facts that a CI gives its jobs in variables: commit, branch, id of the job, address of its log."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from knickpoint.model.commit import commit_name

_LARGEST_EVENT: Final = 1 << 22


@dataclass(frozen=True, slots=True)
class CiFacts:
    """The facts about the CI job that this process is part of.

    Attributes:
        service: name of the CI.
        revision: the commit that it tests.
        branch: the branch that it tests.
        identity: the id of this execution of this job, different for each attempt.
        environment: facts about the machine.
        links: name → URL.
        revisions: other commits that take part: name → revision.
    """

    service: str
    revision: str
    branch: str = ""
    identity: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    revisions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Service:
    """The names of the variables of one CI; where there are several, the first that is set counts.

    ``sign`` is the variable that is set in every job of this CI.
    """

    name: str
    sign: str
    revision: tuple[str, ...]
    branch: tuple[str, ...]
    identity: tuple[str, ...]
    link: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


_SERVICES: Final = (
    _Service(
        "github",
        "GITHUB_ACTIONS",
        ("GITHUB_SHA",),
        ("GITHUB_HEAD_REF", "GITHUB_REF_NAME"),
        ("GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_JOB", "RUNNER_NAME"),
        environment={"os": "RUNNER_OS", "arch": "RUNNER_ARCH", "runner": "RUNNER_NAME", "image": "ImageOS"},
    ),
    _Service(
        "gitlab",
        "GITLAB_CI",
        ("CI_COMMIT_SHA",),
        ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "CI_COMMIT_REF_NAME"),
        ("CI_JOB_ID",),
        ("CI_JOB_URL",),
        {"runner": "CI_RUNNER_DESCRIPTION", "arch": "CI_RUNNER_EXECUTABLE_ARCH"},
    ),
    _Service(
        "woodpecker",
        "CI_PIPELINE_NUMBER",
        ("CI_COMMIT_SHA",),
        ("CI_COMMIT_SOURCE_BRANCH", "CI_COMMIT_BRANCH"),
        ("CI_REPO", "CI_PIPELINE_NUMBER", "CI_WORKFLOW_NAME", "CI_STEP_NAME"),
        ("CI_PIPELINE_URL",),
    ),
    _Service(
        "jenkins",
        "JENKINS_URL",
        ("GIT_COMMIT",),
        ("CHANGE_BRANCH", "BRANCH_NAME", "GIT_BRANCH"),
        ("BUILD_TAG", "NODE_NAME"),
        ("BUILD_URL",),
        {"runner": "NODE_NAME"},
    ),
    _Service(
        "circleci",
        "CIRCLECI",
        ("CIRCLE_SHA1",),
        ("CIRCLE_BRANCH",),
        ("CIRCLE_WORKFLOW_JOB_ID", "CIRCLE_NODE_INDEX"),
        ("CIRCLE_BUILD_URL",),
        {"job": "CIRCLE_JOB"},
    ),
    _Service(
        "azure",
        "TF_BUILD",
        ("SYSTEM_PULLREQUEST_SOURCECOMMITID", "BUILD_SOURCEVERSION"),
        ("SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCHNAME"),
        ("BUILD_BUILDID", "SYSTEM_JOBID", "SYSTEM_JOBATTEMPT"),
        environment={"os": "AGENT_OS", "arch": "AGENT_OSARCHITECTURE", "runner": "AGENT_NAME"},
    ),
    _Service(
        "buildkite",
        "BUILDKITE",
        ("BUILDKITE_COMMIT",),
        ("BUILDKITE_BRANCH",),
        ("BUILDKITE_JOB_ID", "BUILDKITE_RETRY_COUNT"),
        ("BUILDKITE_BUILD_URL",),
        {"runner": "BUILDKITE_AGENT_NAME"},
    ),
    _Service(
        "travis",
        "TRAVIS",
        ("TRAVIS_PULL_REQUEST_SHA", "TRAVIS_COMMIT"),
        ("TRAVIS_PULL_REQUEST_BRANCH", "TRAVIS_BRANCH"),
        ("TRAVIS_JOB_ID",),
        ("TRAVIS_JOB_WEB_URL",),
        {"os": "TRAVIS_OS_NAME", "arch": "TRAVIS_CPU_ARCH"},
    ),
    _Service(
        "bitbucket",
        "BITBUCKET_BUILD_NUMBER",
        ("BITBUCKET_COMMIT",),
        ("BITBUCKET_BRANCH",),
        ("BITBUCKET_PIPELINE_UUID", "BITBUCKET_STEP_UUID", "BITBUCKET_STEP_RUN_NUMBER"),
    ),
    _Service(
        "appveyor",
        "APPVEYOR",
        ("APPVEYOR_PULL_REQUEST_HEAD_COMMIT", "APPVEYOR_REPO_COMMIT"),
        ("APPVEYOR_PULL_REQUEST_HEAD_REPO_BRANCH", "APPVEYOR_REPO_BRANCH"),
        ("APPVEYOR_JOB_ID",),
    ),
    _Service(
        "drone",
        "DRONE",
        ("DRONE_COMMIT_SHA",),
        ("DRONE_SOURCE_BRANCH", "DRONE_BRANCH"),
        ("DRONE_BUILD_NUMBER", "DRONE_STAGE_NUMBER", "DRONE_STEP_NUMBER"),
        ("DRONE_BUILD_LINK",),
    ),
    _Service(
        "teamcity",
        "TEAMCITY_VERSION",
        ("BUILD_VCS_NUMBER",),
        (),
        ("TEAMCITY_BUILDCONF_NAME", "BUILD_NUMBER"),
    ),
)


def read_ci(environ: Mapping[str, str] | None = None) -> CiFacts | None:
    """Return the facts that the variables of the CI give, None outside of a CI or where it names no commit.

    For a pull request, GitHub checks out a merge commit that no clone has. The head of the pull request counts as the
    commit, and the merge commit, which is what is tested, is kept among the revisions as ``merge``. A job of
    ``workflow_run`` handles what the run before it measured, so it is about the commit of that run.
    """
    variables = os.environ if environ is None else environ
    for service in _SERVICES:
        if not variables.get(service.sign):
            continue
        revision = next((name for key in service.revision if (name := commit_name(variables.get(key, "")))), "")
        if not revision:
            return None
        facts = {name: variables[source] for name, source in service.environment.items() if variables.get(source)}
        link = _first(variables, service.link)
        revisions: dict[str, str] = {}
        branch = _first(variables, service.branch).removeprefix("refs/heads/")
        if service.name == "github":
            event = _github_event(variables)
            head = commit_name(_text(event, "pull_request", "head", "sha"))
            if head and head != revision:
                revisions["merge"] = revision
                revision = head
            before = commit_name(_text(event, "workflow_run", "head_sha"))
            if before:
                revision, branch = before, _branch_before(event, variables)
            link = _github_link(variables)
            if variables.get("RUNNER_ENVIRONMENT") == "github-hosted":
                facts.pop("runner", None)
        parts = [variables[name] for name in service.identity if variables.get(name)]
        return CiFacts(
            service.name,
            revision,
            branch,
            "/".join((service.name, *parts)) if parts else "",
            {"ci": service.name, **facts},
            {"CI job": link} if link else {},
            revisions,
        )
    return None


def _first(variables: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((variables[name] for name in names if variables.get(name)), "")


def _github_link(variables: Mapping[str, str]) -> str:
    parts = [variables.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")]
    return "{}/{}/actions/runs/{}".format(*parts) if all(parts) else ""


def _github_event(variables: Mapping[str, str]) -> Mapping[str, Any]:
    """Return the event of a job for a pull request, or after another run.

    {} for others, and where it cannot be read.
    """
    if not variables.get("GITHUB_EVENT_NAME", "").startswith(("pull_request", "workflow_run")):
        return {}
    try:
        with Path(variables.get("GITHUB_EVENT_PATH", "")).open("rb") as file:
            event = json.loads(file.read(_LARGEST_EVENT))
    except (OSError, ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def _branch_before(event: Mapping[str, Any], variables: Mapping[str, str]) -> str:
    """Return the branch of the run before.

    That of a fork begins with its owner, so that its main is not the main here.
    """
    branch = _text(event, "workflow_run", "head_branch")
    if _text(event, "workflow_run", "head_repository", "full_name") == variables.get("GITHUB_REPOSITORY"):
        return branch
    return f"{_text(event, 'workflow_run', 'head_repository', 'owner', 'login')}:{branch}"


def _text(event: Mapping[str, Any], *names: str) -> str:
    """Return the text at ``names`` within the event, "" where there is none."""
    found: Any = event
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, str) else ""
