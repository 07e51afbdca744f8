"""Ask the API of a forge with patience: a rate limit is waited for, a request that only reads is repeated."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from knickpoint.notify.channel import DeliveryError
from knickpoint.notify.exchange import RefusedError
from knickpoint.notify.trackers.rest import Rest

__all__ = ["PatientRest"]

_MOST_ATTEMPTS: Final = 4
_PAUSE_SECONDS: Final = 2.0
"""The first pause where the forge does not say how long to wait; each further one is twice as long."""


@dataclass(frozen=True, slots=True)
class PatientRest:
    """Requests that wait at most ``patience`` seconds in all for one answer.

    Attributes:
        rest: the API.
        patience: the longest wait for one request, in seconds. A job costs money while it waits.
        pause: waits for so many seconds.
    """

    rest: Rest
    patience: float = 120.0
    pause: Callable[[float], None] = time.sleep

    def ask(self, method: str, path: str, *, body: Mapping[str, object] | None = None) -> Any:
        """Send a request, and return the JSON of its answer.

        Raises:
            DeliveryError: the forge refuses, or asks to wait for longer than there is patience.
        """
        return self._repeated(lambda: self.rest.ask(method, path, body=body)[1], reads=method == "GET")

    def list(self, path: str, query: Mapping[str, str]) -> list[Any]:
        """Return all values of a list, from all of its pages; a page that fails begins the list again.

        Raises:
            DeliveryError: as for :meth:`ask`.
        """
        found: list[Any] = self._repeated(lambda: list(self._values(path, query)), reads=True)
        return found

    def _values(self, path: str, query: Mapping[str, str]) -> Iterator[Any]:
        for _, page in self.rest.pages(path, query):
            yield from page

    def _repeated(self, request: Callable[[], Any], *, reads: bool) -> Any:
        left = self.patience
        for attempt in range(_MOST_ATTEMPTS):
            try:
                return request()
            except DeliveryError as error:
                wait = error.wait_seconds or _PAUSE_SECONDS * 2**attempt
                if attempt + 1 == _MOST_ATTEMPTS or wait > left or not _may_repeat(error, reads=reads):
                    raise
                left -= wait
                self.pause(wait)
        raise AssertionError  # the last attempt returns or raises


def _may_repeat(error: DeliveryError, *, reads: bool) -> bool:
    """Return whether the same request may succeed later, and does nothing twice.

    A rate limit refuses before anything is done. What broke in the middle may be repeated where it only reads.
    """
    if error.wait_seconds and not error.unclear:
        return True
    if not reads or error.lasting:
        return False
    return not isinstance(error, RefusedError) or error.status >= 500 or error.status in {408, 429}
