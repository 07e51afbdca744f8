"""``knick missed``: mark changes that no alert found, list them, and take marks back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import click

from knickpoint.cli.options import find_trace, instance_option, open_chosen_instance
from knickpoint.cli.output import Column, OutputFormat, Row, format_option, show, show_answers
from knickpoint.cli.terminal import note
from knickpoint.model.alert import AlertDirection
from knickpoint.model.errors import InputError

if TYPE_CHECKING:
    from knickpoint.model.commit import Repository
    from knickpoint.model.frame import Trace
    from knickpoint.model.quality import ListedMissedChange
    from knickpoint.store import Store

_COLUMNS: Final = (
    Column("id"),
    Column("repository"),
    Column("trace"),
    Column("previous_commit", "after", text=lambda name: name[:10]),
    Column("commit", "up to", text=lambda name: name[:10]),
    Column("moved"),
    Column("direction"),
    Column("found", "found by now as"),
    Column("alerts", text=", ".join),
    Column("who"),
    Column("date"),
    Column("note"),
)

_DIRECTIONS: Final = [each.value for each in AlertDirection if each is not AlertDirection.BOTH]


@click.group("missed")
def command() -> None:
    """Mark changes that no alert found, so that the quality of the alerts can be measured."""


@command.command("add")
@click.argument("trace")
@click.argument("commit")
@click.option(
    "--direction",
    type=click.Choice(_DIRECTIONS),
    default=None,
    help="Direction of the change. Default: from the medians on both sides.",
)
@click.option("--note", default="", help="Why it is a change.")
@instance_option
@format_option
def add(
    *, trace: str, commit: str, direction: str | None, note: str, instance: str | None, output: OutputFormat
) -> None:
    """Mark a change in TRACE at COMMIT.

    TRACE is a trace key, or a query that matches one trace. COMMIT is a hash, its beginning or a number; a..b is a
    range: the change came after a, with b at the latest. A finding of an alert about the same change is named from
    then on.
    """
    from knickpoint.access.local_user import local_caller
    from knickpoint.watch.missed_changes import list_missed, mark_missed

    with open_chosen_instance(instance) as opened:
        store = opened.store
        repository, found = _trace_of(store, find_trace(store, trace))
        way = AlertDirection(direction) if direction else AlertDirection.BOTH
        added = mark_missed(store, repository, found, commit, way, who=local_caller().name, note=note)
        _show(store, {repository: list_missed(store, repository, [added])}, output)


@command.command("list")
@instance_option
@format_option
def list_(instance: str | None, output: OutputFormat) -> None:
    """List the missed changes, each with the finding that matches it now."""
    from knickpoint.watch.missed_changes import list_missed

    with open_chosen_instance(instance) as opened:
        store = opened.store
        _show(store, {each: list_missed(store, each) for each in store.commits.repositories()}, output)


@command.command("remove")
@click.argument("ids", nargs=-1, required=True, metavar="ID…")
@instance_option
def remove(ids: tuple[str, ...], instance: str | None) -> None:
    """Remove marks; ID is M3 or 3."""
    from knickpoint.access.local_user import local_caller
    from knickpoint.watch.missed_changes import unmark_missed

    keys = [_key(text) for text in ids]
    with open_chosen_instance(instance) as opened:
        who = local_caller().name
        with opened.store.transaction():
            for key in keys:
                unmark_missed(opened.store, key, who=who)
    note(f"{len(keys):,} removed.")


def _key(text: str) -> int:
    digits = text.removeprefix("M").removeprefix("m")
    if not (digits.isascii() and digits.isdigit()):
        raise InputError(f"{text!r} is not an id of a missed change", remedy="Write M3 or 3; see knick missed list.")
    return int(digits)


def _trace_of(store: Store, wanted: int | str) -> tuple[Repository, Trace]:
    """Return the trace of an id or a key, and its repository.

    Raises:
        InputError: there is none.
    """
    from knickpoint.watch.explanation import find_trace_in

    return find_trace_in(store, wanted)


def _show(store: Store, listed: Mapping[Repository, list[ListedMissedChange]], output: OutputFormat) -> None:
    if output is OutputFormat.TEXT:
        rows = [row for repository, changes in listed.items() for row in _rows(store, repository, changes)]
        show(_COLUMNS, rows, output, empty="No change is marked as missed.")
        return
    from knickpoint.answers.quality import MissedAnswer, missed_answers

    answers = [each for repository, changes in listed.items() for each in missed_answers(store, repository, changes)]
    show_answers(MissedAnswer, answers, output)


def _rows(store: Store, repository: Repository, listed: list[ListedMissedChange]) -> list[Row]:
    slots = {slot for each in listed for slot in (each.change.suspect_range.previous, each.change.suspect_range.slot)}
    hashes = {each.slot: each.commit.hash for each in store.commits.get(repository, sorted(slots))}
    return [
        {
            "id": f"M{each.change.id}",
            "repository": repository.name,
            "trace": each.change.trace_key,
            "previous_commit": hashes.get(each.change.suspect_range.previous, ""),
            "commit": hashes.get(each.change.suspect_range.slot, ""),
            "moved": "up" if each.change.movement > 0 else "down",
            "direction": each.direction.value,
            "found": f"P{each.point.id}" if each.point else "",
            "alerts": each.point.alerts if each.point else (),
            "who": each.change.who,
            "date": each.change.time.date().isoformat(),
            "note": each.change.note,
        }
        for each in listed
    ]
