"""Routes of the work of an instance: results that arrive, bisections, schedules, deliveries."""

from __future__ import annotations

import pathlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from tempfile import NamedTemporaryFile
from typing import IO, Annotated, Final

from fastapi import APIRouter, Path, Query, Request
from fastapi.concurrency import run_in_threadpool

from knickpoint.answers import deliveries
from knickpoint.answers.base import BisectionId, ChangeId, DeliveryId
from knickpoint.answers.bisections import (
    BisectionAnswer,
    BisectionDetailAnswer,
    BisectionRequest,
    RemeasuredAnswer,
    ask,
    find_bisection,
    list_bisections,
    list_recipes,
    list_remeasured,
    read_found_flame_graph,
    stop,
)
from knickpoint.answers.deliveries import DeliveriesRequest, DeliveryAnswer, DeliveryChange
from knickpoint.answers.flame_graphs import FlameGraphAnswer
from knickpoint.answers.schedules import ScheduleAnswer, list_schedules
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
from knickpoint.formats.toolbox.numbers import in_utc
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.model.bisection import BisectionState
from knickpoint.model.errors import InputError
from knickpoint.model.notification import DeliveryState
from knickpoint.server.callers import Editor, Measurer, Notifier, Uploader
from knickpoint.server.error_responses import while_waited_for
from knickpoint.server.request_limits import limits_of
from knickpoint.server.routes.dependencies import (
    RESULTS_BODY,
    ChangeKey,
    LineName,
    RepositoryName,
    RequestInstance,
    TraceKey,
    Visible,
)

uploads_router = APIRouter(tags=["results"])

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


@uploads_router.post(
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
        raise InputError("the body is a form, not a results file", where="body", remedy=_FORM_REMEDY)
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
                    instance, pathlib.Path(file.name), source, sidecar, dry_run=dry_run, allow_empty=allow_empty
                ),
            )


@uploads_router.post(
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


bisections_router = APIRouter(tags=["bisections"])

BisectionKey = Annotated[BisectionId, Path(description="Id of the bisection.")]


@bisections_router.get("/bisections")
def get_bisections(
    visible: Visible,
    repository: RepositoryName = "",
    state: Annotated[list[BisectionState] | None, Query(description="Only these states; repeatable.")] = None,
    change: Annotated[ChangeId | None, Query(description="Only those of this change.")] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="How many to return.")] = 50,
) -> list[BisectionAnswer]:
    """List bisections, the newest first."""
    return list_bisections(visible, repository, state or [], change or 0, limit)


@bisections_router.get("/bisections/{bisection}")
def get_bisection(visible: Visible, bisection: BisectionKey) -> BisectionDetailAnswer:
    """Return everything about one bisection: probability of each commit, probes, log, devices, time left."""
    return find_bisection(visible, bisection)


@bisections_router.get("/bisections/{bisection}/flame")
def get_found_flame_graph(
    visible: Visible,
    instance: RequestInstance,
    bisection: BisectionKey,
    benchmark: Annotated[str, Query(description="Default: the first one with profiles of both commits.")] = "",
) -> FlameGraphAnswer:
    """Return the differential flame graph of the commit that a bisection found, against the one before it.

    Only known callers may read it, unless `public_profiles` of `[access]` says otherwise.
    """
    return read_found_flame_graph(visible, instance, bisection, benchmark)


@bisections_router.post("/bisections/{bisection}/stop")
def post_stop(
    _caller: Measurer, visible: Visible, instance: RequestInstance, bisection: BisectionKey
) -> BisectionDetailAnswer:
    """Stop a bisection. Probes that run are ended."""
    return stop(visible, instance, bisection)


@bisections_router.get("/changes/{change}/recipes")
def get_recipes(visible: Visible, instance: RequestInstance, change: ChangeKey) -> list[str]:
    """List the recipes of the configuration with which a change can be bisected."""
    return list_recipes(visible, instance, change)


@bisections_router.post("/changes/{change}/bisection")
def post_bisection(
    _caller: Measurer,
    visible: Visible,
    instance: RequestInstance,
    change: ChangeKey,
    request: BisectionRequest,
) -> BisectionDetailAnswer:
    """Ask for a bisection of a change; where the same one waits or runs, it is returned.

    Only commands of the configuration are run: the request names one of its recipes.
    """
    return ask(visible, instance, change, request.recipe)


@bisections_router.get("/traces/{key}/remeasured")
def get_remeasured(visible: Visible, key: TraceKey, line: LineName = "") -> list[RemeasuredAnswer]:
    """List the values of a trace that probes of bisections measured, in the order of the line."""
    return list_remeasured(visible, key, line)


schedules_router = APIRouter(tags=["schedules"])


@schedules_router.get("/schedules")
def get_schedules(visible: Visible, instance: RequestInstance) -> list[ScheduleAnswer]:
    """List the schedules: which commits they measure, what waits, what became of their newest probes."""
    return list_schedules(instance, visible)


deliveries_router = APIRouter(tags=["deliveries"])


@deliveries_router.get("/deliveries")
def get_deliveries(
    _caller: Editor,
    visible: Visible,
    *,
    change: Annotated[ChangeId | None, Query(description="Only those about this change.")] = None,
    state: Annotated[DeliveryState | None, Query(description="Only those in this state.")] = None,
    channel: Annotated[str, Query(max_length=200, description="Only those of this channel.")] = "",
    before: Annotated[
        DeliveryId | None, Query(description="Id of the last delivery of the page before. Default: the newest ones.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many to return.")] = 200,
) -> list[DeliveryAnswer]:
    """List what was sent to whom, the newest first; it has the addresses of people, so it is for editors."""
    return deliveries.list_deliveries(visible, change=change, state=state, channel=channel, before=before, limit=limit)


@deliveries_router.post("/deliveries/retry")
def post_retry(_caller: Editor, visible: Visible, request: DeliveriesRequest) -> DeliveryChange:
    """Send failed deliveries again, with all their attempts."""
    return deliveries.retry(visible, request.ids)


@deliveries_router.post("/deliveries/drop")
def post_drop(_caller: Editor, visible: Visible, request: DeliveriesRequest) -> DeliveryChange:
    """Drop deliveries that wait or failed: they are not sent."""
    return deliveries.drop(visible, request.ids)
