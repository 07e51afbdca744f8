"""The store: commits, traces, values, runs, files, findings, events. Only this package speaks SQL."""

from __future__ import annotations

from knickpoint.store.access import acting_from
from knickpoint.store.commit_rows import RecordedCommits
from knickpoint.store.events import Event, EventCount, EventKind, Outbox, pack_ids, unpack_ids
from knickpoint.store.points.file_ledger import FileEntry, FileState, Ledger, Quarantined, Waiting
from knickpoint.store.points.integrity import DamagedRow, IntegrityReport
from knickpoint.store.points.provenance import PointSamples
from knickpoint.store.points.retention import Forgotten
from knickpoint.store.points.run_table import Receipt, Run, RunHead, RunKind, RunPoint, RunWrite, ValueChanges
from knickpoint.store.points.runs import Runs
from knickpoint.store.replicas import Primaries, Replicas
from knickpoint.store.store import (
    Store,
    StoreReference,
    close_references,
    create_store,
    make_store,
    open_reference,
    open_store,
    refer_to_file,
    refer_to_server,
    restore,
)

__all__ = [
    "DamagedRow",
    "Event",
    "EventCount",
    "EventKind",
    "FileEntry",
    "FileState",
    "Forgotten",
    "IntegrityReport",
    "Ledger",
    "Outbox",
    "PointSamples",
    "Primaries",
    "Quarantined",
    "Receipt",
    "RecordedCommits",
    "Replicas",
    "Run",
    "RunHead",
    "RunKind",
    "RunPoint",
    "RunWrite",
    "Runs",
    "Store",
    "StoreReference",
    "ValueChanges",
    "Waiting",
    "acting_from",
    "close_references",
    "create_store",
    "make_store",
    "open_reference",
    "open_store",
    "pack_ids",
    "refer_to_file",
    "refer_to_server",
    "restore",
    "unpack_ids",
]
