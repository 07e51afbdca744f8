"""One alert on one line: which traces it is to look at, and what came of it."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.alert import Alert
from knickpoint.model.commit import Line
from knickpoint.model.errors import KnickpointError, StoreError
from knickpoint.model.query import parse_query
from knickpoint.store import Store
from knickpoint.store.findings.alerts import AlertRun
from knickpoint.watch.detection.digests import counts_together, unjudged
from knickpoint.watch.detection.sightings import group_key
from knickpoint.watch.lines import Lines

__all__ = ["Job", "plan", "whole_groups"]

_LOG: Final = logging.getLogger("knickpoint.watch")


@dataclass(slots=True)
class Job:
    """One alert on one line, and what it did so far.

    ``ids`` are the traces that it watches, as far as the run is about them; ``due`` those of them that have to be
    judged, and ``before`` what was known of these when the run began, one digest each. ``digests`` holds, by trace,
    those of what was judged. ``failure`` says why the alert could not run to its end.
    """

    alert: Alert
    line: Line
    ids: NDArray[np.int64]
    complete: bool
    due: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    before: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, dtype=np.uint64))
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    digests: dict[int, int] = field(default_factory=dict)
    failure: str = ""
    seconds: float = 0.0
    kept: int = 0
    added: int = 0
    lost: int = 0

    def record(self) -> AlertRun:
        """Return what is kept of the job."""
        return AlertRun(
            alert=self.alert.name,
            started=self.started,
            seconds=self.seconds,
            complete=self.complete and not self.failure,
            traces=len(self.ids),
            kept=self.kept,
            added=self.added,
            lost=self.lost,
            failure=self.failure,
        )

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Note what goes wrong with this alert and go on: the others have nothing to do with it.

        What the store has to say is not about the alert, and is raised.
        """
        try:
            yield
        except StoreError:
            raise
        except KnickpointError as error:
            self.failure = str(error)
        except Exception as error:  # noqa: BLE001  # a defect of one method must not silence the other alerts
            _LOG.exception("the alert %r failed", self.alert.name)
            self.failure = f"it failed unexpectedly: {error!r}"

    def choose(self, store: Store, lines: Lines, *, afresh: bool) -> None:
        """Say which traces are due: all of an event's, and of a run over everything what changed since the last."""
        begun = time.perf_counter()
        known = store.findings.digests.get(self.alert.name, self.ids)
        self.due = self.ids
        if self.complete and not afresh:
            self.due = unjudged(store, self.alert, self.line, ids=self.ids, known=known, lines=lines)
        chosen = np.isin(self.ids, self.due, assume_unique=True)
        self.before = known[chosen]
        rest = self.ids[~chosen]
        if rest.size:
            self.kept += store.findings.sightings.count(self.alert.name, rest.tolist())
        self.seconds += time.perf_counter() - begun

    def remember(self, store: Store, doubtful: Collection[int]) -> None:
        """Write what was judged; nothing of the traces that others judged in the meantime, or that are in doubt."""
        looked = np.array(sorted(self.digests), dtype=np.int64)
        judged = np.array([self.digests[key] for key in looked.tolist()], dtype=np.uint64)
        now = store.findings.digests.get(self.alert.name, looked)
        same = now == self.before[np.searchsorted(self.due, looked)]
        if doubtful:
            same &= ~np.isin(looked, np.array(sorted(doubtful), dtype=np.int64))
        store.findings.digests.set(self.alert.name, looked, np.where(same, judged, np.uint64(0)))


def whole_groups(store: Store, alert: Alert, ids: NDArray[np.int64], touched: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return those of ``ids`` that are ``touched`` and, where ``alert`` judges traces together, their groups."""
    own = np.intersect1d(ids, touched)
    if not counts_together(alert) or not own.size:
        return own
    keys = [group_key(alert, trace) for trace in store.traces.get(ids)]
    wanted = {keys[row] for row in np.flatnonzero(np.isin(ids, own)).tolist()}
    return ids[[key in wanted for key in keys]]


def plan(store: Store, alerts: Sequence[Alert], traces: NDArray[np.int64] | None, lines: Lines) -> Iterator[Job]:
    """Yield the jobs of ``alerts`` in the repository of ``lines``; ``traces`` restricts them to those of an event."""
    for alert in alerts:
        if alert.repository not in {"", lines.repository.name}:
            continue
        if alert.line and not alert.repository and alert.line not in store.commits.lines(lines.repository):
            continue
        job = Job(alert, lines.default, np.empty(0, dtype=np.int64), traces is None)
        with job.guarded():
            job.line = store.commits.line(lines.repository, alert.line)
            ids = store.traces.select(lines.repository, parse_query(alert.query))
            job.ids = ids if traces is None else whole_groups(store, alert, ids, traces)
        yield job
