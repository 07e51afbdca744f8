"""What one process counts and measures: its requests, and the work of its worker."""

from __future__ import annotations

from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry

from knickpoint.server.request_metrics import RequestMetrics
from knickpoint.server.work_metrics import WorkMetrics

__all__ = ["ProcessMetrics"]


@dataclass(frozen=True)
class ProcessMetrics:
    """The metrics of one process."""

    requests: RequestMetrics = field(default_factory=RequestMetrics)
    work: WorkMetrics = field(default_factory=WorkMetrics)

    @property
    def registries(self) -> tuple[CollectorRegistry, ...]:
        """Where the metrics are."""
        return self.requests.registry, self.work.registry
