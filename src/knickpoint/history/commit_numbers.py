"""Find the numbers of commits in their messages, in repositories that number their commits."""

from __future__ import annotations

import re
from dataclasses import dataclass

from knickpoint.model.errors import ConfigError

__all__ = ["NumberPattern"]


@dataclass(frozen=True, slots=True)
class NumberPattern:
    """A regular expression whose first group is the commit's number.

    The last match in a message counts: trailers are at its end, and a revert quotes the number of the reverted commit
    before that of the revert.
    """

    expression: re.Pattern[str]

    @classmethod
    def of(cls, text: str) -> NumberPattern:
        """Compile ``text``. Raises ``ConfigError`` where it is no expression or has not exactly one group."""
        try:
            expression = re.compile(text, re.MULTILINE)
        except re.error as error:
            raise ConfigError(
                f"{text!r} is not a regular expression: {error}", remedy=r"Write for example 'Position: (\d+)'."
            ) from error
        if expression.groups != 1:
            raise ConfigError(
                f"{text!r} has {expression.groups} groups instead of one",
                remedy=r"Put parentheses around the digits, as in 'Position: (\d+)'.",
            )
        return cls(expression)

    def find(self, message: str) -> int | None:
        """Return the number in ``message``, None where nothing matches or the match is not a number."""
        found = self.expression.findall(message)
        return int(found[-1]) if found and found[-1].isascii() and found[-1].isdigit() and len(found[-1]) < 19 else None
