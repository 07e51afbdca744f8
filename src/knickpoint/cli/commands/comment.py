"""``knick comment``: post the report of a check as the one comment of a pull request."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.exit_codes import NO_DATA
from knickpoint.cli.terminal import note
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.forges import ForgeJob

_TOKENS: Final = {
    "github": ("KNICKPOINT_FORGE_TOKEN", "GITHUB_TOKEN"),
    "gitlab": ("KNICKPOINT_FORGE_TOKEN", "GITLAB_TOKEN"),
}
_LARGEST: Final = 1 << 20


@click.command("comment")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--forge", type=click.Choice(["github", "gitlab"]), default=None, help="The forge. Default: that of the job."
)
@click.option("--api", default="", metavar="URL", help="The address of its REST API. Default: that of the job.")
@click.option("--project", default="", metavar="NAME", help="The project: owner/name. Default: that of the job.")
@click.option("--number", default="", metavar="N", help="The pull request. Default: that of the job.")
@click.option(
    "--commit",
    default="",
    metavar="HASH",
    help="The commit that FILE is about. Default: that of the job, if --number is not given.",
)
@click.option(
    "--when",
    type=click.Choice(["always", "changed", "worse"]),
    default="always",
    show_default=True,
    help="Which reports begin a comment: all, those with any change, or with anything worse. An existing comment is "
    "updated.",
)
def command(*, file: Path, forge: str | None, api: str, project: str, number: str, commit: str, when: str) -> None:
    """Post FILE, which `knick check --report markdown=FILE` wrote, as the one comment of a pull request.

    An existing comment is updated. In a job of GitHub Actions or GitLab the pull request is that of the job; in a job
    of the event workflow_run, it is that of the run before. The token is in KNICKPOINT_FORGE_TOKEN, else in
    GITHUB_TOKEN or GITLAB_TOKEN; it only needs the right to comment on pull requests.

    The exit code is 0 when the comment is there or not wanted (--when), 2 when it could not be posted, and 3 when the
    pull request is closed or has a newer commit: then its comment is left as it is.
    """
    from knickpoint.forges import Posted, When, open_thread, post_comment

    job = _job(forge, api, project, number, commit)
    body = _read(file)
    thread = open_thread(job, _token(job.kind.value))
    posted = Posted.OUTDATED if thread is None else post_comment(thread, body, commit=job.commit, when=When(when))
    if posted is Posted.OUTDATED:
        click.echo("knick: not posted: the pull request is closed or has a newer commit", err=True)
        raise click.exceptions.Exit(NO_DATA)
    note(f"The comment of {job.project} is {posted.value}.")


def _job(forge: str | None, api: str, project: str, number: str, commit: str) -> ForgeJob:
    """Return the pull request of the options; what they leave open is that of the job."""
    from knickpoint.forges import ForgeJob, ForgeKind, read_job

    if number and forge and project:
        return ForgeJob(ForgeKind(forge), api, project, number, commit)
    job = read_job(os.environ)
    if number:
        job = replace(job, number=number, commit=commit)
    return replace(
        job,
        kind=ForgeKind(forge) if forge else job.kind,
        api=api or job.api,
        project=project or job.project,
        commit=commit or job.commit,
    )


def _token(kind: str) -> str:
    names = _TOKENS[kind]
    token = next((os.environ[name] for name in names if os.environ.get(name)), "")
    if not token:
        raise InputError(
            "there is no token",
            where=" or ".join(names),
            remedy="Set one of these variables. Jobs of pull requests from forks have no secrets: see docs/guide/ci.md.",
        )
    return token


def _read(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return opened.read(_LARGEST).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            "the report cannot be read", where=str(file), remedy="Give the file of knick check --report markdown=FILE."
        ) from error
