"""Check the size and the pace of the body of each request while it is read."""

from __future__ import annotations

import asyncio
import time

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

from knickpoint.instance.config import LimitSettings

__all__ = ["too_large", "watched_body"]

_SHORTEST_WAIT = 0.001
"""Seconds that are waited at least, so that what has arrived is taken."""


def too_large(limits: LimitSettings) -> str:
    """Return what is wrong with a body that is larger than the limit."""
    return f"The body is larger than {limits.body_bytes:,} bytes"


def watched_body(receive: Receive, limits: LimitSettings, *, bounded: bool) -> Receive:
    """Return ``receive`` for one request, with limits on the body.

    A client may take ``body_seconds`` for the first bytes and between two pieces; on average it sends at least
    ``body_bytes_per_second`` after that. Only the time in which the server waits for the client counts. With ``bounded``
    the body has at most ``body_bytes``: a request need not announce its length.
    """
    received = 0
    waited = 0.0
    complete = False

    async def receive_watched() -> Message:
        nonlocal received, waited, complete
        if complete:
            return await receive()
        allowed = limits.body_seconds + min(received / limits.body_bytes_per_second - waited, 0.0)
        begin = time.monotonic()
        try:
            async with asyncio.timeout(max(allowed, _SHORTEST_WAIT)):
                message = await receive()
        except TimeoutError:
            complete = True
            raise HTTPException(408, "The body came too slowly", {"connection": "close"}) from None
        waited += time.monotonic() - begin
        received += len(message.get("body", b""))
        complete = not message.get("more_body", False)
        if bounded and received > limits.body_bytes:
            raise HTTPException(413, too_large(limits))
        return message

    return receive_watched
