"""``knick bisect R12``: search the commit of a change of an instance, with a recipe of its configuration."""

from __future__ import annotations

import os
import platform
import re
import statistics
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.arguments import read_change
from knickpoint.cli.commands.bisect.answer import LiveView, render_answer
from knickpoint.cli.commands.bisect.bisections import commits_of, reproduce_line, stored_answer
from knickpoint.cli.commands.bisect.options import SearchOptions
from knickpoint.cli.exit_codes import INTERRUPTED
from knickpoint.cli.options import open_chosen_instance
from knickpoint.cli.output import OutputFormat
from knickpoint.cli.process import interrupted_by_end
from knickpoint.cli.terminal import note
from knickpoint.model.bisection import BisectionState
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.bisect.coordinator import BisectionAnswer
    from knickpoint.instance import Instance
    from knickpoint.store.bisections import StoredBisection


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
    from knickpoint.cli.commands.bisect.dry_run import PlannedSearch, render_dry_run
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
