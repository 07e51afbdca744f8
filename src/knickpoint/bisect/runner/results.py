"""Read what a measure command wrote: the files that are new, and the values in them by trace key."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np

from knickpoint.bisect.job import ProbeJob
from knickpoint.ingest.naming_rules import NamingRules
from knickpoint.ingest.results_file import ResultsFile as IncomingFile
from knickpoint.ingest.sidecar import FileContext, Sidecar, companions_of
from knickpoint.ingest.stages.read import read_results
from knickpoint.model.bisection import Measured, ResultsFile
from knickpoint.model.errors import FormatError, KnickpointError
from knickpoint.model.plain_text import plain_line
from knickpoint.model.report import Outcome, ResultTable
from knickpoint.model.unit_names import Better

MOST_FILES: Final = 200
"""Results files of one run of the measure command."""

MOST_BYTES: Final = 64_000_000
"""Bytes of all of them together."""

_MOST_MATCHES: Final = 20_000
"""Files that may match the patterns; more means that a pattern is too wide."""

_LONGEST_NAME: Final = 300

Signature = tuple[int, int, int]
"""What changes when a file is written: its number, the time of its change in nanoseconds, its size."""


@dataclass(frozen=True, slots=True)
class RunResults:
    """What one run of the measure command wrote: the files, and the samples, unit and direction of each trace.

    ``failed`` has the message of each trace that failed and has no value, ``profiles`` counts the files that are
    profiles and have none.
    """

    files: tuple[ResultsFile, ...]
    samples: Mapping[str, tuple[float, ...]]
    units: Mapping[str, str]
    better: Mapping[str, Better]
    failed: Mapping[str, str] = field(default_factory=dict)
    profiles: int = 0


def find_files(tree: Path, patterns: Sequence[str]) -> dict[str, Signature]:
    """Return the regular files below ``tree`` that match a pattern, by name, each with its signature.

    Raises:
        FormatError: a pattern matches too many files.
    """
    found: dict[str, Signature] = {}
    for name, facts in _matches(tree, patterns):
        found[name] = (facts.st_ino, facts.st_mtime_ns, facts.st_size)
        if len(found) > _MOST_MATCHES:
            raise FormatError(
                f"more than {_MOST_MATCHES:,} files match", where=", ".join(patterns), remedy="Narrow the patterns."
            )
    return found


def _matches(tree: Path, patterns: Sequence[str]) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the regular files that match; no symbolic link is followed out of the tree."""
    top = tree.resolve()
    for pattern in patterns:
        for path in tree.glob(pattern):
            try:
                facts = path.lstat()
                inside = path.parent.resolve().is_relative_to(top)
            except OSError:
                continue
            if stat.S_ISREG(facts.st_mode) and inside:
                yield path.relative_to(tree).as_posix(), facts


def read_run(job: ProbeJob, tree: Path, before: Mapping[str, Signature]) -> RunResults:
    """Read the results files that were written since ``before`` was found.

    Raises:
        FormatError: there is none, or one cannot be read as results, or they are too many or too large.
        InputError: the naming rules refuse a param.
    """
    patterns = job.recipe.results
    after = find_files(tree, patterns)
    fresh = sorted(name for name, signature in after.items() if before.get(name) != signature)
    _check_bounds(fresh, after, patterns)
    files: list[ResultsFile] = []
    samples: dict[str, list[float]] = {}
    units: dict[str, str] = {}
    better: dict[str, Better] = {}
    failed: dict[str, str] = {}
    profiles = 0
    for name in fresh:
        content = _read_below(tree, name)
        tables = _tables(job, tree, name, content, found=any(sign in pattern for pattern in patterns for sign in "*?["))
        if tables is None:
            continue
        files.append(ResultsFile(name, content))
        profiles += not tables
        for table in tables:
            _add(table, samples, units, better)
            failed |= _failures(table)
    if not files:
        raise FormatError(
            "no format fits the output of the measure command",
            where=plain_line(", ".join(fresh), _LONGEST_NAME),
            remedy="knick import --list shows the formats.",
        )
    failed = {key: message for key, message in failed.items() if key not in samples}
    found = {key: tuple(values) for key, values in samples.items()}
    return RunResults(tuple(files), found, units, better, failed, profiles)


def join_runs(runs: Sequence[RunResults]) -> dict[str, Measured]:
    """Return the value of each trace: the median of the samples of all runs of one probe."""
    samples: dict[str, tuple[float, ...]] = {}
    units: dict[str, str] = {}
    for run in runs:
        for key, values in run.samples.items():
            samples[key] = (*samples.get(key, ()), *values)
        units.update(run.units)
    return {key: Measured(float(np.median(values)), values, units[key]) for key, values in samples.items()}


def _check_bounds(fresh: Sequence[str], found: Mapping[str, Signature], patterns: Sequence[str]) -> None:
    where = ", ".join(patterns)
    if not fresh:
        raise FormatError(
            "the measure command wrote no results" if not found else "the results were not written by this run",
            where=where,
            remedy="Let it write a file that matches.",
        )
    if len(fresh) > MOST_FILES:
        raise FormatError(f"more than {MOST_FILES} results files", where=where, remedy="Narrow the patterns.")
    total = sum(found[name][2] for name in fresh)
    if total > MOST_BYTES:
        raise FormatError(
            f"results of {total:,} bytes, and at most {MOST_BYTES:,} are read",
            where=where,
            remedy="Narrow the patterns.",
        )


def _read_below(tree: Path, name: str) -> bytes:
    """Return the content of a file of the tree, which may have changed since it was found."""
    try:
        descriptor = os.open(tree / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        reason = f"it cannot be read: {error.strerror}"
        raise FormatError(reason, where=plain_line(name, _LONGEST_NAME)) from error
    if len(content) > MOST_BYTES:
        raise FormatError(f"more than {MOST_BYTES:,} bytes", where=plain_line(name, _LONGEST_NAME))
    return content


def _tables(job: ProbeJob, tree: Path, name: str, content: bytes, *, found: bool) -> list[ResultTable] | None:
    """Return the results in a file under the names that an import would give them; [] for a profile, None for neither."""
    stated = Sidecar(commit=job.target.commit, format=job.recipe.format, params=job.added_params)
    shown = plain_line(name, _LONGEST_NAME)
    companions = companions_of(name, lambda beside: _companion(tree, beside))
    file = IncomingFile(shown, content, FileContext(stated), companions, found=found and not stated.format)
    read = read_results(file, job.ingest)
    if read is None:
        return None
    if read.errors:
        error = read.errors[0]
        raise FormatError(error.message, where=error.where or shown, remedy=error.remedy)
    if read.profile is not None:
        return []
    rules = NamingRules(stated.params, job.ingest.drop_params, job.ingest.refuse_params, job.ingest.renames)
    return [rules.apply(run.results, where=shown)[0] for run in read.report.runs]


def _companion(tree: Path, name: str) -> bytes | None:
    if name.startswith(("..", "/")):
        return None
    try:
        return _read_below(tree, name)
    except KnickpointError:
        return None


def _add(table: ResultTable, samples: dict[str, list[float]], units: dict[str, str], better: dict[str, Better]) -> None:
    """Add the samples of a table to those of its traces."""
    directions = list(Better)
    for row, key in enumerate(table.keys):
        values = table.samples[table.offsets[row] : table.offsets[row + 1]].tolist()
        if values:
            samples.setdefault(key, []).extend(values)
            units.setdefault(key, table.units[table.unit_codes[row]])
            better.setdefault(key, directions[table.better_codes[row]])


def _failures(table: ResultTable) -> dict[str, str]:
    """Return the first line of the message of each trace that failed."""
    code = list(Outcome).index(Outcome.FAILED)
    rows = np.flatnonzero(table.outcome_codes == code).tolist()
    return {table.keys[row]: plain_line(table.messages.get(row, "").strip(), _LONGEST_NAME) for row in rows}
