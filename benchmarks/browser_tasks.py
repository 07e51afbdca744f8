"""Measure the tasks of a page's main thread in processor time, by the browser's own tracing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from playwright.sync_api import Page

__all__ = ["Tasks", "traced"]

_POLL_MS: Final = 20
_MAIN: Final = "CrRendererMain"
_TASKS: Final = frozenset({"RunTask", "ThreadControllerImpl::RunTask"})


class Tasks:
    """The tasks that a page ran while it was traced; known once the trace has ended."""

    def __init__(self) -> None:
        self.longest = 0.0
        """Milliseconds of processor time of the longest one; other programs on the machine do not lengthen it."""

    def read(self, events: list[dict[str, Any]]) -> None:
        """Take in what was traced: of all renderers, that of the page is the one that worked longest."""
        times: dict[tuple[int, int], list[float]] = {}
        for event in events:
            if event.get("name") == "thread_name" and event["args"]["name"] == _MAIN:
                times.setdefault((event["pid"], event["tid"]), [])
        for event in events:
            found = times.get((event["pid"], event["tid"]))
            if found is not None and event.get("name") in _TASKS:
                found.append(event.get("tdur", 0) / 1e3)
        self.longest = max(max(times.values(), key=sum, default=[]), default=0.0)


@contextmanager
def traced(page: Page) -> Iterator[Tasks]:
    """Trace what ``page`` does inside of the ``with``."""
    session = page.context.new_cdp_session(page)
    events: list[dict[str, Any]] = []
    ended: list[bool] = []
    session.on("Tracing.dataCollected", lambda part: events.extend(part["value"]))
    session.on("Tracing.tracingComplete", lambda _: ended.append(True))
    config = {"includedCategories": ["toplevel", "devtools.timeline"], "excludedCategories": ["*"]}
    session.send("Tracing.start", {"transferMode": "ReportEvents", "traceConfig": config})
    tasks = Tasks()
    yield tasks
    session.send("Tracing.end")
    while not ended:
        page.wait_for_timeout(_POLL_MS)
    session.detach()
    tasks.read(events)
