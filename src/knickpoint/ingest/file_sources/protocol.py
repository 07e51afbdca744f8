"""What an import asks of a place that holds results files, whether a folder or a bucket."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

__all__ = ["FileSource"]


class FileSource(Protocol):
    """Named files somewhere."""

    def listing(self) -> Mapping[str, str]:
        """Return name → a text that changes when the file does.

        Raises:
            ServiceError: the files cannot be listed.
        """

    def may_still_change(self, version: str) -> bool:
        """Return whether a file that :meth:`listing` maps to ``version`` may still be being written."""

    def read(self, name: str, limit: int) -> bytes | None:
        """Return at most ``limit`` bytes of a file, None where there is none.

        Raises:
            InputError: the file cannot be read.
            ServiceError: the source does not answer.
        """

    def address(self, name: str) -> str:
        """Return the path or URL that names the file among those of all sources."""
