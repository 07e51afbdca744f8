"""``knick bisect --also``: search where two repositories moved."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from knickpoint.cli.commands.bisect.answer import render_answer, shown_value
from knickpoint.cli.exit_codes import INTERRUPTED
from knickpoint.cli.output import OutputFormat
from knickpoint.cli.process import interrupted_by_end
from knickpoint.cli.terminal import announcer
from knickpoint.history import Git, is_url
from knickpoint.model.bisection import BisectionState
from knickpoint.model.errors import ConfigError, InputError
from knickpoint.model.quantity_text import figure_text

if TYPE_CHECKING:
    from knickpoint.bisect.coordinator import BisectionAnswer, FileJournal, RevisionRange, TwoRepositoriesAnswer
    from knickpoint.cli.commands.bisect.search import Search

_FORM: Final = re.compile(r"(?P<folder>[^=]+)=(?P<location>.+)@(?P<range>[^@]+)")
_NAMED: Final = re.compile(r"(?P<name>[^=@]+)@(?P<range>[^@]+)")
"""A repository of the configuration, which says where it lies and where it is checked out."""

_NAMES: Final = ("old with old", "new with old", "old with new", "new with new")
_SAID: Final = {
    "main": "the main repository made the change",
    "other": "the other repository made the change",
    "both": "each of the two repositories made a change",
    "interaction": "only both repositories together make the change",
    "neither": "neither repository made a change that shows",
}


@dataclass(frozen=True, slots=True)
class _Also:
    """The second repository: the directory below the worktree, which is its name, where it lies, and its range."""

    folder: str
    location: Path
    range: RevisionRange


def bisect_two(search: Search, output: OutputFormat, *, resume: bool) -> NoReturn:
    """Decide which repository made the change, search its commits, and print both.

    Raises:
        InputError: ``--also`` cannot be read, or its range cannot be searched.
        HistoryError: there is no such repository.
    """
    also = _read(search)
    answer = _run(search, also, resume=resume)
    parts = [
        (name, found, (chosen.good, *chosen.commits))
        for name, found, chosen in (
            ("main", answer.main, search.range),
            (also.folder, answer.other, also.range),
        )
        if found is not None
    ]
    if output is OutputFormat.JSON:
        click.echo(json.dumps(_document(answer, parts), indent=2))
    else:
        _print(answer, parts, output)
    culprit = bool(parts) and all(found.state is BisectionState.CULPRIT for _, found, _ in parts)
    raise click.exceptions.Exit(0 if culprit else 1)


def _read(search: Search) -> _Also:
    from knickpoint.bisect.coordinator import read_range
    from knickpoint.cli.commands.bisect.search import work_tree_of

    text = search.options.also
    named = _NAMED.fullmatch(text)
    if named is not None:
        text = f"{_of_configuration(search, named['name'])}@{named['range']}"
    found = _FORM.fullmatch(text)
    if found is not None and is_url(found["location"]):
        raise InputError(
            f"the second repository {found['folder']} is a URL, and its commits are read from a clone on this machine",
            where="--also",
            remedy=f"Clone it, and write {found['folder']}=PATH@{found['range']} with the path of the clone.",
        )
    if found is None:
        raise InputError(
            f"{text!r} is not DIR=LOCATION@GOOD..BAD with the path of a repository",
            where="--also",
            remedy="Write it as in third_party/engine=../engine@v1.4..v1.5.",
        )
    top = work_tree_of(Path(found["location"]))
    return _Also(found["folder"].strip("/"), top, read_range(Git.at(top), found["range"]))


def _of_configuration(search: Search, name: str) -> str:
    """Return ``DIR=LOCATION`` of a repository that the recipe takes along.

    Raises:
        InputError: the configuration has no such repository, or the recipe does not take it along.
    """
    from knickpoint.cli.commands.bisect.search import nearest_configuration
    from knickpoint.instance import find_instance

    config, _ = nearest_configuration(search.instance or None, search.options.repository)
    folder = search.bisection.recipe.also.get(name)
    settings = config.repositories.get(name) if config else None
    if folder is None or settings is None or not settings.location:
        taken = ", ".join(sorted(search.bisection.recipe.also)) or "none"
        raise InputError(
            f"the recipe takes no repository {name!r} along",
            where="--also",
            remedy=f"Repositories of the recipe: {taken}. Others are named as DIR=LOCATION@GOOD..BAD.",
        )
    try:
        base = Path(search.instance) if search.instance else find_instance()
    except ConfigError:
        base = Path(search.bisection.locations[""])
    location = settings.location
    return f"{folder}={location if is_url(location) else base / Path(location).expanduser()}"


def _run(search: Search, also: _Also, *, resume: bool) -> TwoRepositoriesAnswer:
    from knickpoint.bisect.coordinator import OtherRange, coordinate_two

    recipe = replace(search.bisection.recipe, also={also.folder: also.folder})
    locations = {**search.bisection.locations, also.folder: str(also.location)}
    bisection = replace(search.bisection, recipe=recipe, locations=locations)
    other = OtherRange(also.folder, also.range.good.hash, also.range.hashes)
    about = {**search.about, "also": [str(also.location), also.folder, other.good, other.bad]}
    with ExitStack() as stack:

        def journal_of(part: str) -> FileJournal:
            return stack.enter_context(_journal(search, {**about, "part": part}, resume=resume))

        announce = announcer(err=True)

        def say(probe: str, line: str) -> None:
            announce(f"{probe}: {line}")

        stack.enter_context(interrupted_by_end())
        pool = stack.enter_context(closing(search.open_pool(recipe, say)))
        try:
            return coordinate_two(bisection, other, pool, journal_of)
        except KeyboardInterrupt:
            click.echo(f"Interrupted. To resume:\n  {search.command_line(resume=True)}", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None


def _journal(search: Search, about: dict[str, Any], *, resume: bool) -> FileJournal:
    """Open the journal of a part; a part that had not begun before an interruption has none to resume."""
    from knickpoint.bisect.coordinator import FileJournal

    path = replace(search, about=about).journal
    return FileJournal(path, about, resume=resume and path.exists())


def _print(
    answer: TwoRepositoriesAnswer, parts: Sequence[tuple[str, BisectionAnswer, Any]], output: OutputFormat
) -> None:
    if output is OutputFormat.TEXT:
        for entry in answer.cells:
            trace = next(iter(entry.result.measured), "") if entry.result else ""
            click.echo(f"{_NAMES[entry.planned.place]:12}  {shown_value(entry, trace)}")
        said = _SAID[answer.attribution.value] if answer.attribution else answer.reason
        click.echo(
            f"Combinations: {said}" + (f" ({figure_text(answer.probability, '.1%')})" if answer.attribution else "")
        )
    for name, found, commits in parts:
        if output is OutputFormat.TEXT:
            click.echo(f"\nRepository {name}:")
        click.echo(render_answer(found, commits, output), nl=False)


def _document(answer: TwoRepositoriesAnswer, parts: Sequence[tuple[str, BisectionAnswer, Any]]) -> dict[str, Any]:
    return {
        "attribution": answer.attribution.value if answer.attribution else None,
        "probability": answer.probability,
        "probabilities": {each.value: value for each, value in answer.probabilities.items()},
        "reason": answer.reason,
        "repositories": {
            name: json.loads(render_answer(found, commits, OutputFormat.JSON)) for name, found, commits in parts
        },
    }
