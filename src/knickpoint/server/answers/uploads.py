"""Take uploaded results in."""

from __future__ import annotations

import hmac
from typing import Final

from knickpoint.ingest.context.sidecar import Sidecar
from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.import_summary import FileSummary, ImportState, ImportSummary
from knickpoint.ingest.watched_source import import_bucket_event
from knickpoint.instance import Instance
from knickpoint.model.errors import InputError
from knickpoint.server.schemas.uploads import ArrivalsAnswer, UploadAnswer

__all__ = ["NotAllowedError", "check_token", "largest_bytes", "take_notification", "take_results"]

_MEGABYTE: Final = 1_000_000


class NotAllowedError(InputError):
    """An upload without the right token."""


def check_token(instance: Instance, authorization: str) -> None:
    """Let a request pass whose ``Authorization`` header shows the token of the instance.

    Raises:
        NotAllowedError: the token is missing or wrong, or the instance takes no uploads.
    """
    token = instance.config.server.upload_token
    if not token:
        raise NotAllowedError(
            "this instance takes no uploads",
            where="[server]",
            remedy="Set upload_token in knickpoint.toml to a secret, and send it as Authorization: Bearer SECRET.",
        )
    kind, _, shown = authorization.partition(" ")
    if kind.lower() != "bearer" or not hmac.compare_digest(shown.strip().encode(), token.encode()):
        raise NotAllowedError(
            "the upload token is missing or wrong",
            where="Authorization",
            remedy="Send Authorization: Bearer SECRET with the upload_token of knickpoint.toml.",
        )


def largest_bytes(instance: Instance) -> int:
    """Return the size of the largest file that is taken."""
    return instance.ingest.largest_megabytes * _MEGABYTE


def take_results(instance: Instance, data: bytes, source: str, told: Sidecar, *, dry_run: bool) -> UploadAnswer:
    """Take one results file in, exactly once.

    Raises:
        InputError: the file cannot be used; nothing of it was taken.
    """
    summary = import_data(instance, data, source=source, told=told, dry_run=dry_run)
    outcome = summary.files[0]
    if outcome.state in {ImportState.REFUSED, ImportState.UNREADABLE}:
        first = outcome.problems[0] if outcome.problems else None
        raise InputError(
            first.message if first else "the file was refused",
            where=(first.where if first else "") or source,
            remedy=first.remedy if first else "",
        )
    return _answer(outcome)


def take_notification(instance: Instance, body: bytes) -> ArrivalsAnswer:
    """Take in the files that the notification of a bucket names; a file that is refused goes into quarantine.

    Raises:
        InputError: the notification cannot be read, or names a file of no source.
        ServiceError: a file cannot be fetched just now.
    """
    return ArrivalsAnswer(files=[_answer(outcome) for outcome in import_bucket_event(instance, body).files])


def _answer(outcome: FileSummary) -> UploadAnswer:
    return UploadAnswer(
        outcome=outcome.state,
        repository=outcome.repository,
        format=outcome.format,
        new=outcome.new,
        same=outcome.same,
        corrected=outcome.corrected,
        rerun=outcome.rerun,
        waiting=outcome.waiting,
        points=outcome.points,
        new_traces=outcome.new_traces,
        lines=ImportSummary((outcome,)).lines(),
    )
