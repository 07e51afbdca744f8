"""``knick bisections``: list the bisections of an instance, show one as the command that ran it, stop one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.commands.bisect.options import SearchOptions
from knickpoint.cli.options import instance_option, local_view, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answers
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
