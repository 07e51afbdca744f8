"""End an import early: the content of a file is stored already, or the file is refused."""

from __future__ import annotations

from collections.abc import Sequence

from knickpoint.ingest.held_files import quarantine_file
from knickpoint.ingest.identity import file_digests
from knickpoint.ingest.import_summary import FileSummary, ImportState
from knickpoint.ingest.results_file import ResultsFile
from knickpoint.ingest.settings import Destination
from knickpoint.model.report import Problem
from knickpoint.store import FileState

__all__ = ["find_unchanged", "refuse_file"]


def find_unchanged(destination: Destination, file: ResultsFile) -> FileSummary | None:
    """Return the summary of content that is stored already, None where it is not.

    The same content from another source is stored already too. But a source that returns to its former content is a
    correction. Content whose runs were removed is imported again when a person names the file, not when a folder is read.
    Removed runs may have replaced those of another file, so after a removal each file that is named is read again.
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
