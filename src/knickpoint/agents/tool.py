"""What a tool is: a function with its input, the permission that it needs, and a description for who knows nothing of us.

The name of the function is that of the tool, its docstring the description, and its second parameter the input. A tool
calls the same functions as the API and the commands, and sees what its caller may see.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, TypeVar, get_type_hints

from pydantic import BeforeValidator, Field, model_validator

from knickpoint.agents.reply import Reply, unmarked
from knickpoint.answers.base import TEXT_PATTERN, Answer, Text
from knickpoint.answers.visible_repositories import VisibleRepositories
from knickpoint.instance import Instance
from knickpoint.model.access import Caller, Permission


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
