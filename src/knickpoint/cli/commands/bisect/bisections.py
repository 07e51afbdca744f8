"""``knick bisections``: list the bisections of an instance, show one as the command that ran it, stop one.

``knick bisect R12`` makes one: it searches the commit of a change of an instance, with a recipe of its configuration.
"""

from __future__ import annotations

import os
import platform
import re
import statistics
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.commands.bisect.answer import LiveView, render_answer
from knickpoint.cli.commands.bisect.options import SearchOptions
from knickpoint.cli.exit_codes import INTERRUPTED
from knickpoint.cli.options import instance_option, local_view, open_chosen_instance, read_change
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answers
from knickpoint.cli.process import interrupted_by_end
from knickpoint.cli.terminal import note, without_control
from knickpoint.model.bisection import BisectionState
from knickpoint.model.errors import InputError
from knickpoint.model.plain_text import counted
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.bisect.coordinator import BisectionAnswer, JournalEntry
    from knickpoint.instance import Instance
    from knickpoint.model.commit import Commit, Repository
    from knickpoint.model.posterior import Posterior
    from knickpoint.store import Store
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
    from knickpoint.bisect.coordinator.bisection import estimate_levels, read_evidence
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
        ended.posterior or _unknown(len(ended.request.slots) - 1),
        ended.answer.reason,
        trace,
        before,
        after,
        entries,
        several=ended.state is BisectionState.RANGE and bool(ended.answer.culprits),
    )


def _unknown(candidates: int) -> Posterior:
    """The posterior where nothing was measured: not a number."""
    import numpy as np

    from knickpoint.model.posterior import Posterior

    nothing = np.full(candidates, np.nan)
    return Posterior(nothing, np.nan, np.nan, nothing)


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


_LONGEST: Final = 15
"""Digits of a number."""

_COLUMNS: Final = (
    Column("id"),
    Column("repository"),
    Column("change", text=lambda name: name or "–"),
    Column("recipe"),
    Column("state"),
    Column("commits"),
    Column("probes"),
    Column("culprit", text=lambda name: name[:10] or "–"),
    Column("probability", text=lambda share: figure_text(share, ".1%") if share else "–"),
    Column("who"),
    Column("asked"),
    Column("reason", text=lambda text: text or "–"),
)


@click.group("bisections", invoke_without_command=True)
@click.option("--all", "everything", is_flag=True, help="Include ended ones.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Maximum number to list.")
@instance_option
@format_option
@click.pass_context
def command(
    context: click.Context, *, everything: bool, limit: int, instance: str | None, output: OutputFormat
) -> None:
    """List the searches for commits that wait or run, the newest first."""
    from knickpoint.model.bisection import BisectionState

    if context.invoked_subcommand:
        return
    states = () if everything else tuple(state for state in BisectionState if not state.ended)
    with open_chosen_instance(instance) as opened:
        if output is not OutputFormat.TEXT:
            from knickpoint.answers.bisections import BisectionAnswer, list_bisections

            show_answers(BisectionAnswer, list_bisections(local_view(opened), "", states, 0, limit), output)
            return
        repositories = {each.id: each for each in opened.store.commits.repositories()}
        found = opened.store.bisections.newest(states=states, limit=limit)
        rows = [_row(opened.store, each, repositories[each.request.repository_id]) for each in found]
    empty = (
        "There are no bisections." if everything else "No bisection is waiting or running; --all includes ended ones."
    )
    show(_COLUMNS, rows, output, empty=empty)


@command.command("show")
@click.argument("number")
@instance_option
@format_option
def show_one(number: str, instance: str | None, output: OutputFormat) -> None:
    """Show the state of a bisection, its probes and its log; NUMBER is B12 or 12."""
    from knickpoint.cli.commands.bisect.answer import render_answer

    with open_chosen_instance(instance) as opened:
        found = opened.store.bisections.get(_key(number))
        commits = commits_of(opened, found.request)
        answer = stored_answer(opened, found)
        if not found.state.ended:
            answer = replace(answer, reason=_standing(found, commits))
        lines = opened.store.bisections.journal(found.id).lines()
        reproduce = reproduce_line(opened, found, answer, commits)
    click.echo(render_answer(answer, commits, output, reproduce=reproduce), nl=False)
    if output is OutputFormat.TEXT and lines:
        click.echo("\nLog:")
        for line in lines:
            click.echo(without_control(f"  {line.time:%Y-%m-%d %H:%M:%S}  {line.text}"))


@command.command("stop")
@click.argument("number")
@instance_option
def stop(number: str, instance: str | None) -> None:
    """Stop a bisection; NUMBER is B12 or 12. Its probes end, and its finding stays as it is."""
    from knickpoint.access.local_user import local_caller
    from knickpoint.instance.bisections import stop_bisection

    with open_chosen_instance(instance) as opened:
        stopped = stop_bisection(opened, _key(number), who=local_caller().name)
    ended = "is stopped" if stopped.state.ended else "stops once its worker is notified"
    note(f"Bisection {stopped.name} {ended}.")


def _key(number: str) -> int:
    """Read the number of a bisection."""
    plain = number.removeprefix("B").removeprefix("b")
    if not (plain.isascii() and plain.isdigit() and len(plain) <= _LONGEST):
        raise InputError(f"{number!r} is not a bisection", where="NUMBER", remedy="Write it as B12, or 12.")
    return int(plain)


def _standing(found: StoredBisection, commits: Sequence[Commit]) -> str:
    """Describe the standing of a bisection that has not ended, and its holder."""
    from knickpoint.bisect.coordinator.narration import standing_text

    if found.posterior is None:
        return "nothing measured yet"
    left = standing_text(found.posterior, [commit.hash for commit in commits])
    return f"{left}; {found.holder} runs it" if found.holder else f"{left}; no worker has it now"


def _row(store: Store, found: StoredBisection, repository: Repository) -> Row:
    asked, answer = found.request, found.answer
    commits = {each.slot: each.commit.hash for each in store.commits.get(repository, list(answer.culprits))}
    probes = store.bisections.journal(found.id).probes()
    return {
        "id": found.name,
        "repository": repository.name,
        "change": f"R{asked.change_id}" if asked.change_id else "",
        "recipe": asked.recipe,
        "state": found.state.value,
        "commits": len(asked.slots) - 1,
        "probes": sum(each.result is not None for each in probes),
        "culprit": " ".join(commits.get(slot, "") for slot in answer.culprits),
        "probability": answer.probability,
        "who": asked.who,
        "asked": asked.asked.isoformat(timespec="seconds"),
        "reason": answer.reason,
    }


# The name under which a command holds a bisection of an instance, and whether such a command still lives.


_NAME: Final = re.compile(r"knick bisect on (.*), process ([0-9]{1,10})", re.DOTALL)


def holder_name() -> str:
    """Return the name of this process as one that runs a bisection."""
    return f"knick bisect on {platform.node()}, process {os.getpid()}"


def is_gone(holder: str) -> bool:
    """Return True if ``holder`` is a command of this machine that has ended; False where that is unknown."""
    found = _NAME.fullmatch(holder)
    if found is None or found[1] != platform.node():
        return False
    try:
        os.kill(int(found[2]), 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


_WAIT_SECONDS: Final = 1.0


def bisect_change(
    text: str,
    options: SearchOptions,
    instance: str | None,
    output: OutputFormat,
    *,
    profiler: str = "",
    resume: bool = False,
) -> None:
    """Search the commit of a change to the end, show it, and end with the exit code.

    The bisection is that of the instance: the dashboard shows it, and its results become points. A worker that has it
    already goes on with it, and this command shows what it does until it ends. What a killed command of this machine
    left goes on at once. It also goes on where it was interrupted without ``resume``, which says where there is nothing
    to go on with.

    Raises:
        InputError: the change cannot be bisected, or an option is given that the recipe decides.
    """
    _check_options(text, options)
    from knickpoint.access.local_user import local_caller
    from knickpoint.instance.bisections import request_bisection

    with open_chosen_instance(instance) as opened:
        asked = request_bisection(opened, read_change(text), options.recipe, who=local_caller().name)
        if resume and not opened.store.bisections.journal(asked.id).probes():
            note("Nothing to resume: starting a new search.", err=True)
        commits = commits_of(opened, asked.request)
        view = LiveView(commits)
        try:
            with interrupted_by_end():
                ended = _run(opened, asked, view)
        except KeyboardInterrupt:
            view.close()
            click.echo(_interrupted(opened.store.bisections.get(asked.id), text), err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        view.close()
        answer = stored_answer(opened, ended)
        reproduce = reproduce_line(opened, ended, answer, commits)
        click.echo(render_answer(answer, commits, output, reproduce=reproduce), nl=False)
        if profiler and (cause := _profiled(opened, ended, answer, profiler, text)):
            click.echo(cause, err=output is not OutputFormat.TEXT)
    raise click.exceptions.Exit(0 if ended.state is BisectionState.CULPRIT else 1)


def change_cost(text: str, options: SearchOptions, instance: str | None, output: OutputFormat) -> str:
    """Return the cost of the search of a change; nothing is run or written.

    Raises:
        InputError: as :func:`bisect_change`.
    """
    from knickpoint.access.local_user import local_caller
    from knickpoint.cli.commands.bisect.search import PlannedSearch, render_dry_run
    from knickpoint.instance.bisections import plan_bisection
    from knickpoint.instance.bisections.runs import bisection_from
    from knickpoint.instance.probes import WORKSPACE

    _check_options(text, options)
    with open_chosen_instance(instance) as opened:
        change = read_change(text)
        request = plan_bisection(opened, change, options.recipe, who=local_caller().name)
        before = next(iter(opened.store.bisections.newest(of=change, limit=1)), None)
        probes = opened.store.bisections.journal(before.id).probes() if before else []
        seconds = [each.result.seconds for each in probes if each.result is not None]
        address = opened.config.pool.address
        planned = PlannedSearch(
            bisection_from(opened, text, request),
            commits_of(opened, request),
            f"the devices of {address}" if address else str(opened.directory / WORKSPACE),
            statistics.median(seconds) if seconds else None,
        )
        return render_dry_run(planned, output)


def _check_options(text: str, options: SearchOptions) -> None:
    if options != SearchOptions(recipe=options.recipe):
        raise InputError(
            "a change is searched with a recipe of the configuration",
            where=text,
            remedy="Give --recipe NAME and no other option; knick bisect GOOD..BAD takes them all.",
        )


def _run(instance: Instance, asked: StoredBisection, view: LiveView) -> StoredBisection:
    """Run a bisection here, or show what the worker does that has it."""
    from knickpoint.instance.bisections import run_bisection
    from knickpoint.instance.probes import open_probe_pool

    pool = open_probe_pool(instance, progress=view.step)
    try:
        shown = ""
        while True:
            if is_gone(holder := instance.store.bisections.get(asked.id).holder):
                instance.store.bisections.release(asked.id, holder)
            stored = run_bisection(instance, asked, pool, worker=holder_name(), progress=view)
            if shown:
                _show(instance, stored, view)
            if stored.state.ended:
                return stored
            if stored.holder not in {"", shown}:
                shown = stored.holder
                note(f"{stored.name} is run by {shown}; it continues here if that process stops responding.", err=True)
                _show(instance, stored, view)
            time.sleep(_WAIT_SECONDS)
    finally:
        pool.close()


def _profiled(instance: Instance, ended: StoredBisection, answer: BisectionAnswer, profiler: str, text: str) -> str:
    """Profile what a bisection found, and return what the change says of it then."""
    from knickpoint.instance import rank_new_suspects
    from knickpoint.instance.bisections.runs import bisection_of, profile_found_commits
    from knickpoint.instance.probes import open_probe_pool

    say = partial(note, err=True)
    repositories = instance.store.commits.repositories()
    repository = next(each for each in repositories if each.id == ended.request.repository_id)
    try:
        bisection = bisection_of(instance, ended)
    except InputError as error:
        say(f"Not profiled: {error}")
        return ""
    bisection = replace(bisection, recipe=replace(bisection.recipe, profiler=profiler))
    with closing(open_probe_pool(instance)) as pool:
        trace = ended.request.trace_key
        if not profile_found_commits(instance, repository, bisection, answer, pool, trace=trace, log=say):
            return ""
    rank_new_suspects(instance)
    stated = instance.store.findings.statements.of_changes([read_change(text)])
    return next((each.cause for each in stated.values()), "")


def _show(instance: Instance, stored: StoredBisection, view: LiveView) -> None:
    """Show where a bisection stands that another process runs."""
    from knickpoint.bisect.coordinator import BisectionProgress
    from knickpoint.bisect.job import Device
    from knickpoint.instance.bisections import StoreJournal
    from knickpoint.instance.bisections.second_repository import of_main_search

    if stored.posterior is None:
        return
    journal = StoreJournal(instance.store.bisections.journal(stored.id), stored.request.trace_key)
    entries = tuple(entry for entry in journal.load() if of_main_search(entry.probe))
    for entry in entries:
        if entry.result is None:
            view.step(entry.probe, f"on {entry.planned.device}")
    devices = tuple(Device(name) for name in stored.devices)
    view(BisectionProgress(entries, stored.posterior, devices, stored.request.trace_key, stored.seconds_left))


def _interrupted(stored: StoredBisection, text: str) -> str:
    """Explain the state of a bisection whose command was interrupted."""
    if stored.state.ended:
        return f"Interrupted; {stored.name} has ended: {stored.state.value}."
    goes_on = (
        f"{stored.holder} goes on with it"
        if stored.holder
        else "a worker of the instance continues it, if one is running"
    )
    return (
        f"Interrupted; {stored.name} is kept, and {goes_on}.\n"
        f"To see it here: knick bisect {text}. To stop it: knick bisections stop {stored.name}"
    )
