"""How the search for the commit of a change stands, in a few words."""

from __future__ import annotations

from knickpoint.model.bisection import BisectionState
from knickpoint.model.commit import Repository
from knickpoint.model.quantity_text import certainty_text
from knickpoint.store import Store
from knickpoint.store.bisections import StoredBisection

__all__ = ["bisection_text"]


def bisection_text(store: Store, repository: Repository, bisection: StoredBisection | None) -> str:
    """Return how a bisection stands, as in "B12 culprit 1a2b3c4d5e 97 %"; "" without one.

    Where several commits each made a change, it names all of them.
    """
    if bisection is None:
        return ""
    answer = bisection.answer
    words = [bisection.name, "stopping" if bisection.stopping else _state(bisection)]
    words += [each.commit.short for each in store.commits.get(repository, list(answer.culprits))]
    if answer.culprits:
        words.append(certainty_text(answer.probability))
    return " ".join(words)


def _state(bisection: StoredBisection) -> str:
    if bisection.state is BisectionState.CULPRIT and not bisection.answer.culprits:
        return "culprit in another repository"
    several = bisection.state is BisectionState.RANGE and bisection.answer.culprits
    return "several culprits" if several else bisection.state.value
