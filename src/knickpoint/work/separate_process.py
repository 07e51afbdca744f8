"""Call functions in processes of their own, which stay for the next call and can be ended in the middle of one."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Any, Final, ParamSpec, TypeVar

from knickpoint.budget import check_time
from knickpoint.model.errors import ServiceError

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

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
