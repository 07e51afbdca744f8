"""Name the error of an address that leads to nothing."""

from __future__ import annotations

from knickpoint.model.errors import InputError

__all__ = ["UnknownError"]


class UnknownError(InputError):
    """What an address names does not exist."""
