"""Free words of a query, which any param may contain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from knickpoint.model.query_tokens import quoted

__all__ = ["FreeWord"]


@dataclass(frozen=True, slots=True, order=True)
class FreeWord:
    """A text that the value of some param contains, or of none if it is ``refused``; upper and lower case are alike."""

    text: str
    refused: bool = False

    def occurs_in_each(self, values: Sequence[str]) -> list[bool]:
        """Return for each of ``values`` whether it contains the text."""
        text = self.text.lower()
        return [text in value.lower() for value in values]

    def accepts(self, params: Mapping[str, str]) -> bool:
        """Return whether a trace with these ``params`` passes."""
        return any(self.occurs_in_each([*params.values()])) != self.refused

    def __str__(self) -> str:
        """Render in words."""
        return "-" * self.refused + quoted(self.text, always=self.text.startswith("-"))
