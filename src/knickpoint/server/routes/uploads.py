"""Routes of uploads: results files, and the events of buckets."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool

from knickpoint.formats.toolbox.timestamps import in_utc
from knickpoint.ingest.context.sidecar import Sidecar
from knickpoint.model.errors import InputError
from knickpoint.server.answers.uploads import (
    import_notified_files,
    import_upload,
    largest_bytes,
    permitted_repository,
)
from knickpoint.server.callers import Notifier, Uploader
from knickpoint.server.routes.dependencies import RequestInstance
from knickpoint.server.schemas.uploads import ArrivalsAnswer, UploadAnswer

__all__ = ["router"]

router = APIRouter(tags=["results"])

_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


_SPLIT_REMEDY: Final = "Split it, or raise largest_megabytes of [ingest] in knickpoint.toml."
_LARGEST_EVENT: Final = 1_000_000


async def _read(request: Request, largest: int, remedy: str) -> bytes:
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > largest:
            raise InputError(f"the body is larger than {largest:,} bytes", where="body", remedy=remedy)
    return bytes(data)


@router.post(
    "/results",
    openapi_extra=_BODY,
)
async def post_results(
    caller: Uploader,
    request: Request,
    instance: RequestInstance,
    *,
    name: Annotated[str, Query(min_length=1, max_length=1000, description="Name of the file, unique in the instance.")],
    repository: Annotated[str, Query(description="Name or URL of the repository.")] = "",
    commit: Annotated[str, Query(description="Commit of the results, where they do not name it.")] = "",
    branch: Annotated[str, Query(description="Branch of the results.")] = "",
    time: Annotated[
        datetime | None, Query(description="When they were measured, where they do not give it; UTC without a zone.")
    ] = None,
    run: Annotated[str, Query(description="Id of this run, including its attempt.")] = "",
    format: Annotated[str, Query(description="Name of the format. Default: recognised from the content.")] = "",  # noqa: A002
    dry_run: Annotated[bool, Query(description="Import the file, then roll back.")] = False,
) -> UploadAnswer:
    """Import a results file, the body of the request, exactly once."""
    repository = permitted_repository(instance, caller, repository)
    data = await _read(request, largest_bytes(instance), _SPLIT_REMEDY)
    measured = in_utc(time) if time is not None else None
    sidecar = Sidecar(commit=commit, branch=branch, repository=repository, run=run, time=measured, format=format)
    return await run_in_threadpool(import_upload, instance, data, f"upload:{name}", sidecar, dry_run=dry_run)


@router.post(
    "/arrivals",
    openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}},
)
async def post_arrivals(_caller: Notifier, request: Request, instance: RequestInstance) -> ArrivalsAnswer:
    """Import the files that a bucket announces; a second delivery changes nothing.

    The body is the event as its sender made it: S3 and compatible services (also through SNS), Google Cloud Storage
    (Pub/Sub push or CloudEvents), or `{"url": "…"}`. Only files of `[ingest.sources]` are imported. 503 asks for
    another delivery.
    """
    body = await _read(request, _LARGEST_EVENT, "Send the event, not the file.")
    return await run_in_threadpool(import_notified_files, instance, body)
