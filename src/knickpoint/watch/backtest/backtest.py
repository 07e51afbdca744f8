"""Backtest an alert in one repository: choose the traces, replay them, and compare with the labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.alert import Alert, is_day
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import InputError
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import counted
from knickpoint.model.quality import Label
from knickpoint.model.query import parse_query
from knickpoint.store import Store
from knickpoint.watch.alert_run.run import Progress
from knickpoint.watch.alert_validation import check_alert
from knickpoint.watch.backtest.history import ReplayHistory, read_history
from knickpoint.watch.backtest.labels import PlacedLabel, read_labels
from knickpoint.watch.backtest.replay import Replay, replay
from knickpoint.watch.backtest.score import Score, score
from knickpoint.watch.backtest.selection import (
    MOST_JUDGED,
    Checkpoints,
    plan_checkpoints,
    sample_traces,
    traces_with_steps,
)
from knickpoint.watch.detection.alert_groups import watched_traces
from knickpoint.watch.detection.drift_references import find_reference
from knickpoint.watch.lines import Lines

__all__ = ["Backtest", "BacktestBounds", "ReportProgress", "backtest", "backtest_history"]

_MOST_TRACES: Final = 5000
_MOST_ROUNDS: Final = 2000

ReportProgress = Callable[[str], Progress]
"""Takes what is done now, and returns what is called with the progress of it."""


@dataclass(frozen=True, slots=True)
class BacktestBounds:
    """What a backtest may cost.

    Attributes:
        traces: traces that it replays; those with a label come first.
        judged: values that the method may read to choose them.
        rounds: runs of the alert; with more commits, several arrive together.
        among: only these traces, None for all that the alert watches.
    """

    traces: int = _MOST_TRACES
    judged: int = MOST_JUDGED
    rounds: int = _MOST_ROUNDS
    among: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Backtest:
    """The result: how the alert would have done in one repository.

    ``commits`` were replayed, ``every`` of them at a time, over ``replayed`` of the ``watched`` traces. ``limits`` says in
    words what the result leaves out. ``history`` is what was replayed, for showing it.
    """

    alert: Alert
    repository: str
    watched: int
    replayed: int
    commits: int
    every: int
    score: Score
    limits: tuple[str, ...]
    history: ReplayHistory = field(repr=False)


def backtest(
    store: Store,
    repository: Repository,
    alert: Alert,
    *,
    since: int | None = None,
    bounds: BacktestBounds = BacktestBounds(),
    report: ReportProgress | None = None,
) -> Backtest:
    """Replay ``alert`` over the past of ``repository``, and compare it with what people decided.

    The replay begins behind the position ``since`` of the alert's line, by default behind the history boundary. Nothing is
    written into ``store``. The same store gives the same result.

    Raises:
        ConfigError: the alert cannot run.
        InputError: there is nothing to replay.
    """
    check_alert(alert)
    lines = Lines(store, repository)
    line = lines.line(alert.line)
    reference = find_reference(alert, line, lines)
    start = _boundary(store, repository, line) if since is None else since
    if start >= len(line.slots) - 1:
        raise InputError(
            "no commit lies behind the start of the replay",
            where=f"{repository.name}, line {line.name or 'default'}",
            remedy="Name an earlier commit with --since.",
        )
    ids = _watched(store, repository, alert, bounds.among)
    labels = [label for label in read_labels(store, repository, line, ids.tolist()) if label.position > start]

    # Choose the traces.
    checkpoints = plan_checkpoints(alert, len(line.slots), start, len(ids), most=bounds.judged)
    stepping = traces_with_steps(
        store, alert, line, ids, checkpoints, start=start, progress=report("choosing traces") if report else None
    )
    chosen = sample_traces({label.trace_id for label in labels}, stepping, bounds.traces)

    # Replay them.
    history = read_history(store, line, list(chosen.traces), start, samples=alert.reads_samples)
    if reference is not None and not is_day(alert.since):
        history = replace(history, release=reference.position)
    every = -(-(len(line.slots) - 1 - start) // bounds.rounds)
    replayed = replay(history, alert, every=every, progress=report("replaying commits") if report else None)
    return Backtest(
        alert=alert,
        repository=repository.name,
        watched=len(ids),
        replayed=len(chosen.traces),
        commits=len(line.slots) - 1 - start,
        every=every,
        score=score(history, replayed, labels),
        limits=tuple(_limits(checkpoints, chosen.left_out, every, replayed, labels)),
        history=history,
    )


def backtest_history(
    history: ReplayHistory, alert: Alert, labels: Sequence[PlacedLabel], *, report: ReportProgress | None = None
) -> Backtest:
    """Replay ``alert`` over a history with labels that is no repository of an instance, such as a corpus.

    Only the traces that the query of the alert matches take part.

    Raises:
        ConfigError: the alert cannot run.
    """
    check_alert(alert)
    query = parse_query(alert.query)
    watched = [row for row, trace in enumerate(history.traces) if query.matches(decode_key(trace.key))]
    history = replace(history, traces=[history.traces[row] for row in watched], values=history.values[watched])
    replayed = replay(history, alert, progress=report("replaying commits") if report else None)
    return Backtest(
        alert=alert,
        repository=history.repository,
        watched=len(history.traces),
        replayed=len(history.traces),
        commits=len(history.commits) - 1 - history.start,
        every=1,
        score=score(history, replayed, labels),
        limits=tuple(_limits(Checkpoints((), 1, exact=True), 0, 1, replayed, labels)),
        history=history,
    )


def _boundary(store: Store, repository: Repository, line: Line) -> int:
    """Return the position of the history boundary, -1 where nothing is history."""
    boundary = store.boundaries.get(repository)
    return boundary.position(line) if boundary else -1


def _watched(store: Store, repository: Repository, alert: Alert, among: Collection[int] | None) -> NDArray[np.int64]:
    ids = watched_traces(store, alert, repository)
    return ids if among is None else np.intersect1d(ids, np.array(sorted(among), dtype=np.int64))


def _limits(
    checkpoints: Checkpoints, left_out: int, every: int, replayed: Replay, labels: Sequence[PlacedLabel]
) -> Iterator[str]:
    """Yield what the result leaves out, in words."""
    if replayed.failure:
        yield f"the alert could not run: {replayed.failure}"
    if not any(label.label is not Label.UNDECIDED for label in labels):
        yield "no person decided about a finding behind the start: precision and recall are not known"
    if not checkpoints.exact:
        yield (
            f"traces were looked at after every {checkpoints.apart} commits: what came and went between, in a trace "
            "without another step, is not counted"
        )
    if left_out:
        yield f"{counted(left_out, 'trace')} with steps and without a label were left out: announcements are too few"
    if every > 1:
        yield f"{every} commits arrived together: delays are exact to {every} values"
