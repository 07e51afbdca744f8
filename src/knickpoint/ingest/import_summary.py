"""What became of the files of an import, as counts and as lines ready to print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from knickpoint.model.report import Problem

__all__ = ["FileSummary", "ImportState", "ImportSummary", "remark_on_directions"]


_MOST_UNITS: Final = 5
"""Units that a remark names."""


class ImportState(Enum):
    """Say what became of one file."""

    IMPORTED = "imported"
    UNCHANGED = "unchanged"
    WAITING = "waiting"
    REFUSED = "refused"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class FileSummary:
    """What became of one file.

    ``new``, ``same``, ``corrected`` and ``rerun`` count its runs; ``waiting`` those whose commits nobody
    knows yet, which are ``unknown``. ``failed`` and ``skipped`` count results without a value. ``changes`` say
    what a correction changed. ``problems`` are the reasons of a refusal, or warnings. ``without_direction`` counts the
    new traces of which it is unknown what is better, by unit.
    """

    source: str
    state: ImportState
    repository: str = ""
    format: str = ""
    new: int = 0
    same: int = 0
    corrected: int = 0
    rerun: int = 0
    waiting: int = 0
    commits: int = 0
    new_traces: int = 0
    points: int = 0
    failed: int = 0
    skipped: int = 0
    unknown: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    without_direction: Mapping[str, int] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Return one line that says it all, then one for each change and each problem."""
        lines = [f"{self.source}: {self._summary()}"]
        lines += [f"  changed: {change}" for change in self.changes]
        told = self.problems[1:] if self.state in {ImportState.REFUSED, ImportState.UNREADABLE} else self.problems
        return lines + [f"  {_problem(problem, self.source)}" for problem in told]

    def _summary(self) -> str:
        if self.state in {ImportState.REFUSED, ImportState.UNREADABLE}:
            reason = _problem(self.problems[0], self.source) if self.problems else "no reason was given"
            return f"{'refused' if self.state is ImportState.REFUSED else 'not read'}: {reason}"
        parts = []
        if self.new:
            parts.append(
                f"{_count(self.new, 'run')} of {_count(self.commits, 'commit')} imported into {self.repository}"
                f" ({_count(self.points, 'point')}, {_count(self.new_traces, 'new trace')})"
            )
        if self.failed or self.skipped:
            told = [
                f"{count:,} {what}" for count, what in ((self.failed, "failed"), (self.skipped, "skipped")) if count
            ]
            parts.append(f"{' and '.join(told)} without a value")
        if self.rerun:
            parts.append(f"{_count(self.rerun, 're-run')} joined")
        if self.corrected:
            parts.append(f"{_count(self.corrected, 'run')} corrected")
        if self.same and parts:
            parts.append(f"{_count(self.same, 'run')} in already")
        if self.waiting:
            shown = ", ".join(revision[:12] for revision in self.unknown[:3]) + (" …" if len(self.unknown) > 3 else "")
            parts.append(
                f"{_count(self.waiting, 'run')} kept waiting: {self.repository} has no commit {shown};"
                " they come in once it does"
            )
        return "; ".join(parts) or (
            f"nothing new, {'its run is' if self.same == 1 else f'all {self.same} runs are'} in already"
            if self.same
            else "nothing new, the same content is in already"
        )


def _problem(problem: Problem, source: str) -> str:
    place = problem.where.removeprefix(source).lstrip(",: ")
    text = f"{place}: {problem.message}" if place else problem.message
    return f"{text.rstrip('.')}. {problem.remedy}" if problem.remedy else text


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def remark_on_directions(units: Mapping[str, int], which: str = "") -> str:
    """Return a line about traces without a direction, counted by unit, and what to do.

    The units stand by falling count, then by name; ``which`` goes before "traces".
    """
    ordered = sorted(units.items(), key=lambda pair: (-pair[1], pair[0]))
    named = [f"{count:,} in {unit}" if unit else f"{count:,} without a unit" for unit, count in ordered[:_MOST_UNITS]]
    if len(ordered) > _MOST_UNITS:
        named.append(f"{sum(count for _, count in ordered[_MOST_UNITS:]):,} in other units")
    total = sum(units.values())
    noun, verb = ("trace", "has") if total == 1 else ("traces", "have")
    return (
        f"{total:,} {which}{noun} {verb} no direction ({', '.join(named)}): changes there are neither regressions nor"
        " improvements. Say what is better in knickpoint.toml, with query and better under [directions.NAME]"
    )


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What became of every file, in the order of the import.

    ``ignored`` names the files that were found in folders and left alone: no format fits them. ``notes`` tell which
    lines a rebase or a force-push changed, ``unread`` why repositories or places could not be read.
    """

    files: tuple[FileSummary, ...] = ()
    ignored: tuple[str, ...] = ()
    dry_run: bool = False
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether anything was refused, could not be read, or waits."""
        good = {ImportState.IMPORTED, ImportState.UNCHANGED}
        return bool(self.unread) or any(outcome.state not in good for outcome in self.files)

    @property
    def changed(self) -> bool:
        """Whether the store has more or other points than before."""
        return any(outcome.new or outcome.corrected or outcome.rerun for outcome in self.files)

    def count(self, state: ImportState) -> int:
        """Count the files in ``state``."""
        return sum(outcome.state is state for outcome in self.files)

    @property
    def points(self) -> int:
        """The number of points that were written."""
        return sum(outcome.points for outcome in self.files)

    @property
    def new_traces(self) -> int:
        """The number of traces that were new."""
        return sum(outcome.new_traces for outcome in self.files)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Lines for people about the import as a whole."""
        units: Counter[str] = Counter()
        for outcome in self.files:
            units.update(outcome.without_direction)
        return (*self.notes, *((remark_on_directions(units, "new "),) if units else ()), *self.unread)

    def followed_by(self, other: ImportSummary) -> ImportSummary:
        """Return what became of the files of this import and, after them, of those of ``other``."""
        return replace(
            self,
            files=self.files + other.files,
            ignored=self.ignored + other.ignored,
            notes=self.notes + other.notes,
            unread=self.unread + other.unread,
        )

    def lines(self) -> list[str]:
        """Return what to print: the lines of every file, and a total where there are several."""
        lines = [line for outcome in self.files for line in outcome.lines()] + [*self.remarks]
        if len(self.files) != 1:
            counts = {state.value: self.count(state) for state in ImportState if self.count(state)}
            told = ", ".join(f"{count:,} {state}" for state, count in counts.items()) or "no results files found"
            lines.append(f"{_count(len(self.files), 'file')}: {told}" if self.files else told)
        if self.ignored:
            lines.append(f"{_count(len(self.ignored), 'file')} of other kinds left alone")
        if self.dry_run:
            lines.append("dry run: nothing was kept")
        return lines
