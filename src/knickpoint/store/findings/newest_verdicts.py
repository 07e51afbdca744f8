"""Keep the verdicts on the newest values of traces, where they are remarkable."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row, delete, select

from knickpoint.model.commit import Repository
from knickpoint.model.judgement import NewestVerdict
from knickpoint.model.step import Verdict
from knickpoint.store.database import Database
from knickpoint.store.findings.rows import finite_or_none, number_or_nan
from knickpoint.store.tables.announcements import newest_verdict as table

__all__ = ["NewestVerdicts"]


class NewestVerdicts:
    """Hold one verdict a trace, and none where the newest value is unremarkable."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._of_traces = select(table).where(database.among(table.c.trace_id, "ids"))

    def get(self, trace_ids: Collection[int]) -> dict[int, NewestVerdict]:
        """Return the verdicts on traces, by trace."""
        with self._database.reading() as connection:
            rows = connection.execute(self._of_traces, {"ids": self._database.listed(sorted(trace_ids))}).all()
        return {row.trace_id: _verdict_of(row) for row in rows}

    def at(self, repository: Repository, slot: int) -> list[NewestVerdict]:
        """Return the verdicts on values at the commit ``slot``, the largest first."""
        query = select(table).where(table.c.repository_id == repository.id, table.c.slot == slot)
        with self._database.reading() as connection:
            found = [_verdict_of(row) for row in connection.execute(query)]
        return sorted(found, key=lambda verdict: (-abs(np.nan_to_num(verdict.relative_size)), verdict.trace_id))

    def replace(self, repository: Repository, trace_ids: NDArray[np.int64], verdicts: Sequence[NewestVerdict]) -> None:
        """Write the ``verdicts`` on ``trace_ids``; traces without one lose theirs."""
        now = time.time()
        rows = [
            {
                "trace_id": each.trace_id,
                "repository_id": repository.id,
                "slot": each.slot,
                "verdict": each.verdict.value,
                "value": each.value,
                "centre": finite_or_none(each.centre),
                "low": finite_or_none(each.low),
                "high": finite_or_none(each.high),
                "relative_size": finite_or_none(each.relative_size),
                "p_value": finite_or_none(each.p_value),
                "judged": now,
            }
            for each in verdicts
        ]
        with self._database.transaction() as connection:
            stale = delete(table).where(self._database.among(table.c.trace_id, "ids"))
            connection.execute(stale, {"ids": self._database.listed(trace_ids)})
            if rows:
                connection.execute(table.insert(), rows)


def _verdict_of(row: Row[Any]) -> NewestVerdict:
    return NewestVerdict(
        trace_id=row.trace_id,
        slot=row.slot,
        verdict=Verdict(row.verdict),
        value=row.value,
        centre=number_or_nan(row.centre),
        low=number_or_nan(row.low),
        high=number_or_nan(row.high),
        relative_size=number_or_nan(row.relative_size),
        p_value=number_or_nan(row.p_value),
    )
