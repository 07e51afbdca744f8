"""Print why a command failed: one line that names the command, what was wrong, and what to do."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import Final

import click

from knickpoint.cli.colours import Tone, colours_allowed, painted
from knickpoint.cli.suggestions import did_you_mean
from knickpoint.cli.terminal import TerminalText, without_control
from knickpoint.cli.verbosity import Verbosity, verbosity
from knickpoint.model.renamed import new_name

__all__ = ["print_failure", "print_refusal", "refusal_text"]

_PROGRAM: Final = "knick"
_QUERY_WITH_MINUS: Final = "A query that begins with - stands after --."


def print_failure(lines: Sequence[str], *, program: str = _PROGRAM) -> None:
    """Print the lines of an error on standard error, behind the name of the program; with --verbose, its traceback first."""
    if verbosity() is Verbosity.VERBOSE and sys.exc_info()[0] is not None:
        traceback.print_exc()
    clean = "\n".join(without_control(line) for line in lines)
    name = painted(f"{program}:", Tone.BAD if colours_allowed(sys.stderr) else None)
    TerminalText.below(sys.stderr).write(f"{name} {clean}\n")


def print_refusal(refused: click.ClickException) -> None:
    """Print why the command line cannot be used, and how the command is used."""
    context = refused.ctx if isinstance(refused, click.UsageError) else None
    lines = [refusal_text(refused)]
    if context is not None:
        usage = " ".join(context.get_usage().split()).removeprefix("Usage: ")
        lines.append(f"usage: {usage}; {context.command_path} --help explains it")
    print_failure(lines, program=context.command_path if context else _PROGRAM)


def refusal_text(refused: click.ClickException) -> str:
    """Return what is wrong with the command line, with a suggestion for a mistyped command or option."""
    if isinstance(refused, click.NoSuchOption):
        given = refused.option_name
        query = _QUERY_WITH_MINUS if not given.startswith("--") and _takes_query(refused.ctx) else ""
        return f"there is no option {given}. {_meant(given, _options(refused.ctx)) or query}".rstrip()
    given = getattr(refused, "command_name", "")
    if given and isinstance(refused, click.UsageError):
        return f"there is no command {given!r}. {_meant(given, _commands(refused.ctx))}".rstrip()
    message = refused.format_message()
    return message[:1].lower() + message[1:]


def _meant(given: str, known: list[str]) -> str:
    """Say what a word that is not known may mean, or what it is called now."""
    new = new_name(given, known)
    return f"It is called {new} now." if new else did_you_mean(given, known)


def _takes_query(context: click.Context | None) -> bool:
    parameters = context.command.get_params(context) if context else ()
    return any(isinstance(parameter, click.Argument) and parameter.name == "query" for parameter in parameters)


def _options(context: click.Context | None) -> list[str]:
    parameters = context.command.get_params(context) if context else ()
    return [
        name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts) if name[:1] == "-"
    ]


def _commands(context: click.Context | None) -> list[str]:
    return context.command.list_commands(context) if context and isinstance(context.command, click.Group) else []
