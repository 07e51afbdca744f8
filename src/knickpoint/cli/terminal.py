"""Print text from elsewhere on a terminal without letting it control the terminal."""

from __future__ import annotations

import re
from typing import Any, Final, TextIO, cast

__all__ = ["TerminalText", "plain_json", "without_control"]

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that break a line of text, control the terminal, or turn the direction of writing."""


def without_control(text: str, *, keep: str = "") -> str:
    """Replace the characters that break a line, control the terminal, or turn the direction of writing, but for ``keep``."""
    return _CONTROL.sub(lambda found: found[0] if found[0] in keep else "�", text)


def plain_json(text: str) -> str:
    """Escape in JSON what would control the terminal; the data stay the same."""
    return _CONTROL.sub(lambda found: found[0] if found[0] in "\n\r\t" else f"\\u{ord(found[0]):04x}", text)


class TerminalText:
    """A stream to a terminal, without what would control it: escape sequences, and marks that turn the direction of writing.

    Whatever a command prints goes through it, so that no name from outside has to be cleaned where it is printed. What goes
    to a file or a pipe is left alone.
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
