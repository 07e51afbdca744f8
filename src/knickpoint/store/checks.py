"""Keep what checks of pull requests found, for a month."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
from sqlalchemy import delete, select

from knickpoint.model.commit import Repository
from knickpoint.model.pull_request_check import PullRequestCheck
from knickpoint.store.array_codec import checked, moment, pack, stored_json, unpack
from knickpoint.store.database import Database
from knickpoint.store.tables.access import pull_request_check as table

_KEPT: Final = timedelta(days=30)


class PullRequestChecks:
    """Read and write checks of pull requests."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, repository: Repository, check: PullRequestCheck) -> None:
        """Keep a check, unless the same results of its commit are kept already, and drop those older than 30 days."""
        changes = pack(check.traces, check.sizes, check.flagged.astype(np.int64))
        values = {
            "repository_id": repository.id,
            "head": check.head,
            "digest": hashlib.sha256(changes).hexdigest(),
            "branch": check.branch,
            "commits": json.dumps(sorted(check.commits)),
            "time": check.time.timestamp(),
            "changes": checked(changes),
            "environment": check.environment,
        }
        old = (table.c.repository_id == repository.id) & (table.c.time < (check.time - _KEPT).timestamp())
        with self._database.transaction(alone=False) as connection:
            connection.execute(delete(table).where(old))
            connection.execute(self._database.insert(table).values(values).on_conflict_do_nothing())

    def since(self, repository: Repository, time: datetime, *, limit: int) -> list[PullRequestCheck]:
        """Return the ``limit`` newest checks since ``time``, the newest first."""
        query = select(table).where((table.c.repository_id == repository.id) & (table.c.time >= time.timestamp()))
        with self._database.reading() as connection:
            rows = connection.execute(query.order_by(table.c.time.desc(), table.c.id.desc()).limit(limit))
            return [_check_of(row) for row in rows.mappings()]


def _check_of(row: Mapping[Any, Any]) -> PullRequestCheck:
    traces, sizes, flagged = unpack(row["changes"], 3)
    return PullRequestCheck(
        row["head"],
        row["branch"],
        frozenset(stored_json(row["commits"])),
        moment(row["time"]),
        np.asarray(traces, dtype=np.int64),
        np.asarray(sizes, dtype=np.float64),
        np.asarray(flagged, dtype=np.bool_),
        row["environment"],
    )
