"""Stage 1: read what a results file states, or end its import early because it is stored already or refused."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knickpoint.formats import read_found, read_mapped, read_report
from knickpoint.formats.format import Parsed
from knickpoint.formats.toolbox.file_content import ReadingLimits
from knickpoint.formats.toolbox.storable_text import keepable_text
from knickpoint.ingest.file_sources import is_named_as_profile
from knickpoint.ingest.held_files import quarantine_file
from knickpoint.ingest.import_summary import FileSummary, ImportState
from knickpoint.ingest.results_file import ResultsFile, file_digests, reading_limits, within_memory
from knickpoint.ingest.settings import Destination, IngestSettings
from knickpoint.model.errors import DefectError, FormatError, KnickpointError
from knickpoint.model.report import Problem, Report, ResultTable, RunReport, Severity
from knickpoint.store import FileState

if TYPE_CHECKING:
    from knickpoint.profiles import Profile

# Stage 1: read what a results file states, in whichever format it is.


PROFILE: Final = "profile"
"""What stands for a format where a file is stated to be a profile, of whatever kind."""


@dataclass(frozen=True, slots=True)
class ReadResults:
    """What a results file states, before anything is known about the repository of its runs.

    ``errors`` refuse the whole file; ``warnings`` let it in. ``profile`` is what the file is in place of results, None
    where it has results.
    """

    file: ResultsFile
    report: Report
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    profile: Profile | None = None


Reader = Callable[[ResultsFile, IngestSettings], ReadResults | None]
"""What reads a file: :func:`read_results`, or the same in another process."""


def read_results(file: ResultsFile, settings: IngestSettings) -> ReadResults | None:
    """Read ``file``, None if it was found in a folder or bucket and no format claims it.

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
    stated = file.context.stated.format
    parsed, fault = None, None
    if stated != PROFILE:
        try:
            parsed = within_memory(lambda: _parse(file, limits), file.source)
        except FormatError as error:
            fault = error
    if parsed is None:
        profile = _find_profile(file) if stated in {"", PROFILE} and not file.context.mapping else None
        if profile is None and fault is not None:
            raise fault
        return profile
    report, problems = parsed
    errors = tuple(problem for problem in problems if problem.refuses)
    warnings = tuple(problem for problem in problems if not problem.refuses)
    return ReadResults(file, report, errors, warnings)


def _find_profile(file: ResultsFile) -> ReadResults | None:
    """Read a file that no format of results claims as a profile, None where it is not one either.

    Raises:
        FormatError: it is damaged, too large, or not a profile though it was stated to be one.
    """
    from knickpoint.profiles import find_profile, read_profile

    stated, named = file.context.stated.format == PROFILE, is_named_as_profile(file.source)
    read = read_profile if stated or (named and not file.found) else find_profile
    try:
        found = within_memory(lambda: read(file.data, file.source), file.source)
    except FormatError:
        if stated or named:
            raise
        found = None  # without the name of a profile, what is damaged or too large is something else
    if found is None:
        return None
    warnings = tuple(Problem(text, file.source, "", Severity.WARNING) for text in found.notes)
    return ReadResults(file, Report(found.format, (RunReport(ResultTable.of(())),)), (), warnings, found)


def _parse(file: ResultsFile, limits: ReadingLimits) -> Parsed | None:
    """Parse ``file`` by its mapping, by the format stated for it, or by the format that recognises it."""
    if file.context.mapping:
        return read_mapped(file.data, file.context.mapping.encode(), name=file.source, limits=limits)
    stated = file.context.stated.format
    if file.found and not stated:
        return read_found(file.data, name=file.source, companions=file.companions, limits=limits)
    return read_report(file.data, name=file.source, format=stated, companions=file.companions, limits=limits)


# End an import early: the content of a file is stored already, or the file is refused, as after a defect of Knickpoint.


_LONGEST_REASON: Final = 200
"""Characters that are shown of what an unforeseen exception says."""


@contextmanager
def defects_refuse(source: str) -> Iterator[None]:
    """Let an unforeseen exception in the body refuse the file ``source``, so that it does not keep out its neighbours.

    Raises:
        DefectError: there was such an exception, anything but a ``KnickpointError`` and a lack of memory.
    """
    try:
        yield
    except (KnickpointError, MemoryError):
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__, limit=-1)[0]
        reason = keepable_text(f"{type(error).__name__}: {error}"[:_LONGEST_REASON])
        raise DefectError(
            f"Knickpoint failed on it, which is a defect of Knickpoint ({reason}, in {Path(place.filename).name}, line "
            f"{place.lineno})",
            where=source,
            remedy="Report it with the file; after an update, try again with knick ingest retry.",
        ) from error


def find_unchanged(destination: Destination, file: ResultsFile) -> FileSummary | None:
    """Return the summary of content that is stored already, None where it is not.

    The same content from another source is stored already too. But a source that returns to its former content is a
    correction. Content whose runs were removed is imported again when a person names the file, not when a folder is
    read. Removed runs may have replaced those of another file, so after a removal each file that is named is read
    again.
    """
    digests, ledger = file_digests(file, destination.ingest), destination.store.ledger
    for entry in ledger.known_as(file.source, digests):
        if entry.content_hash not in digests:
            continue
        if entry.state is FileState.STORED and (file.found or not ledger.removed_since(entry.changed)):
            return FileSummary(file.source, ImportState.UNCHANGED, format=entry.format, same=entry.runs)
        if entry.state is FileState.REMOVED and file.found:
            return FileSummary(file.source, ImportState.UNCHANGED, format=entry.format, removed=True)
    return None


def refuse_file(
    destination: Destination, file: ResultsFile, problems: Sequence[Problem], *, dry_run: bool
) -> FileSummary:
    """Put a file into quarantine, unless this is a dry run, and return its summary."""
    if not dry_run:
        digest = file_digests(file, destination.ingest)[0]
        quarantine_file(destination, file.source, digest, file.data, problems, options=file.as_options())
    return FileSummary(file.source, ImportState.REFUSED, problems=tuple(problems))
