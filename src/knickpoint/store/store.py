"""Open a store, and reach its areas."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from sqlalchemy import Connection, text

from knickpoint.model.access import AuditKind
from knickpoint.model.commit import Line
from knickpoint.model.direction import DirectionRule
from knickpoint.model.errors import StoreError
from knickpoint.model.plain_text import counted
from knickpoint.model.unit_names import Better
from knickpoint.store import schema
from knickpoint.store.access import AuditLog, ConfigurationDigests, EndedSessions, PersonSettings, TokenTable, UsedLinks
from knickpoint.store.backup import backup
from knickpoint.store.backup import restore as restore_backup
from knickpoint.store.bisections import Bisections
from knickpoint.store.checks import PullRequestChecks
from knickpoint.store.commit_rows import Releases
from knickpoint.store.commits import Commits
from knickpoint.store.database import Database
from knickpoint.store.events import Outbox, WorkerTable
from knickpoint.store.findings.findings import Findings
from knickpoint.store.findings.rewrites import Boundaries, Rewrites
from knickpoint.store.notifications import Notifications, Problems
from knickpoint.store.points.file_ledger import Ledger
from knickpoint.store.points.frames import Frames
from knickpoint.store.points.integrity import IntegrityReport, check_integrity, without_damage
from knickpoint.store.points.provenance import StoredSamples
from knickpoint.store.points.retention import Forgotten, retain
from knickpoint.store.points.runs import Runs
from knickpoint.store.points.sealer import Sealed, Sealer
from knickpoint.store.profiles import ProfileTable
from knickpoint.store.quarantines import Quarantines
from knickpoint.store.schedules import ScheduledProbes
from knickpoint.store.traces.traces import Shortcuts, Traces


class Store:
    """All data of an instance, in areas; see :func:`open_store`.

    Attributes:
        commits: repositories, commits by slot, lines.
        releases: the tags of repositories, with their places on the default lines.
        traces: names and units of traces, and queries over them.
        runs: the runs that measured, each written once.
        frames: the values.
        samples: what runs measured behind the values.
        ledger: files that were seen, wait or were refused.
        outbox: events for workers.
        shortcuts: sets of keys and formulas under a short id.
        findings: change points, changes, decisions.
        boundaries: up to which commits findings are history.
        rewrites: successors of rewritten commits, and lines that changed.
        bisections: searches for the commits that made changes, and their probes.
        schedules: commits that schedules chose, and what became of their measurement.
        profiles: profiles of benchmarks, and what they say about changes.
        quarantines: runs whose results are quarantined, and calls of hooks about them.
        checks: what checks of pull requests found lately.
        workers: the workers of the instance, and their state.
        tokens: tokens for machines, as hashes.
        people: what people set for themselves in the dashboard.
        sessions: sessions that ended before they expired.
        audit: the audit log.
        configuration: digests of the configuration file that was last used.
        notifications: the delivery ledger.
        problems: the alerts that fail.
        links: signed links that were used.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        self.commits = Commits(database)
        self.releases = Releases(database)
        self.traces = Traces(database)
        self.outbox = Outbox(database)
        self.runs = Runs(database, self.traces, self.outbox)
        self.frames = Frames(database, self.traces)
        self.samples = StoredSamples(database)
        self.ledger = Ledger(database)
        self.shortcuts = Shortcuts(database)
        self.findings = Findings(database)
        self.boundaries = Boundaries(database)
        self.rewrites = Rewrites(database, self.outbox)
        self.bisections = Bisections(database)
        self.profiles = ProfileTable(database)
        self.quarantines = Quarantines(database)
        self.checks = PullRequestChecks(database)
        self.schedules = ScheduledProbes(database)
        self.workers = WorkerTable(database)
        self.tokens = TokenTable(database)
        self.people = PersonSettings(database)
        self.sessions = EndedSessions(database)
        self.audit = AuditLog(database)
        self.configuration = ConfigurationDigests(database)
        self.notifications = Notifications(database)
        self.problems = Problems(database, self.notifications)
        self.links = UsedLinks(database)

    @property
    def location(self) -> str:
        """The path or the address of the store, without a password."""
        return self.database.where

    def transaction(self, *, wait: bool = True, whole: bool = False) -> AbstractContextManager[Connection]:
        """Group writes of several areas: all take place, or none.

        A transaction inside another one joins it; when it fails, only its own writes are undone, and the
        outer one goes on if it catches the error. Inside a ``whole`` one, which is faster, everything is undone then.
        ``wait=False`` raises a BusyError at once while another process writes.
        """
        return self.database.transaction(wait=wait, whole=whole)

    def seal(self, *, everything: bool = False) -> Sealed:
        """Seal values of commits that no longer change, so that they are read fast.

        For the worker, and after an import.

        Safe beside writers, readers and other sealers. ``everything`` seals the newest commits too.
        """
        return Sealer(self.database).seal(everything=everything)

    def retain(
        self,
        line: Line,
        *,
        samples: int | None = None,
        values: int | None = None,
        keep: Collection[int] = (),
        dry_run: bool = False,
    ) -> Forgotten:
        """Delete samples beyond the newest ``samples`` commits of ``line``, and values beyond the newest ``values``.

        None keeps all. ``keep`` are traces that lose nothing: those of findings that people decided about.
        ``dry_run`` only counts.
        """
        return retain(self.database, line, samples=samples, values=values, keep=keep, dry_run=dry_run)

    def check_schema(self) -> None:
        """Check that no newer version has migrated the store since it was opened.

        Raises:
            StoreError: one has, or the store cannot be read.
        """
        schema.refuse_newer(self.database)

    def check_integrity(self) -> IntegrityReport:
        """Read every row, compare points and provenance with their checksums, and look at the content of others."""
        return check_integrity(self.database)

    def without_damage(self) -> AbstractContextManager[tuple[str, ...]]:
        """Leave out what is damaged beside the points while a ``with`` lasts, and give the names of it.

        For an export.
        """
        return without_damage(self.database)

    def backup(self, path: str | Path) -> None:
        """Write the whole store into a new file while it is in use; see :func:`restore`.

        Raises:
            StoreError: the file exists, or cannot be written.
        """
        backup(self.database, Path(path))

    def close(self) -> None:
        """Close all connections."""
        self.database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def restore(path: str | Path, location: str | Path, *, who: str = "restore", keep_tokens: bool = False) -> Store:
    """Make a store at ``location`` from a backup, and open it; either may be SQLite or PostgreSQL.

    All sessions have ended in it, and all tokens are revoked: a backup does not know which of them were revoked since.
    ``keep_tokens`` leaves the tokens as they are in the backup. The audit log names ``who``.

    Raises:
        StoreError: the file is not a whole backup, or there is a store already.
    """
    restore_backup(Path(path), location)
    store = open_store(location)
    try:
        _end_access(store, who, keep_tokens=keep_tokens)
    except BaseException:
        store.close()
        raise
    return store


def _end_access(store: Store, who: str, *, keep_tokens: bool) -> None:
    """Revoke the tokens of a restored store, end its sessions, and record both."""
    now = datetime.now(UTC)
    with store.transaction():
        store.sessions.end_all(now)
        about = "tokens are kept" if keep_tokens else f"revoked {counted(store.tokens.revoke_all(now), 'token')}"
        store.audit.append(AuditKind.RESTORED, who, f"from a backup; {about}, ended all sessions", time=now)


def create_store(location: str | Path) -> Store:
    """Make the tables at ``location``, the path of a file or ``postgresql://…``, and open the store.

    Raises:
        StoreError: there is a store already, or the place cannot be written.
    """
    database = Database(location)
    try:
        schema.create(database)
    except BaseException:
        database.close()
        raise
    schema.refuse_writing_to_newer(database)
    return Store(database)


def make_store(location: str | Path) -> bool:
    """Make the tables at ``location`` as :func:`create_store` does; False where there is a store already."""
    database = Database(location)
    try:
        return schema.create_missing(database)
    finally:
        database.close()


def open_store(location: str | Path) -> Store:
    """Open the store at ``location``; an older schema is migrated.

    Raises:
        StoreError: there is none (``knick init`` makes one), it cannot be read, a newer version of Knickpoint wrote it,
            or its schema is older than the first migration.
    """
    database = Database(location)
    if database.embedded and Path(database.url.database or "").is_dir():
        raise StoreError(
            "this is a directory, and the store is a file",
            where=database.where,
            remedy="Correct location of [store], or move the directory away and make a store with knick init or knick "
            "restore.",
        )
    if database.embedded and not Path(database.url.database or "").is_file():
        raise StoreError("there is no store here", where=database.where, remedy="Make one with knick init.")
    try:
        schema.ensure(database)
    except BaseException:
        database.close()
        raise
    schema.refuse_writing_to_newer(database)
    return Store(database)


# Name a store to another process or machine, which opens it to read.
#
# Work that is sent elsewhere carries the name of its store instead of values. The name of a server may mean another
# server on another machine, so a reference has what tells stores apart, and is refused where that differs.


_REFUSED_SECONDS: Final = 60.0
"""How long a store that could not be opened is not tried again: an address that nobody answers at takes seconds."""

_MOST_OPEN: Final = 4
"""Stores that a process keeps open; a reference changes with the directions of the instance."""

_SYSTEM: Final = text("SELECT system_identifier::text FROM pg_control_system()")


@dataclass(frozen=True, slots=True)
class StoreReference:
    """The address of a store, with its password, and what else its reader needs to read the same.

    ``system`` is the identifier of the PostgreSQL cluster, which its standbys share; "" for a file. ``directions`` are
    the rules of the configuration that say which direction is better, ``kept`` the traces that keep another one.
    """

    location: str = field(repr=False)
    system: str
    directions: tuple[DirectionRule, ...]
    kept: tuple[tuple[int, Better], ...] = ()


def refer_to_file(store: Store) -> StoreReference | None:
    """Return a reference to an embedded ``store`` for processes of this machine, None if they would read another.

    They do not see what an open transaction has written.
    """
    database = store.database
    path = Path(database.url.database or "").absolute()
    if not database.embedded or database.connection is not None or not path.is_file():
        return None
    return StoreReference(str(path), "", store.traces.directions, store.traces.kept_directions)


def refer_to_server(store: Store) -> StoreReference | None:
    """Return a reference to a ``store`` on PostgreSQL for other machines, None if they would read something else."""
    database = store.database
    if database.embedded or database.connection is not None:
        return None
    location = database.url.set(drivername="postgresql").render_as_string(hide_password=False)
    return StoreReference(location, _system(database), store.traces.directions, store.traces.kept_directions)


def _system(database: Database) -> str:
    with database.reading() as connection:
        return str(connection.execute(_SYSTEM).scalar_one())


_lock: Final = threading.Lock()
_open: OrderedDict[StoreReference, Store] = OrderedDict()
_refused: dict[StoreReference, tuple[float, StoreError]] = {}


def open_reference(reference: StoreReference) -> Store:
    """Return the store that ``reference`` names; a process opens it once, and keeps it open. Nothing is migrated.

    Raises:
        StoreError: it cannot be reached from here, is another one, or has a schema that this version does not know.
    """
    with _lock:
        if reference in _open:
            _open.move_to_end(reference)
            return _open[reference]
        since, refused = _refused.get(reference, (0.0, None))
        if refused is not None and time.monotonic() - since < _REFUSED_SECONDS:
            raise refused
        try:
            store = _opened(reference)
        except StoreError as error:
            _refused[reference] = time.monotonic(), error
            raise
        _refused.pop(reference, None)
        _open[reference] = store
        while len(_open) > _MOST_OPEN:
            _open.popitem(last=False)[
                1
            ].close()  # who reads it right now keeps the connection until the end of the read
        return store


def close_references() -> None:
    """Close all stores that this process has opened by their references."""
    with _lock:
        while _open:
            _open.popitem()[1].close()


def _opened(reference: StoreReference) -> Store:
    database = Database(reference.location)
    try:
        _check_same(reference, database)
        schema.refuse_newer(database)
    except BaseException:
        database.close()
        raise
    store = Store(database)
    store.traces.set_directions(reference.directions)
    store.traces.keep_directions(dict(reference.kept))
    return store


def _check_same(reference: StoreReference, database: Database) -> None:
    if database.embedded and not Path(reference.location).is_file():
        raise StoreError("there is no store here", where=database.where)
    if reference.system and _system(database) != reference.system:
        raise StoreError("another server answers at the address of the store", where=database.where)
