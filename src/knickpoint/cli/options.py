"""Options and arguments that several commands share, such as TRACE and CHANGE, and the parsing of their text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

import click

from knickpoint.model.errors import HistoryError, InputError, KnickpointError, QueryError

if TYPE_CHECKING:
    from knickpoint.answers.visible_repositories import VisibleRepositories
    from knickpoint.instance import Instance
    from knickpoint.model.change_point import ChangePoint
    from knickpoint.model.commit import Repository
    from knickpoint.model.frame import Trace
    from knickpoint.model.query import Query
    from knickpoint.store import Store


_BRING_IN: Final = "Import results: knick import PATH. knick demo shows everything on an example."

_NO_VERDICT: Final = "none"

NO_RESULTS: Final = f"The instance has no results yet. {_BRING_IN}"


def instance_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--instance DIR`` to a command, as the argument ``instance``."""
    return click.option(
        "--instance",
        type=click.Path(file_okay=False),
        default=None,
        metavar="DIR",
        help="The directory of the instance. Default: KNICKPOINT_INSTANCE, else the nearest knickpoint.toml upwards.",
    )(command)


def fail_on_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--fail-on VERDICT`` to a command, as the argument ``fail_on``: the verdicts that fail the check."""
    from knickpoint.model.step import Verdict

    def failing(_context: click.Context, _parameter: click.Parameter, names: Sequence[str]) -> frozenset[Verdict]:
        usual = frozenset[Verdict]() if _NO_VERDICT in names else frozenset({Verdict.REGRESSED})
        return usual | {Verdict(name) for name in names if name != _NO_VERDICT}

    return click.option(
        "--fail-on",
        multiple=True,
        type=click.Choice([*(each.value for each in Verdict if each is not Verdict.NO_DATA), _NO_VERDICT]),
        callback=failing,
        help="A verdict that ends with exit code 1, in addition to regressed; none removes regressed; repeatable.",
    )(command)


def job_name_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--name NAME`` to a command, as the argument ``name``: the name of a job in its reports."""
    return click.option(
        "--name",
        default="",
        metavar="NAME",
        help="The name of this job, if several check one commit: each name has its own comment. Default: none.",
    )(command)


def open_chosen_instance(directory: str | None) -> Instance:
    """Open the instance in ``directory``, or the one that the environment or the working directory names."""
    from knickpoint.instance import open_instance

    return open_instance(directory)


def local_view(opened: Instance) -> VisibleRepositories:
    """Return the view of the store for the user of this process, who may read everything."""
    from knickpoint.access.local_user import local_caller
    from knickpoint.answers.visible_repositories import VisibleRepositories

    return VisibleRepositories(opened.store, local_caller())


def refuse_empty(context: click.Context, parameter: click.Parameter, value: str) -> str:
    """Refuse an option that is given without a text, as `--commit "$SHA"` where the variable is not set.

    Raises:
        InputError: the text is empty.
    """
    given = context.get_parameter_source(parameter.name or "") is click.core.ParameterSource.COMMANDLINE
    if given and not value.strip():
        raise InputError(
            "the text is empty, perhaps from an unset variable",
            where=parameter.opts[0],
            remedy="Give it, or leave the option out.",
        )
    return value


def share_of_change(_: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """Refuse the smallest change that counts where a percentage was meant: with 5 for 5 %, nothing would ever count.

    Raises:
        InputError: it is 1 or more.
    """
    if value is not None and value >= 1:
        raise InputError(
            f"{value:g} lets all changes below {value * 100:g} % pass",
            where=parameter.opts[0],
            remedy=f"Give a share below 1: {value / 100:g} is {value:g} %.",
        )
    return value


minimum_effect_option = click.option(
    "--minimum-effect",
    type=click.FloatRange(0),
    callback=share_of_change,
    default=0.0,
    help="The smallest change that counts: 0.02 is 2 %.",
)


def require_results(opened: Instance) -> None:
    """Refuse to work on an instance without any results.

    Raises:
        InputError: nothing has been imported yet.
    """
    if not opened.store.commits.repositories():
        raise InputError("the instance has no results yet", where=str(opened.directory), remedy=_BRING_IN)


def read_pairs(pairs: Sequence[str], option: str) -> dict[str, str]:
    """Parse ``name=value`` texts into a dict.

    Raises:
        InputError: a text has no ``=`` or no name, or a name is given twice.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise InputError(f"{pair!r} is not name=value", where=option, remedy=f"Write {option} name=value.")
        if name in found:
            raise InputError(f"{name!r} is given twice", where=option, remedy="Give each name once.")
        found[name] = value
    return found


_MOST: Final = 3
_LEAST_SIMILARITY: Final = 0.68
"""Share of characters in common from which a name is suggested (as ``difflib`` measures it)."""
_BEHIND_THE_BEST: Final = 0.12
"""By how much less similar than the best suggestion another one may be."""


def closest(word: str, known: Iterable[str]) -> list[str]:
    """Return the names of ``known`` that ``word`` may mean, the most similar first; at most three."""
    names = {name.lower(): name for name in known}
    found = get_close_matches(word.lower(), names, _MOST, _LEAST_SIMILARITY)
    if found:
        best = _similarity(word, found[0])
        found = [name for name in found if _similarity(word, name) >= best - _BEHIND_THE_BEST]
    else:
        found = sorted(name for name in names if len(word) > 1 and name.startswith(word.lower()))[:_MOST]
    return [names[name] for name in found]


def _similarity(word: str, name: str) -> float:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, name, word.lower()).ratio()


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return the question "Did you mean this or that?", "" where nothing known is similar to ``word``."""
    found = closest(word, known)
    if not found:
        return ""
    *others, last = found
    return f"Did you mean {', '.join(others)} or {last}?" if others else f"Did you mean {last}?"


# Suggest what a query that matches no trace may mean: params and values that are similar to those that it names.


_FORMULA = re.compile(r"\b(?:filter|shortcut)\(")
_FIRST = "benchmark"
"""The param that a word without a name is looked for first."""


def no_trace_remedy(store: Store, repositories: Iterable[Repository], text: str) -> str:
    """Return the remedy for a query without a match: a similar one that matches, else where to look."""
    if _FORMULA.search(text):
        return "This looks like a formula: knick query --formula takes it."
    for repository in repositories:
        meant = suggested_query(store, repository, text)
        if meant:
            return f"Did you mean {meant}?"
    return "List the traces with knick traces."


def suggested_query(store: Store, repository: Repository, text: str) -> str:
    """Return a query of the names and values of ``repository`` that are similar to those of ``text``, "" for none."""
    from knickpoint.model.query import Query

    known = store.traces.facets(repository, Query())
    terms = [_suggested_term(word, known) for written in text.split() for word in _between_commas(written, known)]
    meant = " ".join(term for term in terms if term)
    return meant if all(terms) and meant != text and _matches(store, repository, meant) else ""


def _between_commas(written: str, known: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return the terms of ``name=value,name=value``, which is how keys are written; other words stay whole."""
    parts = written.strip(",").split(",")
    return parts if all(part.partition("=")[0].rstrip("!~") in known for part in parts) else [written]


def _suggested_term(word: str, known: Mapping[str, Mapping[str, int]]) -> str:
    """Return the term ``name=value`` that a word means, "" where nothing is similar. Other terms stay as they are."""
    name, sign, value = word.partition("=")
    if word[:1] in {"-", "!"}:
        return word
    if not sign:
        for each in sorted(known, key=lambda each: (each != _FIRST, each)):
            found = closest(word, known[each])
            if found:
                return f"{each}={found[0]}"
        return ""
    if name[-1:] in {"!", "~"} or value == "*":
        return word
    names = [name] if name in known else closest(name, known)
    values = [value] if names and value in known[names[0]] else closest(value, known[names[0]]) if names else []
    return f"{names[0]}={values[0]}" if values else ""


def _matches(store: Store, repository: Repository, text: str) -> bool:
    from knickpoint.model.query import parse_query

    try:
        return bool(len(store.traces.select(repository, parse_query(text))))
    except KnickpointError:
        return False


# Read the argument TRACE of commands: a key, an id, or a query that matches one trace.


_MOST_NAMED: Final = 8
"""Traces that the error about an ambiguous query names."""


def find_trace(store: Store, text: str) -> int | str:
    """Return the trace that ``text`` means: a key, an id, or a query that matches exactly one.

    Raises:
        InputError: the query matches none, or several.
    """
    if text.isascii() and text.isdigit():
        return int(text)
    if text.startswith(","):
        return text
    repositories = store.commits.repositories()
    query = parse_terms(store, repositories, text)
    found = [
        trace
        for repository in repositories
        for trace in store.traces.get(store.traces.select(repository, query)[: _MOST_NAMED + 1])
    ]
    if len(found) == 1:
        return found[0].id
    if not found:
        raise InputError("no trace matches", where=f"query {text!r}", remedy=no_trace_remedy(store, repositories, text))
    keys = "\n  ".join(trace.key for trace in found[:_MOST_NAMED])
    more = "\n  …" if len(found) > _MOST_NAMED else ""
    raise InputError(
        f"several traces match; give one of these keys, or a narrower query:\n  {keys}{more}",
        where=f"query {text!r}",
    )


def chosen_repositories(store: Store, name: str) -> Sequence[Repository]:
    """Return the repository ``name`` alone; "" means all. Raises ``HistoryError`` where there is none of that name."""
    known = store.commits.repositories()
    found = [repository for repository in known if name in {"", repository.name}]
    if name and not found:
        names = ", ".join(repository.name for repository in known) or "none yet"
        raise HistoryError(f"there is no repository {name!r}", remedy=f"Known repositories: {names}.")
    return found


def parse_terms(store: Store, repositories: Sequence[Repository], text: str) -> Query:
    """Return the query that ``text`` means.

    Raises:
        QueryError: it cannot be read; where a word is the name of a benchmark or similar, the error says how to write
            it.
    """
    from knickpoint.model.query import parse_query

    try:
        return parse_query(text)
    except QueryError as error:
        meant = next(filter(None, (suggested_query(store, each, text) for each in repositories)), "")
        if not meant:
            raise
        raise QueryError(error.message, where=error.where, remedy=f"Did you mean {meant}?") from error


def owned_trace(store: Store, text: str) -> tuple[Repository, Trace]:
    """Return the trace that ``text`` means, and its repository.

    Raises:
        InputError: there is no such trace, or a query matches several.
    """
    found = find_trace(store, text)
    for repository in store.commits.repositories():
        if isinstance(found, str):
            traces = store.traces.find(repository, found)
            if traces:
                return repository, traces[0]
        elif store.traces.owners([found]).get(found) == repository.id:
            return repository, store.traces.get([found])[0]
    raise InputError(f"there is no trace {text!r}", remedy="List the traces with knick traces.")


# Read the change, or one of its change points, that a command is about.


_CHANGE: Final = re.compile(r"R?([0-9]{1,15})", re.IGNORECASE)
_FINDING: Final = re.compile(r"([RP])([0-9]{1,15})", re.IGNORECASE)


def read_change(text: str) -> int:
    """Return the id of a change. Raises ``InputError`` where ``text`` is none."""
    found = _CHANGE.fullmatch(text)
    if found is None:
        raise InputError(
            f"{text!r} is not an id of a change",
            where="CHANGE",
            remedy="Take it from knick changes, such as R12.",
        )
    return int(found[1])


def find_change_points(store: Store, text: str) -> list[ChangePoint]:
    """Return the members of the change ``R12``, the lead first, or the change point ``P34``; none for any other text.

    Raises:
        InputError: there is no such change or change point.
    """
    found = _FINDING.fullmatch(text)
    if found is None:
        return []
    if found[1] in "rR":
        return list(store.findings.change(int(found[2])).members)
    points = store.findings.points([int(found[2])])
    if not points:
        raise InputError(f"there is no change point {text}", remedy="Take it from knick changes, such as P34.")
    return points
