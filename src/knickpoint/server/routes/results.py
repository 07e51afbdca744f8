"""Take results that scripts upload."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.concurrency import run_in_threadpool

from knickpoint.ingest.sidecar import Sidecar
from knickpoint.model.errors import InputError
from knickpoint.server.answers import ErrorAnswer, UploadAnswer
from knickpoint.server.results import check_token, largest_bytes, take_results
from knickpoint.server.routes.needs import InstanceNeed

__all__ = ["router"]

router = APIRouter(tags=["results"])

_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


async def _read(request: Request, largest: int) -> bytes:
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > largest:
            raise InputError(
                f"the file is larger than {largest:,} bytes",
                where="body",
                remedy="Split it, or raise largest_megabytes of [ingest] in knickpoint.toml.",
            )
    return bytes(data)


@router.post(
    "/results",
    openapi_extra=_BODY,
    responses={401: {"model": ErrorAnswer, "description": "The upload token is missing or wrong."}},
)
async def post_results(
    request: Request,
    instance: InstanceNeed,
    *,
    name: Annotated[str, Query(min_length=1, max_length=1000, description="What names this file among all others.")],
    repository: Annotated[str, Query(description="Name or URL of the repository.")] = "",
    commit: Annotated[str, Query(description="Commit of the results, where they do not say it.")] = "",
    branch: Annotated[str, Query(description="Branch of the results.")] = "",
    run: Annotated[str, Query(description="Id of this execution, attempt included.")] = "",
    format: Annotated[str, Query(description="Name of the format; the file is looked at without it.")] = "",  # noqa: A002
    dry_run: Annotated[bool, Query(description="Do everything, then undo it.")] = False,
    authorization: Annotated[str, Header(description="Bearer and the upload_token of knickpoint.toml.")] = "",
) -> UploadAnswer:
    """Take a results file, the body of the request, into the store, exactly once."""
    check_token(instance, authorization)
    data = await _read(request, largest_bytes(instance))
    told = Sidecar(commit=commit, branch=branch, repository=repository, run=run, format=format)
    return await run_in_threadpool(take_results, instance, data, f"upload:{name}", told, dry_run=dry_run)
