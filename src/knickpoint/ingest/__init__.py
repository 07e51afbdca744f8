"""Import results, each file and each run exactly once."""

from typing import TYPE_CHECKING, Final

from knickpoint.model.lazy_names import lazy_names

if TYPE_CHECKING:
    from knickpoint.ingest.bucket_events import bucket_event_urls, import_bucket_event, quarantine_bucket_event
    from knickpoint.ingest.ci import CiFacts, read_ci
    from knickpoint.ingest.file_import import WatchedSource, import_data, import_files
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
    from knickpoint.ingest.sidecar import Sidecar, read_sidecar

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

_MODULES: Final = {
    "CiFacts": "knickpoint.ingest.ci",
    "CommitOrder": "knickpoint.ingest.settings",
    "Destination": "knickpoint.ingest.settings",
    "FileSummary": "knickpoint.ingest.import_summary",
    "ImportState": "knickpoint.ingest.import_summary",
    "ImportSummary": "knickpoint.ingest.import_summary",
    "IngestSettings": "knickpoint.ingest.settings",
    "IngestStatus": "knickpoint.ingest.held_files",
    "RefusedFile": "knickpoint.ingest.held_files",
    "Rename": "knickpoint.ingest.settings",
    "RepositorySettings": "knickpoint.ingest.settings",
    "Sidecar": "knickpoint.ingest.sidecar",
    "SourceSettings": "knickpoint.ingest.settings",
    "WaitingFile": "knickpoint.ingest.held_files",
    "WatchedSource": "knickpoint.ingest.file_import",
    "bucket_event_urls": "knickpoint.ingest.bucket_events",
    "import_bucket_event": "knickpoint.ingest.bucket_events",
    "import_data": "knickpoint.ingest.file_import",
    "import_files": "knickpoint.ingest.file_import",
    "ingest_status": "knickpoint.ingest.held_files",
    "quarantine_bucket_event": "knickpoint.ingest.bucket_events",
    "read_ci": "knickpoint.ingest.ci",
    "read_sidecar": "knickpoint.ingest.sidecar",
    "retry_refused": "knickpoint.ingest.retries",
    "retry_waiting": "knickpoint.ingest.retries",
}

__getattr__ = lazy_names(__name__, _MODULES)
