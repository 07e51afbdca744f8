"""Abandon the work of a request when its client closes the connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from knickpoint.budget import abandon

__all__ = ["abandon_on_disconnect", "while_waited_for"]

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
