"""Import results, each file and each run exactly once."""

from knickpoint.ingest.bucket_events import bucket_event_urls, import_bucket_event, quarantine_bucket_event
from knickpoint.ingest.context.ci import CiFacts, read_ci
from knickpoint.ingest.context.sidecar import Sidecar, read_sidecar
from knickpoint.ingest.file_import import import_data, import_files
from knickpoint.ingest.held_files import IngestStatus, RefusedFile, WaitingFile, ingest_status
from knickpoint.ingest.import_summary import FileSummary, ImportState, ImportSummary
from knickpoint.ingest.retries import retry_refused, retry_waiting
from knickpoint.ingest.settings import (
    CommitOrder,
    Destination,
    IngestSettings,
    Rename,
    RepositorySettings,
    SourceSettings,
)
from knickpoint.ingest.watched_source import WatchedSource

__all__ = [
    "CiFacts",
    "CommitOrder",
    "Destination",
    "FileSummary",
    "ImportState",
    "ImportSummary",
    "IngestSettings",
    "IngestStatus",
    "RefusedFile",
    "Rename",
    "RepositorySettings",
    "Sidecar",
    "SourceSettings",
    "WaitingFile",
    "WatchedSource",
    "bucket_event_urls",
    "import_bucket_event",
    "import_data",
    "import_files",
    "ingest_status",
    "quarantine_bucket_event",
    "read_ci",
    "read_sidecar",
    "retry_refused",
    "retry_waiting",
]
