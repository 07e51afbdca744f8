"""Summaries of imports: what became of each file, as counts and as lines to print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import islice
from typing import Final

from knickpoint.model.errors import KnickpointError
from knickpoint.model.report import Problem

_MOST_UNITS: Final = 5
"""Units that a remark names."""

_MOST_REPEATED: Final = 3
"""Benchmarks with several rows that the line of a file names."""

_FEWEST_HEADLESS: Final = 2
"""Files without a commit in one import, of which some became re-runs, that may be of several commits."""


_MOST_NAMED: Final = 3
"""Files that a line about several names."""

_MOST_FILES: Final = 10
"""Files of one import up to which each has a line; of more, those only about which something is to be said."""


class ImportState(Enum):
    """The outcome of one file."""

    IMPORTED = "imported"
    UNCHANGED = "unchanged"
    WAITING = "waiting"
    REFUSED = "refused"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class FileSummary:
    """What became of one file.

    Attributes:
        source: the path or URL that names the file.
        state: what became of it as a whole.
        repository: the repository that its runs belong to.
        format: the format that it was read as.
        new: runs that were stored for the first time.
        same: runs that were stored already.
        removed: whether runs of this content were removed, so that a folder or a bucket does not import it again.
        corrected: runs that replace what they reported before.
        rerun: runs that join the points of other runs.
        waiting: runs whose commits the repository does not have yet.
        commits: commits with new or changed points.
        new_traces: traces that did not exist before.
        points: points that were written.
        repeated: benchmark → rows of the file that became samples of fewer points; the most come first.
        sampled_points: those points.
        failed: results without a value because the benchmark failed.
        skipped: results without a value because the benchmark was skipped.
        unknown: the commits that runs wait for.
        changes: lines that name the values that corrections changed.
        problems: the reasons of a refusal, or warnings.
        without_direction: unit → new traces for which it is unknown which way is better.
        notes: lines about the import as a whole, which its summary shows once.
        head: the commit that stood in as HEAD, because nothing names that of the file.
        profile: the benchmark of which the file is a profile that was stored, "" for none.
    """

    source: str
    state: ImportState
    repository: str = ""
    format: str = ""
    new: int = 0
    same: int = 0
    removed: bool = False
    corrected: int = 0
    rerun: int = 0
    waiting: int = 0
    commits: int = 0
    new_traces: int = 0
    points: int = 0
    repeated: Mapping[str, int] = field(default_factory=dict)
    sampled_points: int = 0
    failed: int = 0
    skipped: int = 0
    unknown: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    without_direction: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    head: str = ""
    profile: str = ""

    @property
    def sample_rows(self) -> int:
        """The number of rows of the file that became samples of fewer points."""
        return sum(self.repeated.values())

    def lines(self) -> list[str]:
        """Return a line for the file as a whole, then one for each change and each problem."""
        lines = [f"{self.source}: {self._headline()}"]
        lines += [f"  changed: {change}" for change in self.changes]
        further = self.problems[1:] if self._is_out else self.problems
        return lines + [f"  {_problem(problem, self.source)}" for problem in further]

    @property
    def is_plain(self) -> bool:
        """Whether the file was imported, now or before, and its counts are all there is to say."""
        said = self.changes or self.problems or self.removed or self.failed or self.skipped
        return self.state in {ImportState.IMPORTED, ImportState.UNCHANGED} and not (said or self.repeated)

    @property
    def _is_out(self) -> bool:
        return self.state in {ImportState.REFUSED, ImportState.UNREADABLE}

    def _headline(self) -> str:
        if self._is_out:
            reason = _problem(self.problems[0], self.source) if self.problems else "no reason was given"
            return f"{'refused' if self.state is ImportState.REFUSED else 'not read'}: {reason}"
        parts = self._parts()
        if parts:
            return "; ".join(parts)
        if self.removed:
            return "left out, because runs of it were removed; name the file itself to import them again"
        if self.same:
            return f"nothing new, {'its run is' if self.same == 1 else f'all {self.same} runs are'} already imported"
        # Where the same content is in already, nothing is said about it a second time.
        return (
            "nothing imported, it has no run" if self.problems else "nothing new, the same content is already imported"
        )

    def _parts(self) -> list[str]:
        """Describe the outcome of the runs and results of a file, empty if nothing is new."""
        without_value = " and ".join(
            f"{count:,} {what}" for count, what in ((self.failed, "failed"), (self.skipped, "skipped")) if count
        )
        parts = [
            f"profile of {self.profile} imported into {self.repository} ({self.format})" if self.profile else "",
            f"{_count(self.new, 'run')} of {_count(self.commits, 'commit')} imported into {self.repository}"
            f" ({_count(self.points, 'point')}, {_count(self.new_traces, 'new trace')})"
            if self.new
            else "",
            f"{without_value} without a value" if without_value else "",
            f"{_count(self.rerun, 're-run')} joined" if self.rerun else "",
            f"{_count(self.corrected, 'run')} corrected" if self.corrected else "",
        ]
        parts = [part for part in parts if part]
        if self.repeated and parts:
            named = [f"{count:,} of {name}" for name, count in islice(self.repeated.items(), _MOST_REPEATED)]
            parts.append(
                f"{_count(self.sample_rows, 'row')} became samples of {_count(self.sampled_points, 'point')}"
                f" ({', '.join(named)}{', …' if len(self.repeated) > len(named) else ''})"
            )
        if self.same and parts:
            parts.append(f"{_count(self.same, 'run')} already imported")
        if self.waiting:
            shown = ", ".join(revision[:12] for revision in self.unknown[:3]) + (" …" if len(self.unknown) > 3 else "")
            parts.append(
                f"{_count(self.waiting, 'run')} waiting: {self.repository} has no commit {shown};"
                " they are imported once it does"
            )
        return parts


def unreadable_file(source: str, error: KnickpointError) -> FileSummary:
    """Return the summary of a file that cannot be read, because of ``error``."""
    return FileSummary(source, ImportState.UNREADABLE, problems=(Problem.of(error),))


def _problem(problem: Problem, source: str) -> str:
    return replace(problem, where=problem.where.removeprefix(source).lstrip(",: ")).sentence


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def remark_on_directions(units: Mapping[str, int], which: str = "") -> str:
    """Return a line that counts the traces without a direction by unit, and says what to do.

    The unit with the most traces comes first, units of equal counts by name; ``which`` goes before "traces".
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


def _shared_lines(files: Sequence[FileSummary]) -> list[str]:
    """The lines of ``files``; those that differ in nothing but their names share them, where the first of them is."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for file in files:
        first, *rest = file.lines()
        alike.setdefault((first.removeprefix(file.source), *rest), []).append(file.source)
    lines = []
    for (said, *rest), sources in alike.items():
        named = ", ".join(sources[:_MOST_NAMED]) + (" …" if len(sources) > _MOST_NAMED else "")
        lines += [f"{len(sources):,} files ({named}){said}" if len(sources) > 1 else f"{named}{said}", *rest]
    return lines


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What became of every file, in the order of the import.

    Attributes:
        files: one summary a file.
        ignored: the files that were found in folders and left alone, because no format fits them.
        dry_run: whether everything was undone.
        notes: lines about the import as a whole, such as which lines of commits a force-push changed.
        unread: why repositories or file sources could not be read.
    """

    files: tuple[FileSummary, ...] = ()
    ignored: tuple[str, ...] = ()
    dry_run: bool = False
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        files: Sequence[FileSummary | None],
        notes: Sequence[str] = (),
        *,
        ignored: Sequence[str] = (),
        dry_run: bool = False,
        unread: Sequence[str] = (),
    ) -> ImportSummary:
        """Return the summary of ``files``, without those that no format claims (None).

        Their notes precede ``notes``.
        """
        claimed = tuple(file for file in files if file is not None)
        all_notes = dict.fromkeys(note for file in claimed for note in file.notes)
        return cls(claimed, tuple(ignored), dry_run, (*all_notes, *notes), tuple(unread))

    @property
    def failed(self) -> bool:
        """Whether anything was refused, could not be read, or waits."""
        good = {ImportState.IMPORTED, ImportState.UNCHANGED}
        return bool(self.unread) or any(file.state not in good for file in self.files)

    @property
    def changed(self) -> bool:
        """Whether the store has more or other points than before."""
        return any(file.new or file.corrected or file.rerun for file in self.files)

    def count(self, state: ImportState) -> int:
        """Count the files in ``state``."""
        return sum(file.state is state for file in self.files)

    @property
    def points(self) -> int:
        """The number of points that were written."""
        return sum(file.points for file in self.files)

    @property
    def new_traces(self) -> int:
        """The number of traces that were new."""
        return sum(file.new_traces for file in self.files)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Lines for people about the import as a whole."""
        units: Counter[str] = Counter()
        for file in self.files:
            units.update(file.without_direction)
        return (
            *self.notes,
            *self._remark_on_head(),
            *((remark_on_directions(units, "new "),) if units else ()),
            *self.unread,
        )

    def _remark_on_head(self) -> tuple[str, ...]:
        """Say that files which name no commit became re-runs of one: they may be the results of several commits."""
        headless = [file for file in self.files if file.head]
        joined = sum(file.rerun > 0 for file in headless)
        if len(headless) < _FEWEST_HEADLESS or not joined:
            return ()
        remark = (
            f"{joined:,} of {len(headless):,} files without a commit measured benchmarks of HEAD again, whose points "
            "are now medians of all. Are they of several commits? Then begin again with an instance that has none of "
            "them, and import each with --commit, or with the hash of its commit in its name"
        )
        return (remark,)

    def followed_by(self, other: ImportSummary) -> ImportSummary:
        """Return the summary of this import and of ``other``, which came after it."""
        return replace(
            self,
            files=self.files + other.files,
            ignored=self.ignored + other.ignored,
            notes=self.notes + other.notes,
            unread=self.unread + other.unread,
        )

    def _total(self) -> str:
        """The files by outcome, and what is new of all together."""
        states = ", ".join(f"{self.count(state):,} {state.value}" for state in ImportState if self.count(state))
        runs = sum(file.new for file in self.files)
        if not runs:
            return states
        points, traces = _count(self.points, "point"), _count(self.new_traces, "new trace")
        return f"{states} ({_count(runs, 'new run')}, {points}, {traces})"

    def lines(self, *, every_file: bool = False) -> list[str]:
        """Return the lines to print: those of the files, and a total if there are several.

        Of more than ten files, unless ``every_file``, plain ones have no line, and those with equal outcomes share one.
        """
        if every_file or len(self.files) <= _MOST_FILES:
            lines = [line for file in self.files for line in file.lines()]
        else:
            lines = _shared_lines([file for file in self.files if not file.is_plain])
        lines += self.remarks
        if len(self.files) != 1:
            lines.append(
                f"{_count(len(self.files), 'file')}: {self._total()}" if self.files else "no results files found"
            )
        if self.ignored:
            why = "" if self.files else ": import one by its name to read why"
            lines.append(f"{_count(len(self.ignored), 'file')} of other kinds ignored{why}")
        if self.dry_run:
            lines.append("dry run: nothing was stored")
        return lines
