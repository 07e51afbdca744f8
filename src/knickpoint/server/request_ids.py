"""Give each request an id: in the header ``X-Request-Id`` of its answer, in the answer of an error, and in the log."""

from __future__ import annotations

import logging
import re
import secrets
import time
from contextvars import ContextVar
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knickpoint.notify.links import LINK_PATH

HEADER: Final = "x-request-id"
REQUESTS_LOG: Final = "knickpoint.requests"
"""The logger that gets a record for each request."""

_LOG: Final = logging.getLogger(REQUESTS_LOG)
_USABLE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_CURRENT: Final[ContextVar[str]] = ContextVar("request_id", default="")


def request_id() -> str:
    """Return the id of the request that is worked on, "" outside of one."""
    return _CURRENT.get()


class RequestIds:
    """Take the id that a proxy or a client gave to a request, or make one, and log the request when it is answered.

    What is not a plain id (letters, digits, ``.``, ``_``, ``-``, up to 64) is replaced. The id is never reset: each
    request has a context of its own, and the handler of unexpected errors stands outside of this one.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(HEADER, "")
        current = given if _USABLE.fullmatch(given) else secrets.token_hex(8)
        _CURRENT.set(current)
        begin, status = time.monotonic(), 500

        async def send_named(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[HEADER] = current
            await send(message)

        try:
            await self._app(scope, receive, send_named)
        finally:
            if _LOG.isEnabledFor(logging.INFO):
                path = _logged(scope["path"])
                milliseconds = round(1000 * (time.monotonic() - begin), 1)
                about = {
                    "method": scope["method"],
                    "path": path,
                    "status": status,
                    "milliseconds": milliseconds,
                }
                _LOG.info("%s %s: %s", scope["method"], path, status, extra={"about": about})


def _logged(path: str) -> str:
    """Return ``path`` as the log shows it; that of a signed link is a secret."""
    return f"{LINK_PATH}…" if path.startswith(LINK_PATH) else path
