"""Read a search that an instance keeps, as the command that ran it would have answered."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from knickpoint.cli.commands.bisect.options import SearchOptions
from knickpoint.model.bisection import BisectionState
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted

if TYPE_CHECKING:
    from knickpoint.bisect.coordinator import BisectionAnswer, JournalEntry
    from knickpoint.bisect.search.problem import Posterior
    from knickpoint.instance import Instance
    from knickpoint.model.commit import Commit, Repository
    from knickpoint.store.bisections import BisectionRequest, StoredBisection


def commits_of(instance: Instance, request: BisectionRequest) -> Sequence[Commit]:
    """Return the commits of the range by place.

    Raises:
        InputError: the store no longer has one of them.
    """
    repository = _repository(instance, request)
    known = {each.slot: each.commit for each in instance.store.commits.get(repository, request.slots)}
    missing = len([slot for slot in request.slots if slot not in known])
    if missing:
        raise InputError(f"{counted(missing, 'commit')} of the range are no longer in {repository.name}")
    return [known[slot] for slot in request.slots]


def stored_answer(instance: Instance, ended: StoredBisection) -> BisectionAnswer:
    """Return the stored end of a bisection as the answer of a coordinator."""
    from knickpoint.bisect.coordinator import BisectionAnswer
    from knickpoint.bisect.coordinator.evidence import estimate_levels, read_evidence
    from knickpoint.instance.bisections import StoreJournal
    from knickpoint.instance.bisections.runs import bisection_of
    from knickpoint.instance.bisections.second_repository import of_main_search

    journal = StoreJournal(instance.store.bisections.journal(ended.id), ended.request.trace_key)
    entries: tuple[JournalEntry, ...] = tuple(journal.load())
    places = _places(ended)
    searched = tuple(entry for entry in entries if of_main_search(entry.probe))
    trace, before, after = ended.request.trace_key, None, None
    with suppress(InputError):  # the recipe has changed since: the answer stands without the levels
        evidence = read_evidence(bisection_of(instance, ended), searched)
        trace = evidence.trace
        before, after = estimate_levels(evidence, searched, places) if places else (None, None)
    return BisectionAnswer(
        ended.state,
        places,
        ended.answer.probability,
        posterior_of(ended),
        ended.answer.reason,
        trace,
        before,
        after,
        entries,
        several=ended.state is BisectionState.RANGE and bool(ended.answer.culprits),
    )


def posterior_of(stored: StoredBisection) -> Posterior:
    """Return the posterior as the search has it; not a number where nothing was measured."""
    import numpy as np

    from knickpoint.bisect.search.problem import Posterior

    known = stored.posterior
    if known is not None:
        return Posterior(known.single, known.none, known.several, known.marginal)
    unknown = np.full(len(stored.request.slots) - 1, np.nan)
    return Posterior(unknown, np.nan, np.nan, unknown)


def reproduce_line(
    instance: Instance, ended: StoredBisection, answer: BisectionAnswer, commits: Sequence[Commit]
) -> str:
    """Return the command that measures the culprit beside its parent here, "" where that cannot be done."""
    if not answer.places or answer.state is not BisectionState.CULPRIT:
        return ""
    from knickpoint.history import is_url
    from knickpoint.instance.probes import git_location

    location = git_location(instance, _repository(instance, ended.request).name)
    if is_url(location):
        return ""
    options = SearchOptions(Path(location), trace=answer.trace, recipe=ended.request.recipe)
    place = answer.places[0]
    return options.command_line(f"{commits[place - 1].hash}..{commits[place].hash}", instance=str(instance.directory))


def _repository(instance: Instance, request: BisectionRequest) -> Repository:
    return next(each for each in instance.store.commits.repositories() if each.id == request.repository_id)


def _places(ended: StoredBisection) -> tuple[int, ...]:
    """Return the places of the culprits, or of the commits that are left."""
    slots = list(ended.request.slots)
    if ended.answer.culprits:
        return tuple(slots.index(slot) for slot in ended.answer.culprits)
    left = ended.answer.suspect_range
    if left is None:
        return ()
    first = slots.index(left.previous) if left.previous in slots else 0
    return tuple(range(first + 1, slots.index(left.slot) + 1))
