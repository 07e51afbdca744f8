"""Map over items on the machines of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Self, TypeVar

from knickpoint.model.errors import ServiceError
from knickpoint.work.bounded_calls import results_in_order

__all__ = ["Dask"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class Dask:
    """Send calls to the scheduler at ``address``, as in ``tcp://host:8786``; each call has one core.

    The workers need the same version of Knickpoint.
    """

    cores = 1

    def __init__(self, address: str, *, timeout: float = 10.0) -> None:
        self.address = address
        self._timeout = timeout
        self._client: Any = None

    def _connected(self) -> Any:
        if self._client is not None:
            return self._client
        try:
            from distributed import Client
        except ImportError as error:
            raise ServiceError(
                "Dask is not installed",
                where=self.address,
                remedy='Install it with: pip install "knickpoint[cluster]".',
            ) from error
        try:
            client: Any = Client
            self._client = client(self.address, timeout=self._timeout, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ServiceError(
                f"the Dask scheduler does not answer ({error})",
                where=self.address,
                remedy="Start it with dask-scheduler, or correct the address.",
            ) from error
        return self._client

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for each item, in order; three items a worker are under way at most."""
        client = self._connected()

        def submit(item: Item) -> Any:
            return client.submit(function, item, pure=False)

        return results_in_order(submit, items, at_once=3 * max(1, len(client.ncores())))

    def close(self) -> None:
        """Close the connection to the scheduler."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def __enter__(self) -> Self:
        """Return the runner."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.close()
