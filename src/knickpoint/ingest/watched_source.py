"""Poll a file source, and import what is new or changed there."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

from knickpoint.ingest.file_sources import (
    FileSource,
    is_named_as_profile,
    may_hold_results,
    open_file_source,
    retrieve_file,
    sidecar_names,
)
from knickpoint.ingest.import_summary import FileSummary, ImportState, ImportSummary, unreadable_file
from knickpoint.ingest.pipeline import ImportPipeline
from knickpoint.ingest.settings import Destination, SourceSettings
from knickpoint.ingest.stages.read import Reader, defects_refuse, read_results
from knickpoint.model.errors import HistoryError, InputError, ServiceError

_MOST_UNREADABLE: Final = 5
"""After so many unreadable files in a row, the file source or the repository is taken for one that does not answer."""

_AT_A_TIME: Final = 100
"""Files that a poll imports at most: their summaries are in memory, and other sources wait."""


@dataclass
class WatchedSource:
    """A file source that is polled.

    It remembers the versions of the files that it imported, so that a poll reads only what is new or changed, and why
    files could not be read, so that each reason is reported once.

    Attributes:
        reader: what reads a file.
        unfinished: whether the last poll left files for the next one, so that other sources have their turn.
    """

    destination: Destination
    name: str
    settings: SourceSettings
    reader: Reader = read_results
    unfinished: bool = field(default=False, init=False)
    _versions: dict[str, str] = field(default_factory=dict)
    _failures: dict[str, tuple[str, str]] = field(default_factory=dict)

    def poll(self) -> ImportSummary:
        """Import what is new or changed since the last poll; after a start, what the ledger does not know.

        A file that cannot be read does not keep the others out. It is reported once, and tried again at every poll.
        After five unreadable files in a row, the rest is left for the next poll. So is what is beyond 100 files.

        Raises:
            ServiceError: the source cannot be listed.
            StoreError: the store cannot be written; the next poll tries again.
        """
        # List the files, and drop from memory those that are gone.
        source = open_file_source(self.settings, self.destination.directory)
        listing = source.listing()
        versions = {name: _version(name, listing) for name in listing if may_hold_results(name, self.settings.pattern)}
        self._versions = {name: version for name, version in self._versions.items() if name in versions}
        self._failures = {name: reason for name, reason in self._failures.items() if name in versions}
        # Import what changed; files that could not be read before come last, so that they hold up no others.
        changed = [name for name in sorted(versions) if self._is_due(name, versions[name], source)]
        changed.sort(key=lambda name: (name in self._failures, is_named_as_profile(name)))
        self.unfinished = len(changed) > _AT_A_TIME
        pipeline = ImportPipeline(self.destination, reader=self.reader)
        summaries: list[FileSummary | None] = []
        unreadable = 0
        for name in changed[:_AT_A_TIME]:
            summary = _import(pipeline, source, name, self.settings, listing)
            if summary is None or summary.state is not ImportState.UNREADABLE:
                unreadable = 0
                self._versions[name] = versions[name]
                self._failures.pop(name, None)
                summaries.append(summary)
                continue
            unreadable += 1
            reason = versions[name], summary.problems[0].message
            if self._failures.get(name) != reason:
                summaries.append(summary)
            self._failures[name] = reason
            if unreadable >= _MOST_UNREADABLE:
                self.unfinished = False
                break
        pipeline.finish()
        return ImportSummary.of(summaries, pipeline.commit_sources.notes())

    def _is_due(self, name: str, version: str, source: FileSource) -> bool:
        """Return True if a file changed since it was imported, and is not being written just now."""
        return self._versions.get(name) != version and not any(map(source.may_still_change, version.split("\n")))


def _import(
    pipeline: ImportPipeline, source: FileSource, name: str, settings: SourceSettings, names: Collection[str]
) -> FileSummary | None:
    """Import one file; one that cannot be fetched or resolved just now is unreadable.

    None where it is gone again, or where no format claims it.
    """
    megabytes = pipeline.destination.ingest.largest_megabytes
    try:
        with defects_refuse(source.address(name)):
            file = retrieve_file(source, name, settings, megabytes=megabytes, names=names)
        return pipeline.import_file(file) if file is not None else None
    except (InputError, ServiceError, HistoryError) as error:
        return unreadable_file(source.address(name), error)


def _version(name: str, listing: Mapping[str, str]) -> str:
    """Return a text that changes when the file or one of its sidecars does, one line for each of them."""
    return "\n".join(listing[file] for file in (name, *sidecar_names(name)) if file in listing)
