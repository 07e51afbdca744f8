"""Answer a request in lines while its work goes on: how far it is, and at the end the answer or what went wrong."""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final, TypeVar

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from knickpoint.answers.base import Answer
from knickpoint.budget import abandon
from knickpoint.progress import Progress, Report, reporting
from knickpoint.server.error_responses import error_response

# Abandon the work of a request when its client closes the connection.


Result = TypeVar("Result")

_DISCONNECT: Final = "http.disconnect"


async def while_waited_for(request: Request, work: Callable[[], Result]) -> Result:
    """Return the result of ``work``, done in a thread; if the client goes before, the work ends at its next check.

    Raises:
        AbandonedError: the client has gone.
    """
    watching = asyncio.create_task(abandon_on_disconnect(request))
    try:
        return await asyncio.create_task(run_in_threadpool(work))
    finally:
        watching.cancel()


async def abandon_on_disconnect(request: Request) -> None:
    """Wait until the client of ``request`` closes the connection, and let its work end then."""
    while (await request.receive())["type"] != _DISCONNECT:
        pass
    abandon()


_MEDIA_TYPE: Final = "application/x-ndjson"
_EVERY_SECONDS: Final = 0.1
_GZIP: Final = 16 + zlib.MAX_WBITS
_LEVEL: Final = 5

LINES: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {_MEDIA_TYPE: {"schema": {"type": "string"}}}},
}
"""What an operation documents whose answer may come in lines."""


async def answer_with_progress(request: Request, work: Callable[[], Answer]) -> Response:
    """Do ``work`` in a thread, and answer with lines of JSON.

    A line is ``{"progress": …}`` whenever that has changed, at most ten times a second, and at the end ``{"answer":
    …}``, or ``{"error": …, "status": …}``. What fails before it tells anything is an error as of any request. If the
    client goes, the work ends at its next check.

    Raises:
        KnickpointError: the work failed before it reported anything.
    """
    with reporting() as report:
        task = asyncio.create_task(run_in_threadpool(work))
    watching = asyncio.create_task(abandon_on_disconnect(request))
    try:
        while report.newest is None and not task.done():
            await asyncio.wait({task}, timeout=_EVERY_SECONDS)
        if task.done():
            task.result()
    except BaseException:
        watching.cancel()
        abandon()
        raise
    return _Lines(request, task, watching, report)


class _Lines(Response):
    """The lines of an answer; they are compressed here, one by one, as a middleware would hold them back."""

    media_type = _MEDIA_TYPE

    def __init__(
        self, request: Request, task: asyncio.Task[Answer], watching: asyncio.Task[None], report: Report
    ) -> None:
        super().__init__(headers={"x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._request, self._task, self._watching, self._report = request, task, watching, report
        self._gzip = None
        if "gzip" in request.headers.get("accept-encoding", ""):
            self._gzip = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
            self.headers["content-encoding"] = "gzip"
        self.headers.add_vary_header("Accept-Encoding")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002  # as of any response
        """Send the lines."""
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        sent: Progress | None = None
        try:
            while not self._task.done():
                if self._report.newest is not sent and (sent := self._report.newest):
                    await send({"type": "http.response.body", "body": self._packed(_line(sent)), "more_body": True})
                await asyncio.wait({self._task}, timeout=_EVERY_SECONDS)
            await send({"type": "http.response.body", "body": self._packed(self._last_line(), last=True)})
        finally:
            self._watching.cancel()
            if not self._task.done():
                abandon()

    def _packed(self, line: bytes, *, last: bool = False) -> bytes:
        if self._gzip is None:
            return line
        return self._gzip.compress(line) + self._gzip.flush(zlib.Z_FINISH if last else zlib.Z_SYNC_FLUSH)

    def _last_line(self) -> bytes:
        error = self._task.exception()
        if error is None:
            return b'{"answer":' + self._task.result().model_dump_json().encode() + b"}\n"
        response = error_response(self._request, error)
        return b'{"error":' + bytes(response.body) + f',"status":{response.status_code}}}\n'.encode()


def _line(progress: Progress) -> bytes:
    return json.dumps({"progress": {**asdict(progress), "stage": progress.stage.value}}).encode() + b"\n"
