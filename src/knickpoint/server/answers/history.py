"""Build the answer about the history boundary of a repository."""

from __future__ import annotations

from knickpoint.model.commit import Repository
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.schemas.history import HistoryAnswer
from knickpoint.store import Store
from knickpoint.watch.triage.history_boundary import read_extent

__all__ = ["history_answer"]


def history_answer(store: Store, repository: Repository) -> HistoryAnswer:
    """Return the last commit that is history, and the number of findings on either side of the boundary."""
    extent = read_extent(store, repository)
    boundary = extent.boundary
    return HistoryAnswer.of(
        extent.sides,
        repository=repository.name,
        line=extent.line,
        commit=commit_answer(extent.commit, extent.position) if extent.commit else None,
        changed=boundary.changed if boundary else None,
        who=boundary.who if boundary else "",
    )
