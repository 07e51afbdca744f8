"""The outcome of an upload."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from pydantic import Field

from knickpoint.answers.base import Answer
from knickpoint.ingest.bucket_events import import_bucket_event
from knickpoint.ingest.commit_sources.selection import CommitSources
from knickpoint.ingest.import_summary import FileSummary, ImportState, ImportSummary
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import Instance
from knickpoint.instance.separate_import import import_separately, separate_reader
from knickpoint.model.access import Caller, Permission
from knickpoint.model.errors import ForbiddenError, InputError


class UploadAnswer(Answer):
    """The outcome of importing one results file."""

    outcome: ImportState
    repository: str
    format: str
    new: int = Field(description="Runs that were new.")
    same: int = Field(description="Runs that the store had already.")
    corrected: int
    rerun: int
    waiting: int = Field(
        description="Runs of unknown commits; they are imported once the repository has these commits."
    )
    points: int
    new_traces: int
    lines: list[str] = Field(description="The same in words, one line a fact.")


class ArrivalsAnswer(Answer):
    """The outcome of importing the files that a bucket event names."""

    files: list[UploadAnswer] = Field(description="Those that belong to a source and still exist.")


# Import what an upload brings, and build the answer about it.


_MEGABYTE: Final = 1_000_000

_PARAMETERS: Final = {
    "commit": "commit",
    "as": "format",
    "time": "time",
    "repository": "repository",
    "allow-empty": "allow_empty",
}
"""Option of the command line → the parameter of an upload that does the same."""
_OPTION: Final = re.compile(rf"--({'|'.join(_PARAMETERS)})\b")


def permitted_repository(instance: Instance, caller: Caller, requested: str) -> str:
    """Return the repository that an upload of ``caller`` goes to: what was ``requested``, "" where the results decide.

    The results do not decide for a caller that may upload to some repositories only, because the repository is checked
    before the file is read, and has to hold for a file that waits or is tried again, too.

    Raises:
        ForbiddenError: the caller may not upload to this repository, or names none of several.
    """
    grants = caller.grants
    if Permission.UPLOAD in grants.everywhere:
        return requested
    permitted = [name for name in grants.repositories if grants.allow(Permission.UPLOAD, name)]
    if not requested and len(permitted) == 1:
        return permitted[0]
    if requested:
        find = CommitSources(instance).repository_name
        name = find(requested, "")
        if name in permitted and find(name, "") == name:
            return name
    raise ForbiddenError(
        f"the caller {caller.name} may upload to some repositories only",
        where="repository",
        remedy="Name one of these in the address of the upload, as in repository=NAME: GET /api/v1/me lists them.",
    )


def upload_source(caller: Caller, repository: str, name: str) -> str:
    """Return the name under which an upload is known: ``name``, within its repository for a caller limited to some.

    A file takes the place of an earlier one of its name in the ledger, in quarantine and among the waiting files. So a
    limited caller must not reach the files of another repository by their names.
    """
    everywhere = Permission.UPLOAD in caller.grants.everywhere
    return f"upload:{name}" if everywhere else f"upload:{repository}:{name}"


def largest_bytes(instance: Instance) -> int:
    """Return the size in bytes of the largest file that the instance accepts."""
    return instance.ingest.largest_megabytes * _MEGABYTE


def import_upload(
    instance: Instance, path: Path, source: str, sidecar: Sidecar, *, dry_run: bool, allow_empty: bool = False
) -> UploadAnswer:
    """Import one results file, exactly once, in another process.

    Raises:
        AbandonedError: the client disconnected; nothing of the file was imported.
        InputError: the file cannot be used, or takes too long; nothing of it was imported.
        ServiceError: the process was ended; nothing of the file was imported.
    """
    summary = import_separately(instance, path, source=source, stated=sidecar, dry_run=dry_run, allow_empty=allow_empty)
    outcome = summary.files[0]
    if outcome.state in {ImportState.REFUSED, ImportState.UNREADABLE}:
        first = outcome.problems[0] if outcome.problems else None
        raise InputError(
            first.message if first else "the file was refused",
            where=(first.where if first else "") or source,
            remedy=_OPTION.sub(lambda found: f"the parameter {_PARAMETERS[found[1]]}", first.remedy) if first else "",
        )
    return _upload_answer(outcome)


def import_notified_files(instance: Instance, body: bytes) -> ArrivalsAnswer:
    """Import the files that a bucket event names; a file that is refused goes into quarantine.

    Raises:
        InputError: the event cannot be read, or names a file of no source.
        ServiceError: a file is unavailable now.
    """
    summary = import_bucket_event(instance, body, reader=separate_reader(instance))
    return ArrivalsAnswer(files=[_upload_answer(outcome) for outcome in summary.files])


def _upload_answer(outcome: FileSummary) -> UploadAnswer:
    return UploadAnswer.of(outcome, outcome=outcome.state, lines=ImportSummary((outcome,)).lines())
