"""Take results that scripts upload."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

from fastapi import APIRouter, Header, Query, Request
from fastapi.concurrency import run_in_threadpool

from knickpoint.formats.toolbox.timestamps import in_utc
from knickpoint.ingest.context.sidecar import Sidecar
from knickpoint.model.errors import InputError
from knickpoint.server.answers.uploads import check_token, largest_bytes, take_notification, take_results
from knickpoint.server.routes.dependencies import InstanceNeed
from knickpoint.server.schemas.base import ErrorAnswer
from knickpoint.server.schemas.uploads import ArrivalsAnswer, UploadAnswer

__all__ = ["router"]

router = APIRouter(tags=["results"])

_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


_DENIED: Final[dict[int | str, dict[str, object]]] = {
    401: {"model": ErrorAnswer, "description": "The upload token is missing or wrong."}
}
_SPLIT: Final = "Split it, or raise largest_megabytes of [ingest] in knickpoint.toml."
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
    responses=_DENIED,
)
async def post_results(
    request: Request,
    instance: InstanceNeed,
    *,
    name: Annotated[str, Query(min_length=1, max_length=1000, description="What names this file among all others.")],
    repository: Annotated[str, Query(description="Name or URL of the repository.")] = "",
    commit: Annotated[str, Query(description="Commit of the results, where they do not say it.")] = "",
    branch: Annotated[str, Query(description="Branch of the results.")] = "",
    time: Annotated[
        datetime | None, Query(description="When they were measured, where they do not say it; UTC without a zone.")
    ] = None,
    run: Annotated[str, Query(description="Id of this execution, attempt included.")] = "",
    format: Annotated[str, Query(description="Name of the format; the file is looked at without it.")] = "",  # noqa: A002
    dry_run: Annotated[bool, Query(description="Do everything, then undo it.")] = False,
    authorization: Annotated[str, Header(description="Bearer and the upload_token of knickpoint.toml.")] = "",
) -> UploadAnswer:
    """Take a results file, the body of the request, into the store, exactly once."""
    check_token(instance, authorization)
    data = await _read(request, largest_bytes(instance), _SPLIT)
    moment = in_utc(time) if time is not None else None
    beside = Sidecar(commit=commit, branch=branch, repository=repository, run=run, time=moment, format=format)
    return await run_in_threadpool(take_results, instance, data, f"upload:{name}", beside, dry_run=dry_run)


@router.post(
    "/arrivals",
    openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}},
    responses=_DENIED,
)
async def post_arrivals(
    request: Request,
    instance: InstanceNeed,
    *,
    token: Annotated[str, Query(description="The upload_token, for senders that cannot set a header.")] = "",
    authorization: Annotated[str, Header(description="Bearer and the upload_token of knickpoint.toml.")] = "",
) -> ArrivalsAnswer:
    """Take in the files that a bucket says have arrived; a second delivery changes nothing.

    The body is the notification as its sender made it: of S3 and what speaks like it (also through SNS), of
    Google Cloud Storage (Pub/Sub push or CloudEvents), or `{"url": "…"}`. Only files of `[ingest.sources]` are
    taken. 503 asks for another delivery.
    """
    check_token(instance, authorization or f"Bearer {token}")
    body = await _read(request, _LARGEST_EVENT, "Send the notification, not the file.")
    return await run_in_threadpool(take_notification, instance, body)
