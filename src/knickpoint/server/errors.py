"""The errors that only a server has; ``error_responses`` gives each its status code."""

from __future__ import annotations

from knickpoint.model.errors import InputError, KnickpointError

__all__ = ["BacklogError", "OverloadedError", "TooManyRequestsError", "UnknownError"]


class UnknownError(InputError):
    """The address of a request names something that does not exist: 404."""


class _LaterError(KnickpointError):
    """The request may be sent again after some ``seconds``."""

    def __init__(self, message: str, *, where: str = "", remedy: str = "", seconds: float = 1.0) -> None:
        super().__init__(message, where=where, remedy=remedy)
        self.seconds = seconds


class TooManyRequestsError(_LaterError):
    """A caller sends too many requests, or too many at the same time: 429."""


class BacklogError(TooManyRequestsError):
    """More uploads wait than the server takes, whoever sent them."""


class OverloadedError(_LaterError):
    """All callers together ask for too much at the same time: 503."""
