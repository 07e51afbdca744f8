"""What the columns of a table of results mean, and the runs that its rows make.

A table is *long* when it has a column ``value`` (one measurement a row), and *wide* when it has not: then each
row is one run, and every column of numbers is a series. Both may hold many runs: rows of one commit, branch and
run belong together.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Final, cast

from knickpoint.formats.toolbox.exported_points import is_export, read_export
from knickpoint.formats.toolbox.numbers import (
    Habit,
    NoNumberError,
    Number,
    NumberCell,
    in_utc,
    number_reader,
    numeral,
    read_moment,
    to_float,
)
from knickpoint.formats.toolbox.result_rows import Rows
from knickpoint.formats.toolbox.table_cells import Cell, cell_text, row_outcome
from knickpoint.model.commit import Commit, commit_name
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Outcome, Problem, Report, RunReport
from knickpoint.model.unit import unit_in_name
from knickpoint.model.unit_names import Better

_ROLES: Final = {
    "value": ("value", "measurement", "measured_value", "result", "sample_value"),
    "samples": ("samples", "values"),
    "benchmark": ("benchmark", "benchmark_name", "name", "test", "test_name"),
    "unit": ("unit", "units"),
    "better": ("better", "direction", "improvement_direction", "lower_is_better", "higher_is_better"),
    "status": ("status", "outcome"),
    "exit_code": ("exit_code", "exitcode", "exit_status", "return_code", "returncode"),
    "message": ("message", "error"),
    "commit": ("commit", "revision", "commit_hash", "git_commit", "git_hash", "hash", "sha", "commit_id", "commit_sha"),
    "commit_time": ("commit_time", "commit_date", "committed_at", "author_date"),
    "author": ("author", "commit_author"),
    "email": ("email", "author_email"),
    "subject": ("subject", "commit_subject", "commit_message"),
    "branch": ("branch", "git_branch"),
    "repository": ("repository", "repo", "git_repo"),
    "run": ("run", "run_id", "job", "job_id", "build_id"),
    "time": ("time", "timestamp", "date", "datetime", "started_at", "run_time", "measured_at"),
    "order": (
        "pos",
        "position",
        "index",
        "sample",
        "repetition",
        "rep",
        "repeat",
        "iteration",
        "trial",
        "round",
        "row",
    ),
}
_BY_NAME: Final = {name: role for role, names in _ROLES.items() for name in names}
_PREFIXES: Final = ("param", "env", "link", "metric")
_OF_FORMATS: Final = frozenset({"metric", "suite", "stat"})
"""Params that formats name, beside ``benchmark``."""
_MISSING: Final = {"", "null", "none", "na", "n/a", "-"}
_NO_NUMBERS: Final = {"nan", "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity"}
"""How numbers that are none are written; any other text may be a number in a notation that is not read."""
_SPREAD: Final = re.compile(
    r"(?:.*[\s._-])?(?:std[\s._-]?dev|stdev|std|sd|sem|standard[\s._-]deviation|std[\s._-]?err(?:or)?|standard[\s._-]error|variance|rsd"
    r"|ci[\s._-]?(?:95|99|low(?:er)?|high|upper))(?:[\s._-](?:ns|us|µs|ms|s|sec|seconds))?",
    re.IGNORECASE,
)
"""Names of columns of deviations and bounds. They say how exact a value is, and name no benchmark."""
_STATISTICS: Final = re.compile(
    r"(?:mean|median|avg|average|min(?:imum)?|max(?:imum)?|p\d{2}(?:\.\d+)?|iqr|mad)", re.IGNORECASE
)
"""Names of columns that say more about the value of a long table: params of such names would begin a trace with each
row.
"""
_COUNTED: Final = frozenset({"error", "runs", "iterations", "rounds", "repetitions"})
"""Names of columns that a wide table has beside what is measured. In a long table such a column may be a param."""
_ROW_NUMBERS: Final = re.compile(r"unnamed: ?\d+|__index_level_\d+__", re.IGNORECASE)
"""What pandas calls the numbers of rows that a table was written with."""
_IN_BRACKETS: Final = re.compile(r"[(\[]([^()\[\]]+)[)\]]\Z")
_BETTERS: Final = {
    "lower": Better.LOWER,
    "less": Better.LOWER,
    "smaller": Better.LOWER,
    "down": Better.LOWER,
    "-1": Better.LOWER,
    "lower_is_better": Better.LOWER,
    "higher": Better.HIGHER,
    "more": Better.HIGHER,
    "bigger": Better.HIGHER,
    "up": Better.HIGHER,
    "1": Better.HIGHER,
    "+1": Better.HIGHER,
    "higher_is_better": Better.HIGHER,
    "": Better.UNKNOWN,
    "0": Better.UNKNOWN,
    "unknown": Better.UNKNOWN,
    "none": Better.UNKNOWN,
}
RowCheck = Callable[[Sequence[str], Collection[int], Sequence[tuple[str, Sequence[Cell]]]], None]
"""Refuse header, columns of values, and rows of a wide table with a ``FormatError``."""
_MOST_COLUMNS: Final = 1 << 14
"""As many as a spreadsheet has."""
_MOST_PARAMS: Final = 100
"""Params of a row: each value of a wide row has all of them in its key."""
_LONGEST_NAME: Final = 200
"""Characters of a column's name in which a unit is looked for, to say what is wrong with its cells."""


def roles(header: Sequence[str]) -> dict[str, int]:
    """Return role → column of the columns that ``header`` gives a role, prefixed ones under their full name."""
    found: dict[str, int] = {}
    for index, name in enumerate(header):
        plain = name.strip().lower().replace(" ", "_").replace("-", "_")
        prefix = plain.partition(":")[0]
        if ":" in plain and prefix in _PREFIXES:
            continue
        role = _BY_NAME.get(plain)
        if role is not None and role not in found:
            found[role] = index
    return found


@dataclass
class _Run:
    """A run while its rows come in."""

    rows: Rows
    time: datetime | None = None
    environment: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)


class _Table:
    """The meaning of a header, and the runs and commits of the rows read so far."""

    def __init__(self, header: Sequence[str], wide: Sequence[int], number: Number) -> None:
        self.header = [name.strip() for name in header]
        self.role = roles(header)
        self.wide = wide
        self.number = number
        self.runs: dict[tuple[str, str, str], _Run] = {}
        self.names = Rows()
        self.commits: dict[str, Commit] = {}
        self.all_dated = True
        self.repositories: dict[str, None] = {}
        self.measured = False
        self.text_found: NoNumberError | None = None
        taken = {*self.role.values(), *wide}
        self.params: list[tuple[int, str]] = []
        self.facts: list[tuple[int, str, str]] = []
        for index, name in enumerate(self.header):
            prefix, colon, rest = name.partition(":")
            if colon and prefix.lower() in ("env", "link"):
                self.facts.append((index, prefix.lower(), rest.strip()))
            elif colon and prefix.lower() == "param":
                self.params.append((index, _param(rest.strip())))
            elif (
                index not in taken
                and name
                and not _ROW_NUMBERS.fullmatch(name)
                and not (_is_beside(name) if wide else _beside_value(name))
            ):
                self.params.append((index, _param(name)))

    def text(self, row: Sequence[Cell], role: str) -> str:
        """Return the cell with ``role`` as text, "" where there is none."""
        index = self.role.get(role)
        return "" if index is None else cell_text(row[index])

    def add(self, row: Sequence[Cell], where: str) -> None:
        """Add one row, which stands at ``where``."""
        revision, branch = commit_name(self.text(row, "commit")), self.text(row, "branch")
        moment = self._moment(row, "time", where)
        given = self.text(row, "run")
        identity = given or ("" if revision else (moment.isoformat() if moment else ""))
        run = self.runs.get((revision, branch, identity))
        if run is None:
            run = self.runs[revision, branch, identity] = _Run(Rows(like=self.names))
        if moment and (run.time is None or moment < run.time):
            run.time = moment
        self._describe(row, run, revision, moment, where)
        params = {name: text for index, name in self.params if (text := cell_text(row[index]))}
        if len(params) > _MOST_PARAMS:
            raise FormatError(
                f"the row has {len(params):,} params, more than {_MOST_PARAMS}",
                where=where,
                remedy="Call columns of facts about the run env:NAME, and leave out what names no benchmark.",
            )
        benchmark = self.text(row, "benchmark")
        if benchmark:
            params["benchmark"] = benchmark
        try:
            outcome, message = row_outcome(
                self.text(row, "status"), self.text(row, "exit_code"), self.text(row, "message"), where
            )
            if outcome is not Outcome.MEASURED:
                for named in self._named(params):
                    run.rows.fail(named, message, outcome=outcome)
            elif self.wide:
                self._add_wide(run.rows, row, params, where)
            else:
                self._add_long(run.rows, row, params, where)
        except FormatError as error:
            if error.where == where:
                raise
            raise FormatError(error.message, where=f"{where}, {error.where}", remedy=error.remedy) from error

    def _describe(self, row: Sequence[Cell], run: _Run, revision: str, moment: datetime | None, where: str) -> None:
        for index, kind, name in self.facts:
            if text := cell_text(row[index]):
                (run.environment if kind == "env" else run.links)[name] = text
        if repository := self.text(row, "repository"):
            self.repositories[repository] = None
        if revision and revision not in self.commits:
            stated = self._moment(row, "commit_time", where)
            time = stated or moment
            self.all_dated &= stated is not None
            if time is not None:
                author, email, subject = (self.text(row, role) for role in ("author", "email", "subject"))
                self.commits[revision] = Commit(revision, author, email, time, subject)

    def _moment(self, row: Sequence[Cell], role: str, where: str) -> datetime | None:
        index = self.role.get(role)
        cell = None if index is None else row[index]
        if cell is None or isinstance(cell, list) or not cell_text(cell):
            return None
        moment = in_utc(cell) if isinstance(cell, datetime) else read_moment(cell)
        if moment is None:
            raise FormatError(
                f"{cell_text(cell)!r} in column {self.header[index or 0]!r} is not a time",
                where=where,
                remedy="Write times as 2026-08-20T10:11:12Z, or as seconds since 1970.",
            )
        return moment

    def _add_long(self, rows: Rows, row: Sequence[Cell], params: dict[str, str], where: str) -> None:
        better = self.better(row, where)
        for role in ("value", "samples"):
            index = self.role.get(role)
            if index is not None:
                with rows.failing(params):
                    rows.add(params, self._read(row[index], index, params, where), self.text(row, "unit"), better)

    def _named(self, params: dict[str, str]) -> list[dict[str, str]]:
        """Return the params of each series of a row: with its metric where there are several."""
        return [{**params, "metric": name_and_unit(self.header[index])[0]} for index in self.wide] or [params]

    def _add_wide(self, rows: Rows, row: Sequence[Cell], params: dict[str, str], where: str) -> None:
        better = self.better(row, where)
        for index in self.wide:
            name, unit = name_and_unit(self.header[index])
            named = {**params, "metric": name}
            with rows.failing(named):
                rows.add(named, self._read(row[index], index, named, where), self.text(row, "unit") or unit, better)

    def _read(self, cell: Cell, index: int, params: dict[str, str], where: str) -> list[float]:
        """Return the samples of a cell of values, and note that there are some. Raises as :meth:`_samples`."""
        samples = self._samples(cell, index, params, where)
        self.measured = self.measured or bool(samples)
        return samples

    def better(self, row: Sequence[Cell], where: str) -> Better:
        """Return the direction in ``row``."""
        index = self.role.get("better")
        if index is None:
            return Better.UNKNOWN
        text = cell_text(row[index]).strip().lower()
        column = self.header[index].lower()
        if column.endswith("_is_better"):
            if text not in {"true", "false", "1", "0", "yes", "no", ""}:
                raise FormatError(f"{text!r} is neither true nor false", where=where, remedy="Write true or false.")
            lower = (text in {"true", "1", "yes"}) == column.startswith("lower")
            return Better.UNKNOWN if not text else Better.LOWER if lower else Better.HIGHER
        better = _BETTERS.get(text.removesuffix(".0"))
        if better is None:
            raise FormatError(f"{text!r} is not a direction", where=where, remedy="Write lower or higher.")
        return better

    def _samples(self, cell: Cell, index: int, params: dict[str, str], where: str) -> list[float]:
        if isinstance(cell, list):
            return [sample for item in cell for sample in self._samples(item, index, params, where)]
        if cell is None or (isinstance(cell, str) and cell.strip().lower() in _MISSING):
            return []
        value: float | None
        if isinstance(cell, str):
            value = self.number(cell)
        else:
            value = to_float(cell) if isinstance(cell, int | float) and not isinstance(cell, bool) else None
        if value is None or not math.isfinite(value):
            error = NoNumberError(
                f"{cell_text(cell)!r} in column {self.header[index]!r} is not a finite number",
                where=where,
                remedy="Write plain numbers; leave the cell empty where there is none.",
                of=params.get("benchmark", ""),
            )
            if value is None and cell_text(cell).lower() not in _NO_NUMBERS:
                self.text_found = self.text_found or error
            raise error
        return [value]

    def report(self, name: str) -> Report:
        """Return the runs of the rows. Raises ``NoNumberError`` where the columns of values hold text only."""
        if self.text_found is not None and not self.measured:
            raise self.text_found
        if len(self.repositories) > 1:
            raise FormatError(
                f"the rows belong to {len(self.repositories)} repositories: {', '.join(self.repositories)}",
                remedy="Split the table, one file per repository.",
            )
        several = len(self.runs) > 1
        runs = tuple(
            RunReport(
                run.rows.table(),
                entry="/".join(part for part in (branch, revision, identity) if part) if several else "",
                revision=revision,
                branch=branch,
                identity=identity if "run" in self.role else "",
                time=run.time,
                environment=run.environment,
                links=run.links,
            )
            for (revision, branch, identity), run in self.runs.items()
        )
        column = self.header[self.role["branch"]] if "branch" in self.role else ""
        return Report(name, runs, self._ordered_commits(), next(iter(self.repositories), ""), column)

    def _ordered_commits(self) -> tuple[Commit, ...]:
        """Return the described commits, oldest first.

        By their own times, where each row states them: ``git log`` and many exports have the newest first, others are
        sorted by benchmark. The times of runs are no more than a hint, as an old commit may be measured late: where
        they only fall, the rows have the newest first; else their order is that of the commits.
        """
        commits = list(self.commits.values())
        times = [commit.time for commit in commits]
        if len(set(times)) > 1 and all(later <= earlier for earlier, later in pairwise(times)):
            commits.reverse()
        return tuple(sorted(commits, key=lambda commit: commit.time) if self.all_dated else commits)


def read_table(
    name: str,
    header: Sequence[str],
    rows: Iterable[tuple[str, Sequence[Cell]]],
    *,
    habit: Habit = Habit.EITHER,
    check: RowCheck | None = None,
) -> tuple[Report, tuple[Problem, ...]]:
    """Return the report of a table and its warnings; ``rows`` are pairs of a place and its cells.

    ``habit`` is that of what writes such tables; ``check`` looks at the rows of a wide one.

    Raises:
        FormatError: a cell is not what its column needs, its number may be one of two, or no column holds values.
    """
    _check_header(header)
    found, kept = roles(header), list(rows)
    number, warnings = number_reader(_number_cells(header, found, kept), habit)
    if is_export(header):
        return read_export(name, header, kept, number), warnings
    long = "value" in found or "samples" in found
    wide = () if long else _wide_columns(header, found, [row for _, row in kept], number)
    if not long and not wide:
        raise FormatError(
            f"no column holds values, among {', '.join(header)[:200]}",
            remedy="Name it value, or let its name end with a unit, as time_ms does.",
        )
    if wide and "commit" not in found:
        _check_one_run(header, found, kept)
    if wide and check is not None:
        check(header, wide, kept)
    if "samples" in found and "value" not in found:
        _check_samples(header[found["samples"]], [row[found["samples"]] for _, row in kept])
    table = _Table(header, wide, number)
    for where, row in kept:
        table.add(row, where)
    return table.report(name), warnings


def _check_header(header: Sequence[str]) -> None:
    """Refuse a header with more columns than results have, or with a name that comes twice."""
    if len(header) > _MOST_COLUMNS:
        raise FormatError(
            f"the table has {len(header):,} columns, more than {_MOST_COLUMNS:,}",
            remedy="Split it, or write a measurement a row: a column for the name and a column value.",
        )
    repeated = next((column for column, count in Counter(header).items() if column and count > 1), None)
    if repeated is not None:
        raise FormatError(f"two columns are called {repeated!r}", remedy="Give each column a different name.")


def _number_cells(
    header: Sequence[str], found: dict[str, int], rows: Sequence[tuple[str, Sequence[Cell]]]
) -> list[NumberCell]:
    """Return the texts in columns of values: those called so, else those with a unit or with a number in a cell."""
    named = [found[role] for role in ("value", "samples") if role in found]
    columns = named or [index for index in _untaken(header, found) if _holds_numbers(header[index], index, rows)]
    return [
        NumberCell(text, header[index], where)
        for index in columns
        for where, row in rows
        for text in _texts(row[index])
        if text.strip().lower() not in _MISSING
    ]


def _texts(cell: Cell) -> list[str]:
    if isinstance(cell, str):
        return [cell]
    items = cast("list[object]", cell) if isinstance(cell, list) else []
    return [item for item in items if isinstance(item, str)]


def _holds_numbers(name: str, index: int, rows: Sequence[tuple[str, Sequence[Cell]]]) -> bool:
    """Return True if a column of a wide table measures: by its unit, or by a number.

    Not where it only says how exactly.
    """
    if _is_beside(name):
        return False
    text, unit = name_and_unit(name) if len(name) <= _LONGEST_NAME else ("", "")
    return bool(unit or unit_in_name(text)) or any(
        numeral(text, decimal_comma=True) is not None for _, row in rows for text in _texts(row[index])
    )


def _check_samples(column: str, cells: Sequence[Cell]) -> None:
    """Refuse a table without values whose samples are single numbers: JMH's CSV counts them in a column "Samples"."""
    if column.strip().lower() == "samples" and cells and not any(isinstance(cell, list) for cell in cells):
        raise FormatError(
            f"the column {column!r} has numbers in place of lists, which may be how many samples there were",
            remedy="Name the column of measurements value. Of JMH, import its JSON (-rf json).",
        )


def _check_one_run(header: Sequence[str], found: dict[str, int], rows: Sequence[tuple[str, Sequence[Cell]]]) -> None:
    """Refuse a wide table whose rows name times and no commits, such as a log of requests or of every second."""
    times = {cell_text(row[found["time"]]) for _, row in rows} if "time" in found else set()
    if len(times) > 1:
        raise FormatError(
            f"the rows have {len(times)} different times in column {header[found['time']]!r} and name no commit, so "
            "they are what happened within a run, not results of runs",
            where=rows[0][0],
            remedy="Import the summary that the tool writes, or give each row its commit in a column commit.",
        )


def _untaken(header: Sequence[str], found: dict[str, int]) -> list[int]:
    """Return the columns of a wide table that may be series: without a role, a prefix, or numbers of rows."""
    taken = set(found.values())
    return [
        index
        for index, name in enumerate(header)
        if index not in taken and name.strip() and not _ROW_NUMBERS.fullmatch(name.strip())
        if _is_marked(name) or name.partition(":")[0].lower() not in _PREFIXES or ":" not in name
    ]


def _is_marked(column: str) -> bool:
    """Return True if a column of a wide table is called a metric."""
    prefix, colon, _ = column.partition(":")
    return bool(colon) and prefix.lower() == "metric"


def _wide_columns(
    header: Sequence[str], found: dict[str, int], rows: Sequence[Sequence[Cell]], number: Number
) -> tuple[int, ...]:
    wide = []
    for index in _untaken(header, found):
        texts = [text for row in rows if (text := cell_text(row[index])).lower() not in _MISSING]
        if (
            _is_marked(header[index])
            or any(number(text) is not None for text in texts)
            or any(isinstance(row[index], list) for row in rows)
        ):
            wide.append(index)
    # What says how exact a measurement is makes no series, unless nothing else is measured.
    return tuple([index for index in wide if not _is_beside(header[index])] or wide)


def _beside_value(column: str) -> bool:
    """Return True if a column of a long table has deviations, bounds or another statistic of the column ``value``."""
    return _SPREAD.fullmatch(column) is not None or _STATISTICS.fullmatch(column) is not None


def _param(column: str) -> str:
    """Return the param of a column: what formats have names for is called so in any case of letters."""
    return column.lower() if column.lower() in _OF_FORMATS else column


def _is_beside(column: str) -> bool:
    """Return True if a column of a wide table has deviations, bounds or counts of what other columns measure."""
    name = name_and_unit(column)[0].strip()
    return not _is_marked(column) and (_SPREAD.fullmatch(name) is not None or name.lower() in _COUNTED)


def says_nothing(column: str) -> bool:
    """Return True if a column of a wide table has deviations, counts or numbers of rows, which name no benchmark."""
    return _is_beside(column) or _ROW_NUMBERS.fullmatch(column.strip()) is not None


def name_and_unit(column: str) -> tuple[str, str]:
    """Return a wide column's metric and the unit that stands in brackets; the name itself may hold one, too."""
    prefix, colon, rest = column.partition(":")
    name = rest.strip() if colon and prefix.lower() == "metric" else column
    found = _IN_BRACKETS.search(name)
    before = name[: found.start()].rstrip() if found else ""
    return (before, found[1].strip()) if found and before else (name, "")
