"""Stage 1: read what a results file states, in whichever format it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from knickpoint.formats import read_found, read_mapped, read_report
from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.parsing_memory import ReadingLimits
from knickpoint.ingest.memory import reading_limits, within_memory
from knickpoint.ingest.results_file import ResultsFile
from knickpoint.ingest.settings import IngestSettings
from knickpoint.model.errors import FormatError
from knickpoint.model.report import Problem, Report

__all__ = ["ReadResults", "Reader", "read_results"]


@dataclass(frozen=True, slots=True)
class ReadResults:
    """What a results file states, before anything is known about the repository of its runs.

    ``errors`` refuse the whole file; ``warnings`` let it in.
    """

    file: ResultsFile
    report: Report
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]


Reader = Callable[[ResultsFile, IngestSettings], ReadResults | None]
"""What reads a file: :func:`read_results`, or the same in another process."""


def read_results(file: ResultsFile, settings: IngestSettings) -> ReadResults | None:
    """Return what ``file`` states, None where it was found in a folder or bucket and no format claims it.

    Raises:
        FormatError: the file is larger than the settings allow, takes too much memory, or cannot be read.
    """
    if len(file.data) > settings.largest_megabytes * 1_000_000:
        raise FormatError(
            f"the file has more than {settings.largest_megabytes} MB",
            where=file.source,
            remedy="Split it, or raise largest_megabytes in knickpoint.toml.",
        )
    limits = reading_limits(settings, file.data)
    parsed = within_memory(lambda: _parse(file, limits), file.source)
    if parsed is None:
        return None
    report, problems = parsed
    errors = tuple(problem for problem in problems if problem.refuses)
    warnings = tuple(problem for problem in problems if not problem.refuses)
    return ReadResults(file, report, errors, warnings)


def _parse(file: ResultsFile, limits: ReadingLimits) -> Parsed | None:
    """Parse ``file`` by its mapping, by the format stated for it, or by the format that recognises it."""
    if file.context.mapping:
        return read_mapped(file.data, file.context.mapping.encode(), name=file.source, limits=limits)
    stated = file.context.stated.format
    if file.found and not stated:
        return read_found(file.data, name=file.source, companions=file.companions, limits=limits)
    return read_report(file.data, name=file.source, format=stated, companions=file.companions, limits=limits)
