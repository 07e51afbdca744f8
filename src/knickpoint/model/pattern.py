"""Match the regular expressions of queries with RE2, in time that is linear in the text for every pattern.

Queries come from everyone who can reach the server, and the matcher of the standard library needs exponential time for
some patterns; see ``docs/decisions/api.md``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from knickpoint.model.errors import QueryError

if TYPE_CHECKING:
    import re2

__all__ = ["Pattern", "compile_pattern"]

_LONGEST: Final = 1000
"""Characters of a pattern."""

_MEMORY: Final = 1 << 20
"""Bytes of a compiled pattern; RE2 refuses a larger one, or drops cached states."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression that may occur anywhere in a text."""

    text: str
    _engine: re2._Regexp

    def occurs_in_each(self, texts: Iterable[str]) -> list[bool]:
        """Return for each text whether the expression occurs in it."""
        search = self._engine.search
        return [search(text) is not None for text in texts]


@lru_cache(maxsize=256)
def compile_pattern(text: str) -> Pattern:
    """Compile a regular expression in the syntax of RE2: that of Python without backreferences and lookarounds.

    Raises:
        QueryError: it is invalid, needs an unsupported feature, or is too large.
    """
    import re2

    if len(text) > _LONGEST:
        raise QueryError(
            f"the regular expression {text[:20] + ' …'!r} has {len(text):,} characters",
            remedy=f"Use at most {_LONGEST:,}.",
        )
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY
    try:
        return Pattern(text, re2.compile(text, options))
    except re2.error as error:
        reason = (
            error.args[0].decode(errors="replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        )
    except UnicodeEncodeError:
        reason = "half a surrogate pair is no character"
    raise QueryError(
        f"{text!r} is not a regular expression: {reason}",
        remedy="Use the syntax of RE2: no references back, no looking around, at most 1,000 repetitions.",
    )
