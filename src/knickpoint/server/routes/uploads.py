"""Routes of uploads: results files, and the events of buckets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.concurrency import run_in_threadpool

from knickpoint.answers.uploads import (
    ArrivalsAnswer,
    UploadAnswer,
    import_notified_files,
    import_upload,
    largest_bytes,
    permitted_repository,
    upload_source,
)
from knickpoint.budget import spending
from knickpoint.formats.toolbox.timestamps import in_utc
from knickpoint.ingest.context.sidecar import Sidecar
from knickpoint.model.errors import InputError
from knickpoint.server.callers import Notifier, Uploader
from knickpoint.server.progress_responses import while_waited_for
from knickpoint.server.request_limits import limits_of
from knickpoint.server.routes.dependencies import RESULTS_BODY, RequestInstance

router = APIRouter(tags=["results"])

_SPLIT_REMEDY: Final = "Split it, or raise largest_megabytes of [ingest] in knickpoint.toml."
_FORM_REMEDY: Final = "Send the file as the body, as curl --data-binary @FILE does."
_LARGEST_EVENT: Final = 1_000_000


@asynccontextmanager
async def _received(request: Request, largest: int, remedy: str) -> AsyncIterator[IO[bytes]]:
    """Receive the body of a request, however slowly it comes, and give it as a file with a name.

    Raises:
        InputError: it is larger than ``largest`` bytes.
    """
    with NamedTemporaryFile(prefix="knickpoint-upload-") as file:
        async for piece in request.stream():
            if file.tell() + len(piece) > largest:
                raise InputError(f"the body is larger than {largest:,} bytes", where="body", remedy=remedy)
            file.write(piece)
        file.flush()
        file.seek(0)
        yield file


@router.post(
    "/results",
    openapi_extra=RESULTS_BODY,
)
async def post_results(
    caller: Uploader,
    request: Request,
    instance: RequestInstance,
    *,
    name: Annotated[str, Query(min_length=1, max_length=1000, description="Name of the file, unique in the instance.")],
    repository: Annotated[str, Query(description="Name or URL of the repository.")] = "",
    commit: Annotated[str, Query(min_length=1, description="Commit of the results, where they do not name it.")] = "",
    branch: Annotated[str, Query(min_length=1, description="Branch of the results.")] = "",
    time: Annotated[
        datetime | None, Query(description="When they were measured, where they do not give it; UTC without a zone.")
    ] = None,
    run: Annotated[str, Query(description="Id of this run, including its attempt.")] = "",
    benchmark: Annotated[str, Query(description="Benchmark of a profile. Default: from the name of the file.")] = "",
    format: Annotated[str, Query(description="Name of the format. Default: recognised from the content.")] = "",  # noqa: A002
    dry_run: Annotated[bool, Query(description="Import the file, then roll back.")] = False,
    allow_empty: Annotated[bool, Query(description="Take a file that holds no results; else it is refused.")] = False,
) -> UploadAnswer:
    """Import a results file or a profile, the body of the request, exactly once.

    The answer comes when the results are stored. If the client disconnects before, or they take longer than
    `import_seconds` of `[limits]`, nothing of them is. 429 and 503 with `Retry-After` say that nothing of them is, and
    when to send the file again. Callers and repositories take turns.
    """
    if request.headers.get("content-type", "").lower().startswith("multipart/"):
        raise InputError("the body is a form, and not a results file", where="body", remedy=_FORM_REMEDY)
    repository = permitted_repository(instance, caller, repository)
    source = upload_source(caller, repository, name)
    measured = in_utc(time) if time is not None else None
    params = {"benchmark": benchmark} if benchmark else {}
    sidecar = Sidecar(commit, branch, repository, run, measured, format, params)
    limits = limits_of(request)
    turn = limits.import_turn(caller.name, repository)
    async with _received(request, largest_bytes(instance), _SPLIT_REMEDY) as file, turn:
        with spending(limits.import_budget()):
            return await while_waited_for(
                request,
                lambda: import_upload(
                    instance, Path(file.name), source, sidecar, dry_run=dry_run, allow_empty=allow_empty
                ),
            )


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
    received = _received(request, _LARGEST_EVENT, "Send the event, not the file.")
    async with received as file, limits_of(request).import_turn("arrivals", ""):
        return await run_in_threadpool(lambda: import_notified_files(instance, file.read()))
