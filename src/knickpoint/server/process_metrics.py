"""What one process counts and measures: its requests, and the work of its worker."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, disable_created_metrics
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Count the requests of one server process by endpoint, method and status, and measure what they and the process take.
#
# The label ``endpoint`` is the template of the route, as in ``/api/v1/traces/{key}``, so that the number of series does
# not depend on what clients send; what no route answers is ``other``.


_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER: Final = "other"
_API: Final = "/api/v1"
_SECONDS: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


class RequestMetrics:
    """The metrics of the requests of one server, in a registry of its own."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a series for each counter that says when the process first counted it
        self.registry = CollectorRegistry(auto_describe=False)
        self._requests = Counter(
            "knickpoint_requests",
            "Requests by template of the endpoint, method and status.",
            ["endpoint", "method", "status"],
            registry=self.registry,
        )
        self._seconds = Histogram(
            "knickpoint_request_seconds",
            "Seconds until a request was answered.",
            ["endpoint"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        ProcessCollector(registry=self.registry)
        self._uploads = Gauge(
            "knickpoint_uploads_waiting", "Uploads that are under way or wait.", registry=self.registry
        )
        self._upload_bytes = Gauge(
            "knickpoint_upload_bytes_waiting",
            "Bytes of the uploads that are under way or wait.",
            registry=self.registry,
        )
        self._limited = Counter(
            "knickpoint_requests_limited",
            "Requests that a limit refused or stopped, by limit.",
            ["limit"],
            registry=self.registry,
        )

    def count(self, endpoint: str, method: str, status: int, seconds: float) -> None:
        """Count one request."""
        self._requests.labels(endpoint, method if method in _METHODS else _OTHER, str(status)).inc()
        self._seconds.labels(endpoint).observe(seconds)

    def watch_uploads(self, files: Callable[[], int], size: Callable[[], int]) -> None:
        """Report what ``files`` and ``size`` (in bytes) return about the uploads that are under way or wait."""
        self._uploads.set_function(files)
        self._upload_bytes.set_function(size)

    def count_limited(self, limit: str) -> None:
        """Count a request that the limit named ``limit`` refused or stopped."""
        self._limited.labels(limit).inc()


class RequestMetricsMiddleware:
    """Count each request when it is answered."""

    def __init__(self, app: ASGIApp, metrics: RequestMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, method, status = time.monotonic(), scope["method"], 500

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        finally:
            self._metrics.count(_template(scope), method, status, time.monotonic() - begin)


def _template(scope: Scope) -> str:
    """Return the template of the route that answered; routers know theirs without the prefix of the API."""
    path = getattr(scope.get("route"), "path", "")
    in_api = scope["path"].startswith(_API) and not path.startswith(_API)
    return f"{_API}{path}" if path and in_api else path or _OTHER


# Measure the work of the worker of one process: how long methods detect, and how long results wait for their findings.


_DETECTION_SECONDS: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_DELAY_SECONDS: Final = (0.3, 1.0, 2.0, 4.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


class WorkMetrics:
    """The metrics of one worker, in a registry of their own.

    See :class:`knickpoint.instance.worker.task_runner.WorkMeasures`.
    """

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry(auto_describe=False)
        self._detection = Histogram(
            "knickpoint_detection_seconds",
            "Seconds that a run of an alert took, by method.",
            ["method"],
            buckets=_DETECTION_SECONDS,
            registry=self.registry,
        )
        self._traces = Counter(
            "knickpoint_detection_traces",
            "Traces that runs of alerts were about, by method.",
            ["method"],
            registry=self.registry,
        )
        self._delay = Histogram(
            "knickpoint_finding_delay_seconds",
            "Seconds from the moment when results were stored until the alerts had judged them.",
            buckets=_DELAY_SECONDS,
            registry=self.registry,
        )

    def detected(self, method: str, seconds: float, traces: int) -> None:
        """Record a run of an alert with ``method`` over ``traces``."""
        self._detection.labels(method).observe(seconds)
        self._traces.labels(method).inc(traces)

    def judged(self, seconds: float) -> None:
        """Record that results were judged so many seconds after they were stored."""
        self._delay.observe(seconds)


@dataclass(frozen=True)
class ProcessMetrics:
    """The metrics of one process."""

    requests: RequestMetrics = field(default_factory=RequestMetrics)
    work: WorkMetrics = field(default_factory=WorkMetrics)

    @property
    def registries(self) -> tuple[CollectorRegistry, ...]:
        """Where the metrics are."""
        return self.requests.registry, self.work.registry
