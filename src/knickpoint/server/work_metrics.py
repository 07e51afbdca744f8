"""Measure the work of the worker of one process: how long methods detect, and how long results wait for their findings."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, disable_created_metrics

__all__ = ["WorkMetrics"]

_DETECTION_SECONDS: Final = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_DELAY_SECONDS: Final = (0.3, 1.0, 2.0, 4.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


class WorkMetrics:
    """The metrics of one worker, in a registry of their own; see :class:`knickpoint.instance.worker.measures.WorkMeasures`."""

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
