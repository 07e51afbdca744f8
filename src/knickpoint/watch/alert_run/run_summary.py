"""The summary of a run: frozen results of one job, of one repository, and of the whole run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from knickpoint.model.change_point import Transition
from knickpoint.model.commit import Repository
from knickpoint.model.plain_text import counted
from knickpoint.store.findings.alert_runs import AlertRun
from knickpoint.watch.alert_run.alert_job import AlertJob
from knickpoint.watch.alert_run.comparison import AlertComparison
from knickpoint.watch.alert_run.persistence import PersistedChanges


@dataclass(frozen=True, slots=True)
class JobResult:
    """What one job found: ``comparison`` counts, the changes themselves left out, and ``seconds`` it took."""

    job: AlertJob
    comparison: AlertComparison
    seconds: float

    @property
    def failure(self) -> str:
        """Why the alert could not run to its end, "" where it did."""
        return self.job.failure or self.comparison.failure

    def record(self, failure: str, repository: Repository) -> AlertRun:
        """Return the stored record of the job, which ended with ``failure`` in ``repository``."""
        return AlertRun(
            alert=self.job.alert.name,
            started=self.job.started,
            seconds=self.seconds,
            complete=self.job.complete and not failure,
            traces=len(self.job.trace_ids),
            kept=self.job.kept + self.comparison.kept,
            added=self.comparison.added,
            lost=self.comparison.lost,
            failure=failure,
            repository_id=repository.id,
        )


REWATCH: Final = "An alert that watches them brings them back: `knick alerts set default` watches everything."
"""What to do about changes that no alert watches any more."""


def unwatched_text(changes: int) -> str:
    """Name the number of changes that no alert watches any more."""
    return f"{counted(changes, 'change')} {'is' if changes == 1 else 'are'} no longer watched by any alert"


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What a run did.

    ``new``, ``moved``, ``gone``, ``returned`` and ``recovered`` count change points; ``traces`` those that the run was
    about, once for each alert, and ``judged`` those of them that had changed since the alert's last run.
    ``new_changes`` and ``updated_changes`` are ids of those that are work; ``history_changes`` counts the new ones that
    are history. ``turned`` counts the findings that turned with the direction of their traces, ``unturned`` those that
    wait for a person to accept it. ``unwatched`` counts the changes that went because no alert watches them any more.
    ``failures`` says which alerts could not run, and why.
    """

    alerts: tuple[AlertRun, ...] = ()
    traces: int = 0
    judged: int = 0
    new: int = 0
    moved: int = 0
    gone: int = 0
    returned: int = 0
    recovered: int = 0
    failures: Mapping[str, str] = field(default_factory=dict)
    new_changes: tuple[int, ...] = ()
    updated_changes: tuple[int, ...] = ()
    history_changes: int = 0
    turned: int = 0
    unturned: int = 0
    unwatched: int = 0

    def __add__(self, other: RunSummary) -> RunSummary:
        """Add the summaries of a run in the repositories of both."""
        return RunSummary(
            alerts=(*self.alerts, *other.alerts),
            traces=self.traces + other.traces,
            judged=self.judged + other.judged,
            new=self.new + other.new,
            moved=self.moved + other.moved,
            gone=self.gone + other.gone,
            returned=self.returned + other.returned,
            recovered=self.recovered + other.recovered,
            failures={**self.failures, **other.failures},
            new_changes=(*self.new_changes, *other.new_changes),
            updated_changes=(*self.updated_changes, *other.updated_changes),
            history_changes=self.history_changes + other.history_changes,
            turned=self.turned + other.turned,
            unturned=self.unturned + other.unturned,
            unwatched=self.unwatched + other.unwatched,
        )

    @classmethod
    def of_points(cls, changes: PersistedChanges) -> RunSummary:
        """Return the part of a summary that is about change points."""
        counts = changes.counts
        return cls(
            new=counts.get(Transition.NEW, 0),
            moved=counts.get(Transition.MOVED, 0),
            gone=counts.get(Transition.GONE, 0),
            returned=counts.get(Transition.BACK, 0),
            recovered=changes.recovered,
        )

    @property
    def nothing_new(self) -> bool:
        """Whether everything was known already."""
        found = self.new_changes or self.history_changes
        return not (self.new or self.moved or self.gone or self.returned or self.recovered or found)
