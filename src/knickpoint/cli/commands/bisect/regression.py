"""``knick bisect R12``: search the commit of a regression of an instance, with a profile of its configuration."""

from __future__ import annotations

import platform
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.commands.bisect.answer import render_answer
from knickpoint.cli.commands.bisect.live import LiveView
from knickpoint.cli.commands.bisect.options import SearchOptions
from knickpoint.cli.commands.bisect.signals import interrupted_by_end
from knickpoint.cli.exit_codes import INTERRUPTED
from knickpoint.cli.options import open_chosen_instance
from knickpoint.cli.regression_argument import read_regression
from knickpoint.cli.verbosity import note
from knickpoint.model.bisection import BisectionState
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.bisect.coordinator import BisectionAnswer, JournalEntry
    from knickpoint.cli.output import OutputFormat
    from knickpoint.instance import Instance
    from knickpoint.model.commit import Commit, Repository
    from knickpoint.store.bisections import BisectionRequest, StoredBisection

__all__ = ["bisect_regression", "regression_cost"]

_WAIT_SECONDS: Final = 1.0


def bisect_regression(
    text: str, options: SearchOptions, instance: str | None, output: OutputFormat, *, resume: bool = False
) -> None:
    """Search the commit of a regression to the end, show it, and end with the exit code.

    The bisection is that of the instance: the dashboard shows it, and its results become points. A worker that has it
    already goes on with it, and this command waits for its end. It also goes on where it was interrupted without ``resume``,
    which says where there is nothing to go on with.

    Raises:
        InputError: the regression cannot be bisected, or an option is given that the profile decides.
    """
    _check_options(text, options)
    from knickpoint.access.local_user import local_caller
    from knickpoint.instance.bisections import request_bisection

    with open_chosen_instance(instance) as opened:
        asked = request_bisection(opened, read_regression(text), options.profile, who=local_caller().name)
        if resume and not opened.store.bisections.journal(asked.id).probes():
            note("There is nothing to resume: the search begins.", err=True)
        commits = _commits(opened, asked.request)
        view = LiveView(commits)
        try:
            with interrupted_by_end():
                ended = _run(opened, asked, view)
        except KeyboardInterrupt:
            view.close()
            click.echo(f"Interrupted; {asked.name} is kept. To go on: knick bisect {text}", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        view.close()
        answer = _answer(opened, ended)
        reproduce = (
            _reproduce(opened, ended, answer, commits)
            if answer.places and answer.state is BisectionState.CULPRIT
            else ""
        )
        click.echo(render_answer(answer, commits, output, reproduce=reproduce), nl=False)
    raise click.exceptions.Exit(0 if ended.state is BisectionState.CULPRIT else 1)


def regression_cost(text: str, options: SearchOptions, instance: str | None, output: OutputFormat) -> str:
    """Return what the search of a regression would cost; nothing is run or written.

    Raises:
        InputError: as :func:`bisect_regression`.
    """
    from knickpoint.access.local_user import local_caller
    from knickpoint.cli.commands.bisect.dry_run import PlannedSearch, render_dry_run
    from knickpoint.instance.bisections import plan_bisection
    from knickpoint.instance.bisections.runs import bisection_from
    from knickpoint.instance.probe_pool import WORKSPACE

    _check_options(text, options)
    with open_chosen_instance(instance) as opened:
        regression = read_regression(text)
        request = plan_bisection(opened, regression, options.profile, who=local_caller().name)
        before = next(iter(opened.store.bisections.newest(of=regression, limit=1)), None)
        probes = opened.store.bisections.journal(before.id).probes() if before else []
        seconds = [each.result.seconds for each in probes if each.result is not None]
        address = opened.config.pool.address
        planned = PlannedSearch(
            bisection_from(opened, text, request),
            _commits(opened, request),
            f"the devices of {address}" if address else str(opened.directory / WORKSPACE),
            statistics.median(seconds) if seconds else None,
        )
        return render_dry_run(planned, output)


def _check_options(text: str, options: SearchOptions) -> None:
    if options != SearchOptions(profile=options.profile):
        raise InputError(
            "a regression is searched with a profile of the configuration",
            where=text,
            remedy="Give --profile NAME and no other option; knick bisect GOOD..BAD takes them all.",
        )


def _run(instance: Instance, asked: StoredBisection, view: LiveView) -> StoredBisection:
    """Run a bisection here, or wait for the worker that has it."""
    import time

    from knickpoint.instance.bisections import run_bisection
    from knickpoint.instance.probe_pool import open_probe_pool

    pool = open_probe_pool(instance, progress=view.step)
    try:
        while True:
            stored = run_bisection(instance, asked, pool, worker=f"knick bisect on {platform.node()}", progress=view)
            if stored.state.ended:
                return stored
            time.sleep(_WAIT_SECONDS)
    finally:
        pool.close()


def _repository(instance: Instance, request: BisectionRequest) -> Repository:
    return next(each for each in instance.store.commits.repositories() if each.id == request.repository_id)


def _commits(instance: Instance, request: BisectionRequest) -> Sequence[Commit]:
    """Return the commits of the range by place."""
    repository = _repository(instance, request)
    known = {each.slot: each.commit for each in instance.store.commits.get(repository, request.slots)}
    return [known[slot] for slot in request.slots]


def _reproduce(instance: Instance, ended: StoredBisection, answer: BisectionAnswer, commits: Sequence[Commit]) -> str:
    """Return the command that measures the culprit beside its parent here, "" where the repository is elsewhere."""
    from knickpoint.history import is_url
    from knickpoint.instance.probe_pool import git_location

    location = git_location(instance, _repository(instance, ended.request).name)
    if is_url(location):
        return ""
    options = SearchOptions(Path(location), trace=answer.trace, profile=ended.request.profile)
    place = answer.places[0]
    return options.command_line(f"{commits[place - 1].hash}..{commits[place].hash}", instance=str(instance.directory))


def _answer(instance: Instance, ended: StoredBisection) -> BisectionAnswer:
    """Return what the store keeps of the end of a bisection, as a coordinator answers."""
    from knickpoint.bisect.coordinator import BisectionAnswer
    from knickpoint.bisect.coordinator.evidence import read_evidence
    from knickpoint.bisect.coordinator.levels import estimate_levels
    from knickpoint.bisect.search.problem import Posterior
    from knickpoint.instance.bisections import StoreJournal
    from knickpoint.instance.bisections.runs import bisection_of
    from knickpoint.instance.bisections.second_repository import of_main_search

    journal = StoreJournal(instance.store.bisections.journal(ended.id), ended.request.trace_key)
    entries: tuple[JournalEntry, ...] = tuple(journal.load())
    known = ended.posterior
    assert known is not None
    found = Posterior(known.single, known.none, known.several, known.marginal)
    places = _places(ended)
    searched = tuple(entry for entry in entries if of_main_search(entry.probe))
    evidence = read_evidence(bisection_of(instance, ended), searched)
    before, after = estimate_levels(evidence, searched, places) if places else (None, None)
    return BisectionAnswer(
        ended.state,
        places,
        ended.answer.probability,
        found,
        ended.answer.reason,
        evidence.trace,
        before,
        after,
        entries,
        several=ended.state is BisectionState.RANGE and bool(ended.answer.culprits),
    )


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
