"""How much ``knick`` prints: the options ``--quiet`` and ``--verbose``, which every command has."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from enum import Enum
from typing import Any, Final

import click

__all__ = ["Verbosity", "add_verbosity", "announcer", "note", "set_verbosity", "verbosity", "verbosity_options"]


class Verbosity(Enum):
    """How much a command prints."""

    QUIET = "quiet"
    """Data and errors only."""

    NORMAL = "normal"
    VERBOSE = "verbose"
    """Every column and every number; an error says where in the program it arose."""


_CURRENT: Final[ContextVar[Verbosity]] = ContextVar("verbosity", default=Verbosity.NORMAL)


def verbosity() -> Verbosity:
    """Return how much the running command prints."""
    return _CURRENT.get()


def set_verbosity(chosen: Verbosity) -> None:
    """Set how much the command prints."""
    _CURRENT.set(chosen)


def note(text: str, *, err: bool = False) -> None:
    """Print what is no data: that a file was written, what to do next. With ``--quiet``, print nothing.

    What a program announces that runs until it is ended (a worker, the server, an agent) is its log, failures included, and
    stays.
    """
    if verbosity() is not Verbosity.QUIET:
        click.echo(text, err=err)


def announcer(*, err: bool = False) -> Callable[[str], None]:
    """Return what prints a line as :func:`note` does, from any thread: threads begin without the option of the command."""
    quiet = verbosity() is Verbosity.QUIET

    def announce(text: str) -> None:
        if not quiet:
            click.echo(text, err=err)

    return announce


def _choose(_context: click.Context, parameter: click.Parameter, given: Any) -> None:
    if given:
        set_verbosity(Verbosity(parameter.name))


def verbosity_options(*, hidden: bool) -> list[click.Option]:
    """Return the options; the help of ``knick`` shows them, and that of each command leaves them out (``hidden``)."""
    shared: dict[str, Any] = {"is_flag": True, "expose_value": False, "callback": _choose, "hidden": hidden}
    return [
        click.Option(["-q", "--quiet"], help="Print data and errors only.", **shared),
        click.Option(["-v", "--verbose"], help="Print every column and every number.", **shared),
    ]


def add_verbosity(command: click.Command) -> click.Command:
    """Add the options to a command where it has none of these names, so that they may stand behind its name, too."""
    taken = {name for parameter in command.params for name in parameter.opts}
    command.params += [option for option in verbosity_options(hidden=True) if taken.isdisjoint(option.opts)]
    return command
