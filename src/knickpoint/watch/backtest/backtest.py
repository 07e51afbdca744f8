"""Backtest an alert in one repository: choose the traces, replay them, and compare with the labels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import find_steps_many, judges_groups
from knickpoint.model.alert import Alert, alert_from, alert_settings, is_day
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import InputError
from knickpoint.model.params import decode_key
from knickpoint.model.plain_text import counted
from knickpoint.model.quality import Label
from knickpoint.model.query import parse_query
from knickpoint.store import Store
from knickpoint.watch.alert_run.run import Progress
from knickpoint.watch.alert_validation import check_alert
from knickpoint.watch.backtest.history import PlacedLabel, ReplayHistory, read_history, read_labels
from knickpoint.watch.backtest.replay import Outcome, Replay, Score, ScoredFinding, replay, score
from knickpoint.watch.detection.alert_settings import (
    blank_before_window,
    find_reference,
    method_parameters,
    watched_traces,
    window_columns,
)
from knickpoint.watch.detection.commit_values import block_bytes, read_commit_values, with_commit_values
from knickpoint.watch.explanation import AlertExplanation, explain_trace
from knickpoint.watch.lines import Lines

# Choose the traces that a backtest replays: those with a step behind the start, at any time, and those with a label.
#
# Most traces never show a step, and need no replay. To find the others, the method runs over each trace as it was at
# *checkpoints*, a few commits apart. A finding is announced only when it was found with the newest values one after the
# other: with at least three, by default. So checkpoints three commits apart miss nothing that was announced.


_CONSECUTIVE: Final = 3
"""The views without none, one and two of the newest values are always among those that settle a finding."""

MOST_JUDGED: Final = 400_000_000
"""Values that the method may read at checkpoints: more commits lie between these where a store has more values."""

_BLOCK_BYTES: Final = 64 * 2**20


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """The positions at which traces are looked at, ascending, and how many commits lie between two of them.

    ``exact`` says that no announced finding can lie between two of them unseen.
    """

    positions: tuple[int, ...]
    apart: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Selection:
    """The traces to replay (ascending), and those with steps that were left out to bound the cost."""

    traces: tuple[int, ...]
    left_out: int


def plan_checkpoints(alert: Alert, commits: int, start: int, traces: int, *, most: int = MOST_JUDGED) -> Checkpoints:
    """Return the checkpoints behind ``start`` of a line of ``commits``, as dense as ``most`` values allow."""
    dense = max(1, min(_CONSECUTIVE, alert.settle_rule.needed(1)))
    apart = dense
    while apart < max(1, commits - start - 1) and traces * _judged(commits, start, apart) > most:
        apart += dense
    positions = _positions(commits, start, apart)
    return Checkpoints(positions, apart, exact=apart == dense)


def _positions(commits: int, start: int, apart: int) -> tuple[int, ...]:
    """Return every ``apart``-th position behind ``start``, and the last one."""
    found = list(range(start + apart, commits, apart))
    if commits and (not found or found[-1] != commits - 1):
        found.append(commits - 1)
    return tuple(found)


def _judged(commits: int, start: int, apart: int) -> int:
    return sum(position + 1 for position in _positions(commits, start, apart))


def traces_with_steps(
    store: Store,
    alert: Alert,
    line: Line,
    trace_ids: NDArray[np.int64],
    checkpoints: Checkpoints,
    *,
    start: int,
    progress: Progress | None = None,
) -> list[int]:
    """Return those of ``trace_ids`` (ascending) in which the method finds a step behind ``start`` at a checkpoint.

    With a method that judges groups, these are all: what it finds in one trace depends on the others.
    """
    if judges_groups(alert.method):
        return list(map(int, trace_ids))
    found: list[int] = []
    done = 0
    for frame in store.frames.blocks(line, trace_ids, memory=block_bytes(alert, _BLOCK_BYTES)):
        values = with_commit_values(frame, read_commit_values(store, alert, frame))
        rows = _rows_with_steps(alert, values, checkpoints.positions, start)
        found += [frame.traces[row].id for row in rows]
        done += len(frame.traces)
        if progress:
            progress(done, len(trace_ids))
    return found


def _rows_with_steps(
    alert: Alert, values: NDArray[np.floating[Any]], positions: Iterable[int], start: int
) -> list[int]:
    """Return the rows of ``values`` with a step behind ``start`` as of one of ``positions``, ascending."""
    held = ~np.isnan(values)
    open_rows = np.flatnonzero(held[:, start + 1 :].any(axis=1))
    # A row is judged only where a value arrived since the last checkpoint; a trace that never varied has no step.
    open_rows = open_rows[_varies(values[open_rows])]
    found: set[int] = set()
    before = start
    for position in positions:
        fresh = open_rows[held[open_rows, before + 1 : position + 1].any(axis=1)]
        before = position
        if not fresh.size:
            continue
        view = values[fresh, : position + 1]
        view = blank_before_window(view, window_columns(~np.isnan(view), alert.window))
        steps = find_steps_many(view, method=alert.method, threads=None, **method_parameters(alert))
        hits = [
            row for row, several in zip(fresh.tolist(), steps, strict=True) if any(s.index > start for s in several)
        ]
        found.update(hits)
        open_rows = np.setdiff1d(open_rows, hits)
    return sorted(found)


def _varies(values: NDArray[np.floating[Any]]) -> NDArray[np.bool_]:
    low = np.nanmin(values, axis=1) if values.size else np.zeros(len(values))
    high = np.nanmax(values, axis=1) if values.size else np.zeros(len(values))
    varies: NDArray[np.bool_] = low != high
    return varies


def sample_traces(labelled: Iterable[int], stepping: Iterable[int], most: int) -> Selection:
    """Return all ``labelled`` traces, and of those that are ``stepping`` as many as fit into ``most``.

    Which ones fit depends on a hash of their ids, so it is the same in each backtest, and unrelated to names.
    """
    first = set(labelled)
    others = sorted(set(stepping) - first, key=_hash)
    room = max(0, most - len(first))
    return Selection(tuple(sorted(first | set(others[:room]))), max(0, len(others) - room))


def _hash(trace: int) -> bytes:
    return blake2b(str(trace).encode(), digest_size=8).digest()


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

    ``commits`` were replayed, ``every`` of them at a time, over ``replayed`` of the ``watched`` traces. ``limits`` says
    in words what the result leaves out. ``history`` is what was replayed, for showing it.
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

    The replay begins behind the position ``since`` of the alert's line, by default behind the history boundary. Nothing
    is written into ``store``. The same store gives the same result.

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
            "there is no commit after the start of the replay",
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
    """Replay ``alert`` over a history with labels that is not a repository of an instance, such as a corpus.

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
        yield "no decisions about findings after the start: precision and recall are unknown"
    if not checkpoints.exact:
        yield (
            f"traces were judged after every {checkpoints.apart} commits: what came and went between, in a trace "
            "without another step, is not counted"
        )
    if left_out:
        yield f"{counted(left_out, 'trace')} with steps and without a label were left out: announcements are too few"
    if every > 1:
        yield f"{every} commits arrived together: delays are exact to {every} values"


# Alerts that differ from the configured ones in settings that a person gives as text.


_FIXED: Final = frozenset({"name", "parameters", "method"})
_TRUTH: Final = {"true": True, "false": False}


def changed_alert(alert: Alert, settings: Mapping[str, str], method: str = "") -> Alert:
    """Return ``alert`` with other ``settings``: those of alerts by their names, all others as parameters of its method.

    Another ``method`` begins without parameters.

    Raises:
        InputError: a value cannot be read.
    """
    plain: dict[str, Any] = dict(alert_settings(alert))
    if method and method != alert.method:
        plain |= {"method": method, "parameters": {}}
    parameters: dict[str, Any] = dict(plain["parameters"])
    for name, text in settings.items():
        if name in _FIXED or name not in plain:
            parameters[name] = _scalar(text)
        else:
            plain[name] = _setting(name, text, plain[name])
    try:
        return alert_from(alert.name, {**plain, "parameters": parameters})
    except ValueError as error:
        raise InputError(str(error), where="--set", remedy="See the settings of alerts in the reference.") from None


def _setting(name: str, text: str, current: object) -> object:
    """Read the text of a setting of alerts as a value of the type of its ``current`` one."""
    try:
        if isinstance(current, list):
            return [part.strip() for part in text.split(",") if part.strip()]
        if isinstance(current, str):
            return text
        return int(text) if isinstance(current, int) else float(text)
    except ValueError:
        raise InputError(f"{text!r} is not a number", where=f"--set {name}", remedy="Give a number.") from None


def _scalar(text: str) -> float | int | str | bool:
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return _TRUTH.get(text, text)


# Replay a change of alerts in the traces that it is about: what people would have seen before, and after.


@dataclass(frozen=True, slots=True)
class ReplayedCounts:
    """Real changes found, noise announced, and messages."""

    found: int = 0
    noise: int = 0
    messages: int = 0

    def __add__(self, other: ReplayedCounts) -> ReplayedCounts:
        """Return the counts of both."""
        return ReplayedCounts(self.found + other.found, self.noise + other.noise, self.messages + other.messages)


def replay_change(store: Store, before: Alert, after: Sequence[Alert]) -> tuple[ReplayedCounts, ReplayedCounts]:
    """Return the counts of findings that ``before`` would have announced, and ``after`` in its place."""
    concerned = {
        repository.id: frozenset(
            record.trace_id for record in store.findings.records.all(repository) if before.name in record.methods
        )
        for repository in store.commits.repositories()
    }
    return _counts(store, [before], concerned), _counts(store, after, concerned)


def _counts(store: Store, alerts: Sequence[Alert], concerned: dict[int, frozenset[int]]) -> ReplayedCounts:
    total = ReplayedCounts()
    for repository in store.commits.repositories():
        for alert in alerts:
            if alert.repository not in {"", repository.name} or not concerned[repository.id]:
                continue
            bounds = BacktestBounds(among=concerned[repository.id])
            score = backtest(store, repository, alert, bounds=bounds).score
            total += ReplayedCounts(score.count(Outcome.FOUND), score.count(Outcome.NOISE), score.messages)
    return total


# Explain why an alert does not announce a change that people call real, from the data as they are now.


MOST_EXPLAINED: Final = 100
"""Lost changes that are explained: each costs a detection with all of its candidates."""


def lost_reasons(store: Store, result: Backtest) -> dict[ScoredFinding, str]:
    """Return the reason for which each of the first lost changes of ``result`` was lost, by finding."""
    lost = [each for each in result.score.findings if each.outcome is Outcome.LOST][:MOST_EXPLAINED]
    rows = {trace.key: trace.id for trace in result.history.traces}
    alert = replace(result.alert, repository="")
    return {each: _reason(store, alert, rows[each.trace_key], result, each) for each in lost}


def _reason(store: Store, alert: Alert, trace: int, result: Backtest, lost: ScoredFinding) -> str:
    commit = result.history.commits[lost.position].hash
    (explained,) = explain_trace(store, trace, [alert], at=commit).alerts
    return explained.reason or _of_steps(explained) or _of_candidates(explained)


def _of_steps(explained: AlertExplanation) -> str:
    """Return the fate of the step near the change, "" if the method finds none."""
    reasons: Sequence[str] = [step.reason for step in explained.steps]
    if not reasons:
        return ""
    refused = next((reason for reason in reasons if reason), "")
    unsettled = next((step.sighting.settlement.reason for step in explained.steps), "")
    known = "the alert has not run since these results came in"
    if refused and refused != known:
        return refused
    return unsettled or "it was found, and belongs to a change that was not announced on its own"


def _of_candidates(explained: AlertExplanation) -> str:
    rejected = next((each.candidate.reason for each in explained.candidates if each.candidate.reason), "")
    return f"the method rejects it: {rejected}" if rejected else "the method considers no step here"
