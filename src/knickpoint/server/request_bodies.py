"""Check the size and the pace of the body of each request while it is read."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import Final

from starlette.exceptions import HTTPException
from starlette.types import Message, Receive

from knickpoint.instance.config import LimitSettings
from knickpoint.server.errors import TooManyRequestsError

__all__ = ["SEND_LESS", "too_large", "watched_body"]

_LARGE: Final = 20_000
"""Bytes of a body that is large: parsing it takes milliseconds, in which no other request is served."""

_SHORTEST_WAIT: Final = 0.001
"""Seconds that are waited at least, so that what has arrived is taken."""


SEND_LESS: Final = "Send less at a time, or have an admin raise body_bytes of [limits] in knickpoint.toml."
"""What to do about a body that is larger than the limit."""


def too_large(limits: LimitSettings) -> str:
    """Return what is wrong with a body that is larger than the limit."""
    return f"The body is larger than {limits.body_bytes:,} bytes"


def watched_body(receive: Receive, limits: LimitSettings, *, bounded: bool, admit_large: Callable[[], None]) -> Receive:
    """Return ``receive`` for one request, with limits on the body.

    A client may take ``body_seconds`` for the first bytes and between two pieces; on average it sends at least
    ``body_bytes_per_second`` after that. Only the time in which the server waits for the client counts. With ``bounded``
    the body has at most ``body_bytes``, and ``admit_large`` is called before it becomes large, and may raise: a request need
    not announce its length.
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
        before, received = received, received + len(message.get("body", b""))
        complete = not message.get("more_body", False)
        if bounded and received > limits.body_bytes:
            raise HTTPException(413, too_large(limits))
        if bounded and before <= _LARGE < received:
            _admit(admit_large)
        return message

    return receive_watched


def _admit(admit_large: Callable[[], None]) -> None:
    """Admit a large body; the framework passes errors of HTTP only through the reading of a body."""
    try:
        admit_large()
    except TooManyRequestsError as error:
        message = f"{error.message[:1].upper()}{error.message[1:]}"
        raise HTTPException(429, message, {"retry-after": str(math.ceil(error.seconds))}) from error
