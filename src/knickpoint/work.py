"""Map over shards of traces: in this process, in local processes, or on a Dask cluster; call in separate processes."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Final, ParamSpec, Protocol, Self, TypeVar

from knickpoint.budget import check_time
from knickpoint.model.errors import InputError, ServiceError

Item = TypeVar("Item")
Result = TypeVar("Result")


class Place(Enum):
    """Where the calls of a runner take place, and so what they can read."""

    HERE = "in this process"
    THIS_MACHINE = "in other processes of this machine, which read the same files"
    CLUSTER = "on other machines, which may reach the same servers"


class Runner(Protocol):
    """Apply a function to items, in this process or elsewhere.

    The results come in the order of the items, whichever is ready first. A runner takes items as it needs
    them, so that a stream of blocks never has to be in memory as a whole. An error of the function
    reaches the caller as it is. Where work leaves the process, the function is defined at the top level of a module,
    and items and results can be pickled.

    Attributes:
        unread: why the values of the newest detection had to be sent to its workers, although they might have read them
            from the store; empty where they read them, or nothing leaves this process. Who detects sets it.
    """

    unread: str

    @property
    def cores(self) -> int:
        """How many cores one call of a function may use, 0 for all."""
        ...

    @property
    def place(self) -> Place:
        """Where the calls take place."""
        ...

    def connect(self) -> None:
        """Make sure that work can begin; nothing has to be done before :meth:`map`, which does the same.

        Raises:
            ServiceError: who does the work does not answer.
        """
        ...

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for each item, in order."""
        ...

    def close(self) -> None:
        """Release the processes or connections of the runner."""
        ...


class Serial:
    """Work on one item after the other in this process; one call of a function may use every core."""

    cores = 0
    place: Final = Place.HERE
    unread = ""

    def connect(self) -> None:
        """Do nothing: this process is there."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for each item, in order."""
        return map(function, items)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""


# Keep a bounded number of calls under way, and yield their results in the order of the items.
#
# So the values of a large store never have to be in memory as a whole, and all workers have something to do.


Result_co = TypeVar("Result_co", covariant=True)


class PendingCall(Protocol[Result_co]):
    """A call under way: a future of any kind."""

    def result(self) -> Result_co:
        """Wait for the call and return what it returned, or raise what it raised."""
        ...

    def cancel(self) -> object:
        """Do not start the call if it has not begun."""
        ...


def results_in_order(
    submit: Callable[[Item], PendingCall[Result]], items: Iterable[Item], *, at_once: int
) -> Iterator[Result]:
    """Submit ``items``, at most ``at_once`` of them under way, and yield the results in their order.

    When the caller stops early or a call fails, what has not begun is cancelled.
    """
    under_way: deque[PendingCall[Result]] = deque()
    try:
        for item in items:
            under_way.append(submit(item))
            if len(under_way) >= at_once:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
    finally:
        for pending in under_way:
            pending.cancel()


# Map over items in processes of this machine.


class Processes:
    """Hold a pool of ``workers`` processes, started at the first use and kept until :meth:`close`.

    Each call has one core. Use it as a context manager; a script that does so from its top level needs the
    usual ``if __name__ == "__main__":``.
    """

    cores = 1
    place: Final = Place.THIS_MACHINE
    unread = ""

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise InputError(f"{workers} processes cannot do anything", remedy="Give 1 or more, or none for all cores.")
        self.workers = workers or len(os.sched_getaffinity(0))
        self._pool: ProcessPoolExecutor | None = None

    def connect(self) -> None:
        """Do nothing: processes are started at the first use."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for each item, in order; two items a process are under way at most.

        Raises:
            ServiceError: a process was killed, as by a system that is out of memory. The next call starts new ones.
        """
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, mp_context=context)
        pool = self._pool

        def submit(item: Item) -> Future[Result]:
            return pool.submit(function, item)

        try:
            yield from results_in_order(submit, items, at_once=2 * self.workers)
        except BrokenProcessPool as error:
            self.close()
            raise ServiceError(
                "a process ended while it worked",
                where=f"{self.workers} processes of this machine",
                remedy="Check whether the memory suffices, and give fewer processes.",
            ) from error

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def __enter__(self) -> Self:
        """Return the runner."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the processes."""
        self.close()


CONNECT_SECONDS: Final = 10.0
"""How long to wait for a scheduler that does not answer."""


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
                remedy="Check that its scheduler and workers run; the work restarts by itself.",
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


Parameters = ParamSpec("Parameters")

_LOOK_SECONDS: Final = 0.05
"""How often a caller that waits looks whether its time is up, or its client is gone."""


class ProcessEndedError(ServiceError):
    """The process that made a call was ended before it returned."""


@dataclass(frozen=True, eq=False, slots=True)
class _Worker:
    """A process, and the connection over which it takes calls and answers them."""

    process: ForkServerProcess
    connection: Connection[Any, Any]

    def end(self) -> None:
        """End the process in the middle of whatever it does."""
        self.process.kill()
        self.process.join()
        self.connection.close()


class SeparateProcesses:
    """Processes that make one call at a time each, for as many threads as call at once.

    ``kept`` of them stay for later calls.

    They are forked from a server process that has the modules of ``preload`` in memory, so that one starts in some
    hundredths of a second. They end with the process that started them, however that ends. What is called, and what it
    returns, is pickled.
    """

    def __init__(self, preload: Sequence[str] = (), *, kept: int = 1) -> None:
        self._preload = list(preload)
        self._kept = kept
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._closed = False

    def call(
        self, function: Callable[Parameters, Result], *arguments: Parameters.args, **named: Parameters.kwargs
    ) -> Result:
        """Return the result of ``function`` there, or raise its error.

        Where the time of the present request is up, or its client is gone, the process is ended at once.

        Raises:
            AbandonedError: nobody waits for the result.
            DeadlineError: the time is up.
            ProcessEndedError: the process was ended, as by a system that is out of memory, or by :meth:`close`.
        """
        return self._call((function, arguments, named), self._kept)  # type: ignore[no-any-return]

    def call_once(
        self, function: Callable[Parameters, Result], *arguments: Parameters.args, **named: Parameters.kwargs
    ) -> Result:
        """Do the same in a process that ends with the call, so that its memory goes back to the system."""
        return self._call((function, arguments, named), 0)  # type: ignore[no-any-return]

    def close(self) -> None:
        """End all processes, and with them the calls that are under way."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for worker in self._busy:
                worker.process.kill()  # its caller notices, and closes the connection
        for worker in idle:
            worker.end()
        atexit.unregister(self.close)

    def _call(self, call: tuple[Callable[..., Any], Sequence[object], dict[str, Any]], kept: int) -> Any:
        worker = self._take()
        answered = False
        try:
            worker.connection.send(call)
            while not worker.connection.poll(_LOOK_SECONDS):
                check_time()
            done, outcome = worker.connection.recv()
            answered = True
        except (EOFError, OSError) as error:
            raise _ended() from error
        finally:
            self._give_back(worker, kept if answered else 0)
        if not done:
            raise outcome
        return outcome

    def _take(self) -> _Worker:
        """Return a process without work, a new one where there is none."""
        with self._lock:
            worker = self._idle.pop() if self._idle else None
        if worker is not None and not worker.process.is_alive():
            worker.end()
            worker = None
        worker = worker or self._start()
        with self._lock:
            if not self._closed:
                self._busy.add(worker)
                return worker
        worker.end()
        raise _ended()

    def _start(self) -> _Worker:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(self._preload)  # counts for the first process of all only
        own, other = context.Pipe()
        process = context.Process(target=_answer_calls, args=(other,), name="knickpoint-call")
        process.start()
        other.close()
        atexit.register(self.close)  # before multiprocessing waits for the processes that it started
        return _Worker(process, own)

    def _give_back(self, worker: _Worker, kept: int) -> None:
        """Keep a process for the next call, or end it where there are enough."""
        with self._lock:
            self._busy.discard(worker)
            if not self._closed and len(self._idle) < kept:
                self._idle.append(worker)
                return
        worker.end()


def _ended() -> ProcessEndedError:
    return ProcessEndedError(
        "the process that worked on it was ended",
        remedy="Check whether the memory of the server suffices, then try again.",
    )


def _answer_calls(connection: Connection[Any, Any]) -> None:
    """Make the calls that arrive, one after the other, until the other end is closed."""
    _follow_parent()
    with suppress(EOFError):
        while True:
            function, arguments, named = connection.recv()
            try:
                outcome = True, function(*arguments, **named)
            except Exception as error:  # noqa: BLE001 - it is raised again where the call came from
                outcome = False, error
            connection.send(outcome)


def _follow_parent() -> None:
    """Let the process that started this one decide when it ends, and end when that one is gone.

    Ctrl-C and a service manager signal both processes, while the first one still finishes what it has begun.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
