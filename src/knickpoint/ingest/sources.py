"""Look at places again and again, and take in what is new there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import unquote_plus

from knickpoint.ingest.arrival import Arrival
from knickpoint.ingest.books import Books
from knickpoint.ingest.companions import companions_of
from knickpoint.ingest.completion import Context
from knickpoint.ingest.identity import digest_file
from knickpoint.ingest.outcome import FileOutcome, ImportState, ImportSummary
from knickpoint.ingest.places import Folder, Place, open_place, takes_name
from knickpoint.ingest.settings import Destination, SourceSettings
from knickpoint.ingest.sidecar import SIDECAR, SIDECAR_SUFFIX, Sidecar, read_sidecar
from knickpoint.ingest.writing import Writer, keep_refused
from knickpoint.model.errors import InputError
from knickpoint.model.report import Problem

__all__ = ["ANNOUNCEMENT", "Watched", "arrived_names", "keep_announcement", "take_arrivals"]

ANNOUNCEMENT: Final = "announcement"
"""Marks, among the options of what is in quarantine, an event about files; the rest are the files."""

_SETTLE_SECONDS: Final = 2.0
"""A file in a folder that changed later than this may still be being written."""


@dataclass
class Watched:
    """A source that is polled; remembers what it saw, so that a poll reads only what is new or changed."""

    destination: Destination
    name: str
    settings: SourceSettings
    _seen: dict[str, str] = field(default_factory=dict)

    def poll(self) -> ImportSummary:
        """Take in what is new or changed since the last poll; after a start, what the ledger does not know.

        Raises:
            ServiceError: the place cannot be listed.
            StoreError: the store cannot be written; the next poll tries again.
        """
        place = open_place(self.settings, self.destination.directory)
        listing = place.listing()
        versions = {name: _version(name, listing) for name in listing if takes_name(name, self.settings.pattern)}
        changed = [
            name
            for name, version in sorted(versions.items())
            if self._seen.get(name) != version
            and not (isinstance(place, Folder) and any(map(_still_written, version.split("\n"))))
        ]
        writer = Writer(self.destination, Books(self.destination))
        outcomes = []
        names = set(listing)
        for name in changed:
            outcome = _take(writer, place, name, self.settings, names)
            if outcome is not None:
                outcomes.append(outcome)
            self._seen[name] = versions[name]
        for name in self._seen.keys() - versions.keys():
            del self._seen[name]
        return ImportSummary(tuple(outcomes))


def take_arrivals(destination: Destination, body: bytes) -> ImportSummary:
    """Take in the files that a bucket's notification names; a second delivery changes nothing.

    Read are the events of S3 and of what speaks like it, of Google Cloud Storage (Pub/Sub push, or
    CloudEvents), and ``{"url": "…"}``. Only files of configured sources are taken.

    Raises:
        InputError: the event cannot be read, or names a file of no source.
        ServiceError: a file cannot be fetched; deliver the event again.
    """
    outcomes = []
    writer = Writer(destination, Books(destination))
    for url in arrived_names(body):
        settings, name = _source_of(destination, url)
        if not takes_name(name, settings.pattern):
            continue
        outcome = _take(writer, open_place(settings, destination.directory), name, settings, None)
        if outcome is not None:
            outcomes.append(outcome)
    return ImportSummary(tuple(outcomes))


def keep_announcement(destination: Destination, body: bytes, source: str, problem: Problem) -> FileOutcome:
    """Put an event about files into quarantine; trying it again is :func:`take_arrivals` again."""
    keep_refused(destination, source, digest_file(body, {}), body, [problem], options={ANNOUNCEMENT: True})
    return FileOutcome(source, ImportState.REFUSED, problems=(problem,))


def arrived_names(body: bytes) -> list[str]:
    """Return the URLs of the files that an event says have arrived; other events name none.

    Raises:
        InputError: this is no event that anybody sends.
    """
    try:
        event = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"the event is not JSON: {error}", remedy="Send the notification as its bucket made it."
        ) from error
    if isinstance(event, dict):
        if event.get("Event") == "s3:TestEvent":
            return []
        if isinstance(event.get("Message"), str):
            return arrived_names(event["Message"].encode())
        for read in (_from_s3, _from_google, _plain):
            names = read(event)
            if names is not None:
                return names
    raise InputError(
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
    writer: Writer, place: Place, name: str, settings: SourceSettings, names: set[str] | None
) -> FileOutcome | None:
    """Take one file in with what stands beside it; None where it is gone again, or is nobody's results.

    ``names`` are those of all files.
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
        companions = companions_of(
            name, lambda beside: place.read(beside, limit) if names is None or beside in names else None
        )
    except InputError as error:
        problem = Problem(error.message, error.where, error.remedy)
        return FileOutcome(source, ImportState.UNREADABLE, problems=(problem,))
    return writer.take_found(Arrival(source, data, Context(told), companions))


def _sidecars(place: Place, name: str, names: set[str] | None) -> Sidecar:
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
