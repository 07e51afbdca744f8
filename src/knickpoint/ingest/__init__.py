"""Take results in, each file and each run exactly once."""

from knickpoint.ingest.ci import CiFacts, read_ci
from knickpoint.ingest.importing import import_data, import_files
from knickpoint.ingest.outcome import FileOutcome, ImportState, ImportSummary
from knickpoint.ingest.pending import (
    IngestStatus,
    RefusedFile,
    WaitingFile,
    ingest_status,
    retry_refused,
    retry_waiting,
)
from knickpoint.ingest.settings import (
    CommitOrder,
    Destination,
    IngestSettings,
    Rename,
    RepositorySettings,
    SourceSettings,
)
from knickpoint.ingest.sidecar import Sidecar, read_sidecar
from knickpoint.ingest.sources import Watched, take_arrivals

__all__ = [
    "CiFacts",
    "CommitOrder",
    "Destination",
    "FileOutcome",
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
    "Watched",
    "import_data",
    "import_files",
    "ingest_status",
    "read_ci",
    "read_sidecar",
    "retry_refused",
    "retry_waiting",
    "take_arrivals",
]
