"""Map over items on the machines of a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from knickpoint.model.errors import ServiceError
from knickpoint.work.runner import Place, results_in_order

CONNECT_SECONDS: Final = 10.0
"""How long to wait for a scheduler that does not answer."""

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Encryption:
    """The files (PEM) with which this program and a cluster prove to each other who they are."""

    certificate: Path
    private_key: Path
    authorities: Path


class Dask:
    """Send calls to the scheduler at ``address``, as in ``tls://host:8786``; each call has one core.

    A connection that was lost is made anew at the next use. The workers need the same version of Knickpoint.
    """

    cores = 1
    place: Final = Place.CLUSTER
    unread = ""

    def __init__(self, address: str, *, encryption: Encryption | None = None) -> None:
        self.address = address
        self._encryption = encryption
        self._client: Any = None

    def _connected(self) -> Any:
        if self._client is not None and self._client.status == "running":
            return self._client
        self.close()
        try:
            from distributed import Client, Security
        except ImportError as error:
            raise ServiceError(
                "Dask is not installed",
                where=self.address,
                remedy='Install it with: pip install "knickpoint[cluster]".',
            ) from error
        try:
            client: Any = Client
            security = self._security(Security)
            self._client = client(self.address, timeout=CONNECT_SECONDS, set_as_default=False, security=security)
        except (OSError, ValueError) as error:
            raise ServiceError(
                f"the Dask scheduler does not answer ({error})",
                where=self.address,
                remedy="Start it with dask-scheduler, or correct the address.",
            ) from error
        return self._client

    def _security(self, kind: Any) -> Any:
        if self._encryption is None:
            return None
        return kind(
            require_encryption=True,
            tls_ca_file=str(self._encryption.authorities),
            tls_client_cert=str(self._encryption.certificate),
            tls_client_key=str(self._encryption.private_key),
        )

    def connect(self) -> None:
        """Connect to the scheduler, if that is not so.

        Raises:
            ServiceError: Dask is not installed, or the scheduler does not answer.
        """
        self._connected()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for each item, in order; three items a worker are under way at most.

        Raises:
            ServiceError: Dask is not installed, the scheduler does not answer, or the cluster was lost on the way.
        """
        client = self._connected()
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker

        def submit(item: Item) -> Any:
            return client.submit(function, item, pure=False)

        try:
            yield from results_in_order(submit, items, at_once=3 * max(1, len(client.ncores())))
        except (CommClosedError, FutureCancelledError, KilledWorker) as error:
            raise ServiceError(
                f"the Dask cluster was lost ({error})",
                where=self.address,
                remedy="Check that its scheduler and workers run; the work begins again by itself.",
            ) from error

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
