"""Say in lists of changes how their newest bisections stand."""

from __future__ import annotations

from collections.abc import Collection

from knickpoint.model.commit import Line, Repository
from knickpoint.server.answers.commits import commit_answer
from knickpoint.server.schemas.bisections import BisectionStandingAnswer
from knickpoint.store import Store

__all__ = ["read_standings"]


def read_standings(
    store: Store, repository: Repository, line: Line, changes: Collection[int]
) -> dict[int, BisectionStandingAnswer]:
    """Return change → how its newest bisection stands; positions are those on ``line``."""
    newest = store.bisections.of_changes(changes)
    slots = sorted({slot for found in newest.values() for slot in found.answer.culprits})
    commits = {
        each.slot: commit_answer(each.commit, line.positions.get(each.slot))
        for each in store.commits.get(repository, slots)
    }
    return {
        change: BisectionStandingAnswer(
            id=found.id,
            state=found.state,
            stopping=found.stopping,
            culprits=[commits[slot] for slot in found.answer.culprits if slot in commits],
            probability=found.answer.probability,
        )
        for change, found in newest.items()
    }
