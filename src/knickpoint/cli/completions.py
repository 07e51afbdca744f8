"""What a shell offers behind the cursor: names of an instance, where the working directory has one.

A parameter is completed by its name, so that no command has to say how. Nothing is printed and no error is shown: a
shell that waits for names gets none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

if TYPE_CHECKING:
    from knickpoint.instance import Instance

VARIABLE: Final = "_KNICK_COMPLETE"
"""The variable by which a shell asks for completions."""

_MOST: Final = 200
"""Names that are offered at a time."""

_BASH: Final = """\
%(complete_func)s() {
    local IFS=$'\\n' answer type value
    COMPREPLY=()
    answer=$(COMP_LINE="$COMP_LINE" COMP_POINT=$COMP_POINT %(complete_var)s=bash_complete "$1" 2>/dev/null)
    while IFS=, read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$value"); [[ $value == *= ]] && compopt -o nospace ;;
        esac
    done <<< "$answer"
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class _Bash(BashComplete):
    """Completion for bash, which takes ``=`` and ``:`` as ends of words: only what follows them is replaced."""

    source_template = _BASH

    def source(self) -> str:
        return self.source_template % self.source_vars()

    def get_completion_args(self) -> tuple[list[str], str]:
        import os

        before = os.environ["COMP_LINE"].encode()[: int(os.environ["COMP_POINT"])].decode(errors="ignore")
        words = split_arg_string(before)
        incomplete = words.pop() if len(words) > 1 and not before[-1:].isspace() else ""
        self._replaced = max(incomplete.rfind(mark) for mark in "=:") + 1
        return words[1:], incomplete

    def format_completion(self, item: CompletionItem) -> str:
        return f"{item.type},{item.value[self._replaced :]}"


def register_shells() -> None:
    """Have click use the completion for bash of this module."""
    add_completion_class(_Bash)


# Names


def _terms(opened: Instance, incomplete: str) -> Iterable[str]:
    """Return params and their values: ``benchmark=``, then ``benchmark=parse``; keys where a key begins."""
    from knickpoint.model.query import Query

    store, everything = opened.store, Query()
    name, sign, _ = incomplete.partition("=")
    for repository in store.commits.repositories():
        if incomplete.startswith(","):
            found = store.traces.select(repository, everything)[: 10 * _MOST]
            yield from (trace.key for trace in store.traces.get(found))
            continue
        facets = store.traces.facets(repository, everything)
        if sign:
            yield from (f"{name}={value}" for value in facets.get(name, ()))
        else:
            yield from (f"{each}=" for each in facets)


def _changes(opened: Instance, _incomplete: str) -> Iterable[str]:
    from knickpoint.store.findings.change_list import Sort
    from knickpoint.store.findings.selection import Selection

    for repository in opened.store.commits.repositories():
        listed = opened.store.findings.changes(
            repository, selection=Selection(), sort=Sort.FOUND, descending=True, limit=_MOST
        )
        yield from (f"R{each.id}" for each in listed)


def _pages(opened: Instance, incomplete: str) -> Iterable[str]:
    yield from _changes(opened, incomplete)
    yield from _terms(opened, incomplete)


def _alerts(opened: Instance, _incomplete: str) -> Iterable[str]:
    return (alert.name for alert in opened.alerts)


def _repositories(opened: Instance, _incomplete: str) -> Iterable[str]:
    return (repository.name for repository in opened.store.commits.repositories())


_NAMES: Final[Mapping[str, Callable[[Instance, str], Iterable[str]]]] = {
    "trace": _terms,
    "query": _terms,
    "query_text": _terms,
    "change": _changes,
    "what": _pages,
    "alert": _alerts,
    "alerts": _alerts,
    "names": _alerts,
    "repository": _repositories,
}
"""Parameter of a command → what an instance has for it."""


def _methods(_context: click.Context, incomplete: str) -> list[CompletionItem]:
    from knickpoint.detect import METHODS

    return [CompletionItem(name) for name in METHODS if name.startswith(incomplete)]


def _from_instance(
    names: Callable[[Instance, str], Iterable[str]],
) -> Callable[[click.Context, str], list[CompletionItem]]:
    def complete(context: click.Context, incomplete: str) -> list[CompletionItem]:
        from knickpoint.cli.options import open_chosen_instance

        try:
            with open_chosen_instance(context.params.get("instance")) as opened:
                found = sorted({name for name in names(opened, incomplete) if name.startswith(incomplete)})
        except Exception:  # noqa: BLE001  # whatever is wrong with the instance, the shell goes on
            return []
        return [CompletionItem(name) for name in found[:_MOST]]

    return complete


def add_completion(command: click.Command) -> click.Command:
    """Have the parameters of a command that name what an instance has completed from there."""
    for parameter in command.params:
        if parameter.name == "method":
            parameter.shell_complete = _methods  # type: ignore[method-assign, assignment]
        elif parameter.name in _NAMES and isinstance(parameter.type, click.types.StringParamType):
            parameter.shell_complete = _from_instance(_NAMES[parameter.name])  # type: ignore[method-assign, assignment]
    return command
