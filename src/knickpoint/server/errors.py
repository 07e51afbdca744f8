"""The errors that only a server has; ``error_responses`` gives each its status code."""

from __future__ import annotations

from knickpoint.model.errors import InputError

__all__ = ["UnknownError"]


class UnknownError(InputError):
    """The address of a request names something that does not exist: 404."""
