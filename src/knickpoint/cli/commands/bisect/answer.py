"""Print a search: while it runs, and its answer, as text for people, as one object of JSON, or its probes as CSV."""

from __future__ import annotations

import json
import math
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TextIO

from knickpoint.bisect.coordinator import BisectionAnswer, BisectionProgress, JournalEntry, LevelEstimate, outcome_text
from knickpoint.bisect.coordinator.narration import standing_text
from knickpoint.cli.output import Column, OutputFormat, Row, percent, render
from knickpoint.cli.terminal import TerminalText, Verbosity, plain_json, verbosity, without_control
from knickpoint.model.bisection import BisectionState
from knickpoint.model.commit import Commit
from knickpoint.model.params import key_text
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import certainty_text, figure_text

_SHORT: Final = 10
_CLEAR: Final = "\r\x1b[K"


@dataclass
class LiveView:
    """Shows the progress of a search on standard error; ``commits`` are those by place."""

    commits: Sequence[Commit]
    stream: TextIO = field(default_factory=lambda: TerminalText.below(sys.stderr))

    def __post_init__(self) -> None:
        """Begin with nothing shown."""
        self._quiet = verbosity() is Verbosity.QUIET
        self._terminal = self.stream.isatty() and not self._quiet
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._shown: set[str] = set()
        self._steps: dict[str, str] = {}
        self._progress: BisectionProgress | None = None
        self._closed = threading.Event()
        if self._terminal:
            threading.Thread(target=self._tick, name="live view", daemon=True).start()

    def __call__(self, progress: BisectionProgress) -> None:
        """Show where the search stands."""
        with self._lock:
            for entry in progress.entries:
                if entry.result is not None and entry.probe not in self._shown:
                    self._shown.add(entry.probe)
                    result = entry.result
                    commit = self.commits[entry.planned.place]
                    reason = f" ({result.reason})" if result.reason else ""
                    self._line(
                        f"{commit.hash[:_SHORT]} {entry.planned.purpose.value:6} "
                        f"{shown_value(entry, progress.trace)}{reason}  {result.seconds:.1f} s on {result.device}; "
                        f"{self._left(progress)}"
                    )
            self._progress = progress
            self._draw()

    def step(self, probe: str, text: str) -> None:
        """Show the step that a probe begins; called from other threads."""
        with self._lock:
            self._steps[probe] = text
            self._draw()

    def close(self) -> None:
        """Clear the line that changes, and draw it no more."""
        with self._lock:
            self._closed.set()
        if self._terminal:
            self.stream.write(_CLEAR)
            self.stream.flush()

    def _line(self, text: str) -> None:
        if self._quiet:
            return
        clear = _CLEAR if self._terminal else ""
        self.stream.write(f"{clear}{without_control(text)}\n")
        self.stream.flush()

    def _draw(self) -> None:
        if self._terminal and self._progress and not self._closed.is_set():
            width = shutil.get_terminal_size().columns - 1
            self.stream.write(f"{_CLEAR}{without_control(self._summary(self._progress))[:width]}")
            self.stream.flush()

    def _tick(self) -> None:
        """Draw the time that passes."""
        while not self._closed.wait(1.0):
            with self._lock:
                self._draw()

    def _left(self, progress: BisectionProgress) -> str:
        """Describe the candidates that the posterior leaves."""
        return standing_text(progress.posterior, [commit.hash for commit in self.commits])

    def _summary(self, progress: BisectionProgress) -> str:
        running = [entry for entry in progress.entries if entry.result is None]
        done = len(progress.entries) - len(running)
        elapsed = time.monotonic() - self._started
        steps = ", ".join(
            f"{self.commits[entry.planned.place].hash[:_SHORT]} {self._steps.get(entry.probe, 'waits')}"
            for entry in running
        )
        left = "" if progress.seconds_left is None else f", about {_duration(progress.seconds_left)} left"
        return f"[{_duration(elapsed)}{left}] {done} done; {steps}; {self._left(progress)}"


def _duration(seconds: float) -> str:
    """Return seconds as people say them: 42 s, 3 min, 2.5 h."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


_OUTPUT: Final = 10
"""Lines of output that are shown where an end cannot be measured."""

_LONGEST_SUBJECT: Final = 72
"""Characters of a subject; git asks for less."""

_LEFT: Final = 20
"""Commits of a range that are listed for people."""


def shown_value(entry: JournalEntry, trace: str) -> str:
    """Return the result of a probe in a few words: its value with its unit, or what happened."""
    result = entry.result
    if result is None:
        return ""
    measured = result.measured.get(trace)
    if measured is None:
        return outcome_text(result)
    return f"{_number(measured.value)} {measured.unit}".strip()


def _number(value: float) -> str:
    return figure_text(value, ".5g" if abs(value) < 1e5 else ",.0f")


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def _text(value: object) -> str:
    return "" if value is None else str(value)


_PROBES: Final = (
    Column("commit", text=lambda name: name[:_SHORT]),
    Column("place", right=True),
    Column("purpose"),
    Column("device"),
    Column("shown", "value", right=True),
    Column("seconds", text=_seconds, right=True),
    Column("built", text=lambda built: "built" if built else "reused"),
    Column("reason", text=_text),
)
_PINS: Final = Column("pins", "with")
"""The commits of other repositories, where these differ between probes."""

_DATA: Final = tuple(
    Column(name)
    for name in (
        "probe",
        "commit",
        "place",
        "purpose",
        "device",
        "outcome",
        "value",
        "unit",
        "seconds",
        "built",
        "reason",
    )
)


def render_answer(
    answer: BisectionAnswer,
    commits: Sequence[Commit],
    output: OutputFormat,
    *,
    reproduce: str = "",
    inside: str = "",
    note: str = "",
) -> str:
    """Return the output of the command; ``commits`` are those by place, the good end first.

    ``reproduce`` is the command that shows the difference again, ``inside`` the one that searches inside a
    merge, ``note`` what is to know of the range.
    """
    rows = list(_rows(answer))
    if output is OutputFormat.CSV:
        return render(_DATA, rows, output)
    if output is OutputFormat.JSON:
        return plain_json(json.dumps(_document(answer, commits, rows), indent=2, ensure_ascii=False)) + "\n"
    lines = [*_headline(answer, commits), ""]
    columns = _PROBES if len({row["pins"] for row in rows}) < 2 else (_PROBES[0], _PINS, *_PROBES[1:])
    lines += [render(columns, rows, OutputFormat.TEXT, empty="No probes were run.").rstrip("\n")]
    if answer.state is BisectionState.GAVE_UP and not answer.places:
        lines += _last_output(answer)
    if note:
        lines += ["", f"Note: {note}."]
    if reproduce and answer.state is BisectionState.CULPRIT:
        lines += ["", "To reproduce the difference:", f"  {reproduce}"]
    if inside:
        lines += ["", "It is a merge. To search the merged commits:", f"  {inside}"]
    return "\n".join(without_control(line, keep="\n") for line in lines) + "\n"


def _rows(answer: BisectionAnswer) -> Iterator[Row]:
    for entry in answer.entries:
        result = entry.result
        if result is None:
            continue
        measured = result.measured.get(answer.trace)
        yield {
            "probe": entry.probe,
            "commit": entry.target.commit,
            "pins": " ".join(f"{name}@{commit[:_SHORT]}" for name, commit in entry.target.pins),
            "place": entry.planned.place,
            "purpose": entry.planned.purpose.value,
            "device": result.device,
            "outcome": result.outcome.value,
            "value": measured.value if measured else None,
            "unit": measured.unit if measured else None,
            "shown": shown_value(entry, answer.trace),
            "seconds": round(result.seconds, 3),
            "built": result.built,
            "reason": result.reason or None,
        }


def _document(answer: BisectionAnswer, commits: Sequence[Commit], rows: Sequence[Row]) -> dict[str, Any]:
    """Return the object of ``--format json``."""
    culprit = commits[answer.places[0]] if answer.places and answer.state is BisectionState.CULPRIT else None
    stated = answer.places if culprit or answer.several else ()
    return {
        "state": answer.state.value,
        "culprit": culprit.hash if culprit else None,
        "culprits": [commits[place].hash for place in stated],
        "probability": _finite(answer.probability),
        "range": [commits[place].hash for place in answer.places],
        "reason": answer.reason or None,
        "author": culprit.author if culprit else None,
        "subject": culprit.subject if culprit else None,
        "trace": answer.trace or None,
        "before": _level(answer.before),
        "after": _level(answer.after),
        "good": commits[0].hash,
        "bad": commits[-1].hash,
        "posterior": {
            commit.hash: round(float(share), 6)
            for commit, share in zip(commits[1:], answer.posterior.marginal, strict=True)
            if share >= 1e-6
        },
        "none": _finite(answer.posterior.none),
        "several": _finite(answer.posterior.several),
        "untried": _untried(answer, commits),
        "probes": [{column.name: row[column.name] for column in _DATA} for row in rows],
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _level(level: LevelEstimate | None) -> Mapping[str, Any] | None:
    if level is None:
        return None
    low, high = level.interval or (None, None)
    return {"mean": level.mean, "low": low, "high": high, "probes": level.count, "unit": level.unit}


def _headline(answer: BisectionAnswer, commits: Sequence[Commit]) -> Iterator[str]:
    """Yield what was found, in words."""
    share = certainty_text(answer.probability)
    found = [commits[place] for place in answer.places]
    match answer.state:
        case BisectionState.CULPRIT if not found:
            yield f"Culprit in another repository, with a probability of {share}: {answer.reason}."
        case BisectionState.CULPRIT:
            yield f"Culprit: {found[0].hash}, with a probability of {share}"
            yield f"  {_about(found[0])}"
        case BisectionState.RANGE if answer.several:
            yield (
                f"Several culprits: {counted(len(found), 'commit')} that each made a change, with a probability of "
                f"{share}:"
            )
            yield from _listed(found)
        case BisectionState.RANGE:
            yield f"Range: one of {counted(len(found), 'commit')}, with a probability of {share}: {answer.reason}"
            yield from _listed(found)
        case BisectionState.NOT_REPRODUCIBLE:
            yield f"Not reproducible: {answer.reason.rstrip('.')}."
        case BisectionState.GAVE_UP if found and len(found) < len(commits) - 1:
            yield f"Gave up: {answer.reason}. Left are {counted(len(found), 'commit')}, with a probability of {share}:"
            yield from _listed(found)
        case _:
            yield f"{answer.state.value.capitalize()}: {answer.reason.rstrip('.')}."
    if answer.before and answer.after:
        yield f"  {key_text(answer.trace)}: {_shown(answer.before)} → {_shown(answer.after)}{_change(answer)}"
    if found and answer.state is BisectionState.CULPRIT and answer.reason:
        yield f"  Open: {answer.reason}."
    untried = _untried(answer, commits)
    if found and untried and not answer.trace:
        between = f"{untried} of the {counted(len(commits) - 2, 'commit')} between the ends"
        yield f"  Not tried: {between}. A change that was undone among them goes unnoticed."


def _untried(answer: BisectionAnswer, commits: Sequence[Commit]) -> int:
    """Return the number of commits between the ends without a result."""
    tried = {entry.planned.place for entry in answer.entries if entry.result is not None}
    return len(set(range(1, len(commits) - 1)) - tried)


def _last_output(answer: BisectionAnswer) -> list[str]:
    """Return the end of the output of the last probe."""
    printed = next((entry.result.output for entry in reversed(answer.entries) if entry.result), "")
    lines = [line for line in printed.splitlines() if line.strip()][-_OUTPUT:]
    return ["", "Last output of the command:", *(f"  {line}" for line in lines)] if lines else []


def _listed(found: Sequence[Commit]) -> Iterator[str]:
    for commit in found[:_LEFT]:
        yield f"  {commit.hash[:_SHORT]} {_about(commit)}"
    if len(found) > _LEFT:
        yield f"  and {counted(len(found) - _LEFT, 'more commit', 'more commits')}"


def _about(commit: Commit) -> str:
    return f"{commit.author}, {commit.time:%Y-%m-%d}: {short_subject(commit)}"


def short_subject(commit: Commit) -> str:
    """Return the subject of a commit, shortened where it is longer than git asks for."""
    subject = commit.subject
    return subject if len(subject) <= _LONGEST_SUBJECT else f"{subject[: _LONGEST_SUBJECT - 1]}…"


def _shown(level: LevelEstimate) -> str:
    mean = f"{_number(level.mean)} {level.unit}".strip()
    if level.interval is None:
        return f"{mean} (1 probe)"
    low, high = map(_number, level.interval)
    return f"{mean} ({low} to {high}, {counted(level.count, 'probe')})"


def _change(answer: BisectionAnswer) -> str:
    if not answer.before or not answer.after or not answer.before.mean:
        return ""
    return f", {percent((answer.after.mean - answer.before.mean) / abs(answer.before.mean))}"
