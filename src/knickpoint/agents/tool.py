"""What a tool is, and what it replies: one JSON text of bounded length, with text from outside marked as data.

A tool is a function with its input, the permission that it needs, and a description for who knows nothing of us. The
name of the function is that of the tool, its docstring the description, and its second parameter the input. It calls
the same functions as the API and the commands, and sees what its caller may see.

A reply has *facts*, one page of *items*, and *next*: the calls that lead on. Every text in it is marked with ``«`` and
``»``, unless it is :class:`Said`: names of benchmarks, subjects of commits and notes are other people's words, and a
commit whose subject gives orders must not look like Knickpoint. What is not marked are the names of fields, enums,
numbers, times, and what the tools say themselves.
"""

from __future__ import annotations

import inspect
import json
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from enum import Enum
from typing import Annotated, Any, Final, TypeVar, get_type_hints

from pydantic import BeforeValidator, Field, model_validator

from knickpoint.answers.base import TEXT_PATTERN, Answer, Text
from knickpoint.answers.commits import CommitAnswer
from knickpoint.answers.traces import TraceAnswer
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.instance import Instance
from knickpoint.model.access import Caller, Permission
from knickpoint.model.plain_text import plain_line
from knickpoint.model.quantity_text import percent_text

LONGEST: Final = 8_000
"""Characters of a reply."""

OPEN: Final = "«"
CLOSE: Final = "»"
_INNER_MARKS: Final = str.maketrans({OPEN: "‹", CLOSE: "›"})
_LENGTHS: Final = (300, 120, 40)
"""Characters of a text from outside; a shorter one where the reply would be too long otherwise."""

_DIGITS: Final = 6
_HASH: Final = re.compile(r"[0-9a-f]{7,64}")
_FRAME: Final = 200
"""Characters for what says how much of the list is shown, and how to get the rest."""
_INSTEAD: Final = {
    "/api/v1/changes": "list_changes",
    "/api/v1/traces": "find_traces",
    "/api/v1/bisections": "list_bisections",
    'say that it holds results with --as json, or by format = "json" of a recipe or sidecar': "add the commit to each row",
    "--partial": "partial=true",
}
"""What remedies and warnings name for people and scripts, and what a tool has instead."""


class Said(str):  # a text, and who speaks
    """Words of Knickpoint, which are not marked."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Page:
    """The items of a list from number ``first``, of ``total`` in all.

    ``rest`` says how to ask for what follows the given number of these items; by default, with ``first``. Where it is
    not known how many came before, ``total`` is None, and ``more`` says whether any follow.
    """

    name: str
    items: Sequence[Mapping[str, object]]
    first: int
    total: int | None
    more: bool = False
    rest: Callable[[int], str] | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a tool answers; ``next`` are calls that lead on, written as ``tool(argument=value)``.

    A ``picture`` is a PNG without texts from outside, which cannot be marked in it.
    """

    facts: Mapping[str, object] = field(default_factory=dict)
    page: Page | None = None
    next: Sequence[str] = ()
    picture: bytes = b""


def write_reply(reply: Reply, most: int = LONGEST) -> str:
    """Return ``reply`` as JSON of at most ``most`` characters, with as many items as there is room for."""
    for length in _LENGTHS:
        heads = [f'"{name}": {_json(value, length)}' for name, value in reply.facts.items() if not _is_empty(value)]
        tails = [f'"next": {_json([Said(call) for call in reply.next], length)}'] if reply.next else []
        room = most - sum(len(part) + 2 for part in [*heads, *tails]) - _FRAME
        page = reply.page
        if page is None:
            if room >= 0:
                return _joined([*heads, *tails])
            continue
        lines = [_json(item, length) for item in page.items]
        shown = _fitting(lines, room)
        if room >= 0 and (shown or not lines):
            return _joined([*heads, *_list(page, lines[:shown]), *tails])
    raise AssertionError(f"the facts {', '.join(reply.facts)} take more than {most} characters")


def _fitting(lines: Sequence[str], room: int) -> int:
    """Return the number of ``lines`` that fit into ``room`` characters."""
    for number, line in enumerate(lines):
        room -= len(line) + 2
        if room < 0:
            return number
    return len(lines)


def _list(page: Page, lines: Sequence[str]) -> list[str]:
    """Return the entries about a list: its items, how many of how many they are, and how to get the rest."""
    end = page.first + len(lines)
    count = f"{page.first + 1} to {end} of {page.total}" if lines else f"none of {page.total or 0}"
    more = page.more or len(lines) < len(page.items)
    if page.total is None:
        count = f"{len(lines)} further"
    else:
        more = end < page.total
    parts = [f'"{page.name}": [' + ",\n".join(["", *lines]).lstrip(",") + "]", f'"shown": "{count}"']
    if lines and more:
        way = page.rest(len(lines)) if page.rest else f"first={end}"
        parts.append(f'"rest": {_json(Said(f"Call the same tool with the same arguments and {way}."), 0)}')
    return parts


def _joined(parts: Sequence[str]) -> str:
    return "{" + ",\n".join(parts) + "}"


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str | Sequence | Mapping) and not len(value))


def _json(value: object, length: int) -> str:
    return json.dumps(_plain(value, length), ensure_ascii=False)


def _plain(value: object, length: int) -> object:  # noqa: PLR0911  # one return a kind of value
    """Return ``value`` as JSON has it; texts from outside are marked, and cut to ``length``."""
    if isinstance(value, Said):
        return str(value)
    if isinstance(value, str):
        return marked(value, length)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {
            (name.value if isinstance(name, Enum) else name): _plain(each, length)
            for name, each in value.items()
            if not _is_empty(each)
        }
    return [_plain(each, length) for each in value] if isinstance(value, Sequence) else value


def marked(text: str, length: int = _LENGTHS[0]) -> str:
    """Return a text from outside on one line, between marks that it cannot contain itself."""
    return f"{OPEN}{plain_line(text.translate(_INNER_MARKS), length)}{CLOSE}"


def for_agent(text: str) -> str:
    """Name tools and arguments in a remedy or warning, instead of what commands and scripts have."""
    for words, instead in _INSTEAD.items():
        text = text.replace(words, instead)
    return text


def unmarked(text: str) -> str:
    """Return ``text`` without the marks around it: agents send texts back as they got them."""
    return text[1:-1] if text.startswith(OPEN) and text.endswith(CLOSE) else text


# What several tools say in the same way.


def percent(share: float | None) -> Said | None:
    """Return a share as ``+12.3 %``, None where it is not known."""
    return Said(f"{100 * share:+.3g} %") if share is not None and math.isfinite(share) else None


def share_text(share: float | None) -> Said | None:
    """Return a probability or a size without a direction as ``1 %``, None where it is not known."""
    return Said(percent_text(share)) if share is not None and math.isfinite(share) else None


def hash_text(text: str) -> str:
    """Return the id of a commit: a hash needs no marks, and what other systems have as an id keeps them."""
    return Said(text) if _HASH.fullmatch(text) else text


def commit_facts(commit: CommitAnswer) -> dict[str, object]:
    """Describe a commit."""
    return {
        "hash": hash_text(commit.short),
        "subject": commit.subject,
        "author": commit.author,
        "time": commit.time,
        "position": commit.position,
    }


def trace_facts(trace: TraceAnswer) -> dict[str, object]:
    """Describe a trace."""
    return {"trace": trace.id, "key": trace.key, "unit": trace.unit, "better": trace.better}


def call(tool: str, **arguments: object) -> str:
    """Write a call of a tool: ``explain_change(change='R1')``."""
    return f"{tool}({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"


@dataclass(frozen=True, slots=True)
class Session:
    """Who uses the tools, and of what.

    ``local`` says that the agent runs on this machine under the same user, so that a tool may read a file for it.
    """

    instance: Instance
    visible: VisibleRepositories
    local: bool = False

    def may(self, permission: Permission) -> bool:
        """Return True if the caller has ``permission`` for at least one repository."""
        return self.visible.caller.grants.allow_somewhere(permission)


class Request(Answer):
    """The input of a tool. An unknown argument is refused; marks around a text are taken off."""

    @model_validator(mode="before")
    @classmethod
    def _without_marks(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        return {name: unmarked(each) if isinstance(each, str) else each for name, each in value.items()}


_ANY_NUMBER: Final = 10_000_000

READ_ONLY: Final = frozenset({Permission.READ})


def begin_session(
    instance: Instance, caller: Caller, allowed: Collection[Permission] = READ_ONLY, *, local: bool = False
) -> Session:
    """Return the session of ``caller``, who may do what the grants and ``allowed`` both have."""
    caller = replace(caller, grants=caller.grants.only({Permission.READ, *allowed}))
    visible = VisibleRepositories(instance.store, caller, instance.config.access.public_profiles)
    return Session(instance, visible, local)


def _unmarked_entry(value: object) -> object:
    return unmarked(value) if isinstance(value, str) else value


Entry = Annotated[Text, BeforeValidator(_unmarked_entry)]
"""A text in a list."""

RepositoryName = Annotated[
    Text, Field(max_length=1000, description="Name of the repository; optional where there is only one.")
]
LineName = Annotated[
    Text, Field(max_length=1000, description="Name of the line, which is a branch. Default: the main line.")
]
First = Annotated[int, Field(ge=0, le=10_000_000, description="Number of the first listed item, counted from 0.")]

_Asked = TypeVar("_Asked", bound=Request)


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that agents may call."""

    name: str
    description: str
    request: type[Request]
    permission: Permission
    run: Callable[[Session, Any], Reply]

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the input, without what costs an agent tokens and tells it nothing."""
        schema = _shortened(self.request.model_json_schema())
        for each in [schema, *schema.get("$defs", {}).values()]:
            each.pop("description", None)
        return schema


def _shortened(schema: dict[str, Any]) -> dict[str, Any]:
    """Leave titles out, empty defaults, bounds of millions, null, and the pattern that only excludes NUL."""
    choices = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(choices) == 1:
        schema = {**choices[0], **{name: each for name, each in schema.items() if name != "anyOf"}}
    return {
        name: _shortened(each) if isinstance(each, dict) else each
        for name, each in schema.items()
        if not (name == "title" and isinstance(each, str))
        and not (name == "default" and (each is None or each == ""))
        and not (name == "maximum" and isinstance(each, int) and each >= _ANY_NUMBER)
        and each != TEXT_PATTERN
    }


def tool(permission: Permission = Permission.READ) -> Callable[[Callable[[Session, _Asked], Reply]], Tool]:
    """Make a tool of a function."""

    def make(function: Callable[[Session, _Asked], Reply]) -> Tool:
        request = get_type_hints(function)["asked"]
        assert issubclass(request, Request)
        assert function.__doc__, f"{function.__name__} has no description"
        described = inspect.cleandoc(function.__doc__)
        return Tool(function.__name__, described, request, permission, function)

    return make
