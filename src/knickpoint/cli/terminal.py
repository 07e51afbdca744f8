"""What a terminal shows: colours where it has them, text made harmless, how much is printed, and progress."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from enum import Enum
from types import TracebackType
from typing import Any, Final, Self, TextIO, cast

import click

# Print text from elsewhere on a terminal without letting it control the terminal.


_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that break a line of text, control the terminal, or turn the direction of writing."""


def without_control(text: str, *, keep: str = "") -> str:
    """Replace characters that break a line, control the terminal, or turn the direction of writing, except ``keep``."""
    return _CONTROL.sub(lambda found: found[0] if found[0] in keep else "�", text)


def plain_json(text: str) -> str:
    """Escape in JSON what would control the terminal; the data stay the same."""
    return _CONTROL.sub(lambda found: found[0] if found[0] in "\n\r\t" else f"\\u{ord(found[0]):04x}", text)


class TerminalText:
    """A stream to a terminal without control characters: no escape sequences, no marks that turn the text around.

    Whatever a command prints goes through it, so that no name from outside has to be cleaned where it is printed. What
    goes to a file or a pipe is left alone.
    """

    def __init__(self, output: TextIO) -> None:
        self.stream = output

    @classmethod
    def over(cls, output: TextIO) -> TextIO:
        """Return ``output``, cleaned where it is a terminal."""
        return cast("TextIO", cls(output)) if output.isatty() and not isinstance(output, cls) else output

    @classmethod
    def below(cls, output: TextIO) -> TextIO:
        """Return the terminal itself, for what draws on it."""
        return output.stream if isinstance(output, cls) else output

    def write(self, text: str) -> int:
        """Write ``text``; line ends and tabs stay."""
        return self.stream.write(without_control(text, keep="\n\t"))

    def __getattr__(self, name: str) -> Any:
        """Return everything else of the stream."""
        return getattr(self.stream, name)


# Colours of verdicts and states, where the output is a terminal that has them.


class Tone(Enum):
    """What a colour says; the value is the code of the colour in a control sequence (ECMA-48, SGR)."""

    BAD = "31"
    GOOD = "32"
    UNSURE = "33"
    PALE = "2"


_TONES: Final[Mapping[str, Tone]] = {
    "regressed": Tone.BAD,
    "regression": Tone.BAD,
    "failed": Tone.BAD,
    "vanished": Tone.BAD,
    "bad": Tone.BAD,
    "error": Tone.BAD,
    "refused": Tone.BAD,
    "improved": Tone.GOOD,
    "improvement": Tone.GOOD,
    "good": Tone.GOOD,
    "culprit": Tone.GOOD,
    "unstable": Tone.UNSURE,
    "warning": Tone.UNSURE,
    "provisional": Tone.UNSURE,
    "accepted": Tone.UNSURE,
    "unchanged": Tone.PALE,
    "no data": Tone.PALE,
    "hidden": Tone.PALE,
    "gone": Tone.PALE,
}
"""Verdict, state, direction or status → its tone; other words have none."""


def tone_of(word: str) -> Tone | None:
    """Return the tone of a verdict, state, direction or status, None for a word without one."""
    return _TONES.get(word)


def colours_allowed(stream: TextIO) -> bool:
    """Return True if ``stream`` gets colours.

    ``NO_COLOR`` forbids them (https://no-color.org), else ``FORCE_COLOR`` demands them; else a terminal has them,
    unless ``TERM`` is ``dumb``. An empty variable counts as none.
    """
    if os.environ.get("NO_COLOR"):
        return False
    forced = os.environ.get("FORCE_COLOR")
    if forced:
        return forced != "0"
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def painted(text: str, tone: Tone | None) -> str:
    """Return ``text`` in the colour of ``tone``; without one, ``text``."""
    return text if tone is None else f"\x1b[{tone.value}m{text}\x1b[0m"


# How much ``knick`` prints: the options ``--quiet`` and ``--verbose``, which every command has.


class Verbosity(Enum):
    """How much a command prints."""

    QUIET = "quiet"
    """Data and errors only."""

    NORMAL = "normal"
    VERBOSE = "verbose"
    """Every column and every number; an error says where in the program it arose."""


_CURRENT: Final[ContextVar[Verbosity]] = ContextVar("verbosity", default=Verbosity.NORMAL)


def verbosity() -> Verbosity:
    """Return the verbosity of the running command."""
    return _CURRENT.get()


def set_verbosity(chosen: Verbosity) -> None:
    """Set how much the command prints."""
    _CURRENT.set(chosen)


def note(text: str, *, err: bool = False) -> None:
    """Print what is not data: that a file was written, what to do next. With ``--quiet``, print nothing.

    What a program announces that runs until it is ended (a worker, the server, an agent) is its log, failures included,
    and stays.
    """
    if verbosity() is not Verbosity.QUIET:
        click.echo(text, err=err)


def announcer(*, err: bool = False) -> Callable[[str], None]:
    """Return a function that prints a line as :func:`note` does, from any thread: threads begin without the option."""
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


_WIDTH: Final = 30
_PATIENCE_SECONDS: Final = 1.0
_REFRESH_SECONDS: Final = 0.1


class Progress:
    """Draws ``label [#####     ] 12/40`` on standard error if that is a terminal.

    Call it with (done, total). It draws nothing in the first ``patience`` seconds, and clears its line at the end.
    """

    def __init__(self, label: str, stream: TextIO | None = None, patience: float = _PATIENCE_SECONDS) -> None:
        self._label = label
        self._stream = stream or TerminalText.below(sys.stderr)
        self._patience = patience
        self._terminal = self._stream.isatty() and verbosity() is not Verbosity.QUIET
        self._started = self._drawn = time.monotonic()
        self._visible = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._visible:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def __call__(self, done: int, total: int) -> None:
        """Draw that ``done`` of ``total`` are done."""
        now = time.monotonic()
        if not self._terminal or now - self._started < self._patience:
            return
        if done < total and now - self._drawn < _REFRESH_SECONDS and self._visible:
            return
        filled = _WIDTH * done // max(total, 1)
        bar = "#" * filled + " " * (_WIDTH - filled)
        self._stream.write(f"\r\x1b[K{self._label} [{bar}] {done}/{total}")
        self._stream.flush()
        self._drawn, self._visible = now, True
