"""``knick completion``: print or install the completion of commands, options and names for a shell.

Behind the cursor a shell offers names of an instance, where the working directory has one. A parameter is completed by
its name, so that no command has to say how. Nothing is printed and no error is shown: a shell that waits for names gets
none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class, split_arg_string

from knickpoint.cli.terminal import note
from knickpoint.model.errors import ServiceError

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


_HINTS: Final = {
    "bash": "New shells load it if the package bash-completion is installed; otherwise add to ~/.bashrc: source {file}",
    "zsh": "Add to ~/.zshrc, before compinit: fpath=({directory} $fpath)",
    "fish": "New shells load it.",
}
"""Shell → what else its user does."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.option("--install", is_flag=True, help="Install the script in the shell's completion directory.")
def command(shell: str, *, install: bool) -> None:
    """Print the completion script for SHELL: commands, options, and the names of an instance.

    To try it in bash: eval "$(knick completion bash)". With --install it goes to your home directory.
    """
    script = _script(shell)
    if not install:
        click.echo(script, nl=False)
        return
    file = _place(shell)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(script)
    except OSError as error:
        raise ServiceError(
            f"cannot be written: {error.strerror}",
            where=str(file),
            remedy=f"Write it elsewhere: knick completion {shell} > FILE.",
        ) from error
    note(f"Wrote {file}. {_HINTS[shell].format(file=file, directory=file.parent)}")


def _script(shell: str) -> str:
    from click.shell_completion import get_completion_class

    register_shells()
    program = click.get_current_context().find_root().command
    kind = get_completion_class(shell)
    assert kind is not None
    return kind(program, {}, "knick", VARIABLE).source().strip() + "\n"


def _place(shell: str) -> Path:
    """Return the file that a shell reads when it completes knick for the first time."""
    home = Path.home()
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    if shell == "bash":
        own = os.environ.get("BASH_COMPLETION_USER_DIR")
        return (Path(own) if own else data / "bash-completion") / "completions" / "knick"
    if shell == "zsh":
        return data / "zsh" / "site-functions" / "_knick"
    return Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "fish" / "completions" / "knick.fish"
