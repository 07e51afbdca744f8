"""Look at places again and again, and take in what is new there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import unquote_plus

from knickpoint.ingest.commit_sources.selection import CommitSources
from knickpoint.ingest.context.companions import companions_of
from knickpoint.ingest.context.file_context import FileContext
from knickpoint.ingest.context.sidecar import SIDECAR, SIDECAR_SUFFIX, Sidecar, read_sidecar
from knickpoint.ingest.file_sources.locations import FileSource, Folder, open_file_source, takes_name
from knickpoint.ingest.identity import digest_file
from knickpoint.ingest.import_summary import FileSummary, ImportState, ImportSummary
from knickpoint.ingest.pipeline import Writer, quarantine_file
from knickpoint.ingest.results_file import ResultsFile
from knickpoint.ingest.settings import Destination, SourceSettings
from knickpoint.ingest.sns_subscription import confirm_subscription
from knickpoint.model.errors import HistoryError, InputError, KnickpointError, ServiceError
from knickpoint.model.report import Problem

__all__ = ["BUCKET_EVENT", "WatchedSource", "bucket_event_urls", "import_bucket_event", "quarantine_bucket_event"]

BUCKET_EVENT: Final = "announcement"
"""Marks, among the options of what is in quarantine, an event about files; the rest are the files."""

_SETTLE_SECONDS: Final = 2.0
"""A file in a folder that changed later than this may still be being written."""

_MOST_UNREAD: Final = 5
"""So many files in a row that cannot be read mean that their place, or the repository, does not answer at all."""


@dataclass
class WatchedSource:
    """A source that is polled; remembers what it saw, so that a poll reads only what is new or changed."""

    destination: Destination
    name: str
    settings: SourceSettings
    _seen: dict[str, str] = field(default_factory=dict)
    _failed: dict[str, tuple[str, str]] = field(default_factory=dict)

    def poll(self) -> ImportSummary:
        """Take in what is new or changed since the last poll; after a start, what the ledger does not know.

        A file that cannot be read does not keep the others from coming in: it is told once, and tried again at
        every poll. Where five in a row cannot be read, the rest is left for the next poll.

        Raises:
            ServiceError: the place cannot be listed.
            StoreError: the store cannot be written; the next poll tries again.
        """
        place = open_file_source(self.settings, self.destination.directory)
        listing = place.listing()
        versions = {name: _version(name, listing) for name in listing if takes_name(name, self.settings.pattern)}
        changed = [
            name
            for name, version in sorted(versions.items())
            if self._seen.get(name) != version
            and not (isinstance(place, Folder) and any(map(_still_written, version.split("\n"))))
        ]
        writer = Writer(self.destination, CommitSources(self.destination))
        outcomes: list[FileSummary] = []
        names = set(listing)
        unread = 0
        for name in sorted(changed, key=lambda one: one in self._failed):
            outcome = _take(writer, place, name, self.settings, names)
            if outcome is None or outcome.state is not ImportState.UNREADABLE:
                unread = 0
                self._seen[name] = versions[name]
                self._failed.pop(name, None)
            elif self._is_news(name, versions[name], outcome):
                unread += 1
            else:
                unread, outcome = unread + 1, None
            if outcome is not None:
                outcomes.append(outcome)
            if unread >= _MOST_UNREAD:
                break
        for known in (self._seen, self._failed):
            for name in known.keys() - versions.keys():
                del known[name]
        writer.finish()
        return ImportSummary(tuple(outcomes), notes=writer.books.told())

    def _is_news(self, name: str, version: str, outcome: FileSummary) -> bool:
        """Note why a file cannot be read; tell whether that is not known yet."""
        reason = version, outcome.problems[0].message
        news = self._failed.get(name) != reason
        self._failed[name] = reason
        return news


def import_bucket_event(destination: Destination, body: bytes) -> ImportSummary:
    """Take in the files that a bucket's notification names; a second delivery changes nothing.

    Read are the events of S3 and of what speaks like it, of Google Cloud Storage (Pub/Sub push, or
    CloudEvents), and ``{"url": "…"}``. Only files of configured sources are taken, each by itself: those that can
    be taken are in when this raises because of others. The subscription of a topic of SNS is confirmed.

    Raises:
        InputError: the event cannot be read, or names a file of no source.
        ServiceError: a file cannot be fetched, or a repository cannot be read; deliver the event again.
    """
    outcomes: list[FileSummary] = []
    failures: list[InputError | ServiceError] = []
    writer = Writer(destination, CommitSources(destination))
    event = _event(body)
    subscribed = confirm_subscription(event)
    if subscribed is not None:
        return ImportSummary(notes=(subscribed,))
    for url in _names(event):
        try:
            settings, name = _source_of(destination, url)
            if not takes_name(name, settings.pattern):
                continue
            outcome = _taken(writer, open_file_source(settings, destination.directory), name, settings, None)
        except (InputError, ServiceError) as error:
            failures.append(error)
        except HistoryError as error:
            failures.append(ServiceError(error.message, where=error.where, remedy=error.remedy))
        else:
            outcomes += [outcome] if outcome is not None else []
    if failures:
        raise min(failures, key=lambda error: isinstance(error, InputError))
    return ImportSummary(tuple(outcomes), notes=writer.books.told())


def quarantine_bucket_event(destination: Destination, body: bytes, source: str, problem: Problem) -> FileSummary:
    """Put an event about files into quarantine; trying it again is :func:`import_bucket_event` again."""
    quarantine_file(destination, source, digest_file(body, {}), body, [problem], options={BUCKET_EVENT: True})
    return FileSummary(source, ImportState.REFUSED, problems=(problem,))


def bucket_event_urls(body: bytes) -> list[str]:
    """Return the URLs of the files that an event says have arrived; other events name none.

    Raises:
        InputError: this is no event that anybody sends.
    """
    return _names(_event(body))


def _event(body: bytes) -> Mapping[str, Any]:
    try:
        event = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"the event is not JSON: {error}", remedy="Send the notification as its bucket made it."
        ) from error
    if not isinstance(event, dict):
        raise _nobodys()
    return event


def _names(event: Mapping[str, Any], *, wrapped: bool = False) -> list[str]:
    if event.get("Event") == "s3:TestEvent":
        return []
    if isinstance(event.get("Message"), str) and not wrapped:
        return _names(_event(event["Message"].encode(errors="replace")), wrapped=True)
    for read in (_from_s3, _from_google, _plain):
        names = read(event)
        if names is not None:
            return names
    raise _nobodys()


def _nobodys() -> InputError:
    return InputError(
        "nobody's event looks like this", remedy='Send notifications of S3 or Google Cloud Storage, or {"url": "…"}.'
    )


def _from_s3(event: Mapping[str, Any]) -> list[str] | None:
    records = event.get("Records")
    if not isinstance(records, list):
        return None
    try:
        return [
            f"s3://{record['s3']['bucket']['name']}/{unquote_plus(record['s3']['object']['key'])}"
            for record in records
            if "ObjectCreated" in str(record.get("eventName", ""))
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"a record of the event lacks {error}", remedy="Send it as the bucket made it.") from error


def _from_google(event: Mapping[str, Any]) -> list[str] | None:
    message = event.get("message")
    facts: Any = message.get("attributes") if isinstance(message, dict) else event.get("data")
    if isinstance(facts, dict) and {"bucketId", "objectId"} <= facts.keys():
        arrived = facts.get("eventType") == "OBJECT_FINALIZE"
        return [f"gs://{facts['bucketId']}/{facts['objectId']}"] if arrived else []
    if isinstance(facts, dict) and {"bucket", "name"} <= facts.keys():
        arrived = str(event.get("type", "")).endswith("object.v1.finalized")
        return [f"gs://{facts['bucket']}/{facts['name']}"] if arrived else []
    return None


def _plain(event: Mapping[str, Any]) -> list[str] | None:
    url = event.get("url")
    return [url] if isinstance(url, str) else None


def _source_of(destination: Destination, url: str) -> tuple[SourceSettings, str]:
    """Return the source that a URL belongs to, and the name of the file within it."""
    plain = url.replace("gcs://", "gs://")
    for settings in destination.ingest.sources.values():
        root = settings.location.replace("gcs://", "gs://").rstrip("/") + "/"
        if "://" in root and plain.startswith(root) and ".." not in plain.split("/"):
            return settings, plain.removeprefix(root)
    raise InputError(
        "the file belongs to no source of this instance",
        where=url,
        remedy="Add its bucket to [ingest.sources] in knickpoint.toml.",
    )


def _take(
    writer: Writer, place: FileSource, name: str, settings: SourceSettings, names: set[str] | None
) -> FileSummary | None:
    """Take one file in as :func:`_taken` does; one that cannot be fetched or placed just now is unreadable."""
    try:
        return _taken(writer, place, name, settings, names)
    except (ServiceError, HistoryError) as error:
        return _unreadable(place.source(name), error)


def _unreadable(source: str, error: KnickpointError) -> FileSummary:
    problem = Problem(error.message, error.where, error.remedy)
    return FileSummary(source, ImportState.UNREADABLE, problems=(problem,))


def _taken(
    writer: Writer, place: FileSource, name: str, settings: SourceSettings, names: set[str] | None
) -> FileSummary | None:
    """Take one file in with what stands beside it; None where it is gone again, or is nobody's results.

    ``names`` are those of all files.

    Raises:
        ServiceError: the place does not give it.
        HistoryError: its repository cannot be read.
    """
    source = place.source(name)
    given = Sidecar(
        branch=settings.branch, repository=settings.repository, format=settings.format, params=settings.params
    )
    limit = writer.destination.ingest.largest_megabytes * 1_000_000
    try:
        data = place.read(name, limit + 1)
        if data is None:
            return None
        told = given.over(_sidecars(place, name, names))

        def read_beside(beside: str) -> bytes | None:
            outside = beside.startswith("../") or (names is not None and beside not in names)
            return None if outside else place.read(beside, limit)

        companions = companions_of(name, read_beside)
    except InputError as error:
        return _unreadable(source, error)
    return writer.take_found(ResultsFile(source, data, FileContext(told), companions))


def _sidecars(place: FileSource, name: str, names: set[str] | None) -> Sidecar:
    found = Sidecar()
    for beside in _beside(name):
        if names is not None and beside not in names:
            continue
        data = place.read(beside, (1 << 20) + 1)
        if data is not None:
            found = read_sidecar(data, where=place.source(beside)).over(found)
    return found


def _beside(name: str) -> tuple[str, str]:
    """Return the names of the sidecars that a file may have: that of its folder, and its own."""
    folder = name.rpartition("/")[0]
    return f"{folder}/{SIDECAR}".lstrip("/"), name + SIDECAR_SUFFIX


def _version(name: str, listing: Mapping[str, str]) -> str:
    """Return a text that changes when the file or one of its sidecars does."""
    return "\n".join(listing[one] for one in (name, *_beside(name)) if one in listing)


def _still_written(version: str) -> bool:
    changed = int(version.partition("/")[0]) / 1e9
    return 0 <= datetime.now(UTC).timestamp() - changed < _SETTLE_SECONDS
