"""Bound what one request may cost: the seconds that it works, and the values that it reads at a time; or abandon it.

The server gives each request a :class:`Budget`. Whatever works for the request calls :func:`check_time` between blocks
of work, and :func:`check_values` before it reads a matrix. The budget is a context variable: no function between the
request and the store passes it on, and each thread sees that of its own request. Commands and workers have none, so
that both functions let them pass. See ``docs/decisions/limits-and-outgoing-addresses.md``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Event

from knickpoint.model.errors import AbandonedError, DeadlineError, InputError


@dataclass(frozen=True, slots=True)
class Budget:
    """What one request may cost.

    Attributes:
        seconds: how long it may work.
        values: values (traces times commits) that it may read at a time.
        deadline: when its time is up, by the monotonic clock.
        abandoned: set when the client no longer waits for the answer.
    """

    seconds: float
    values: int
    deadline: float
    abandoned: Event = field(default_factory=Event, compare=False)

    @classmethod
    def begin(cls, seconds: float, values: int) -> Budget:
        """Return a budget whose time begins now."""
        return cls(seconds, values, time.monotonic() + seconds)


_BUDGET: ContextVar[Budget | None] = ContextVar("budget", default=None)


@contextmanager
def spending(budget: Budget | None) -> Iterator[None]:
    """Let all work within a ``with`` count against ``budget``; None sets no bound."""
    token = _BUDGET.set(budget)
    try:
        yield
    finally:
        _BUDGET.reset(token)


def abandon() -> None:
    """Let the work of the present request end at its next :func:`check_time`, in whichever thread it is."""
    budget = _BUDGET.get()
    if budget is not None:
        budget.abandoned.set()


def remaining_seconds() -> float | None:
    """Return the seconds that the present request may still work, at least 0; None without a budget."""
    budget = _BUDGET.get()
    return None if budget is None else max(0.0, budget.deadline - time.monotonic())


def largest_read() -> int | None:
    """Return the most values that the present request may read at a time, None without a budget."""
    budget = _BUDGET.get()
    return None if budget is None else budget.values


def check_time() -> None:
    """Stop the work of a request whose time is up, or that was abandoned.

    Raises:
        AbandonedError: nobody waits for the answer.
        DeadlineError: the time is up.
    """
    budget = _BUDGET.get()
    if budget is not None and budget.abandoned.is_set():
        raise AbandonedError("client disconnected", remedy="Send the request again.")
    if remaining_seconds() == 0.0:
        raise deadline_error()


def deadline_error() -> DeadlineError:
    """Return the error that ends a request whose time is up."""
    budget = _BUDGET.get()
    seconds = f"{budget.seconds:g}" if budget else "its"
    return DeadlineError(
        f"the request took longer than {seconds} seconds and was stopped",
        remedy="Ask for less: narrow the query, or name fewer traces or commits.",
    )


def check_values(traces: int, commits: int) -> None:
    """Refuse to read a matrix that is too large, before memory is taken for it.

    Raises:
        InputError: the request may not read that many values.
    """
    budget = _BUDGET.get()
    if budget is not None and traces * commits > budget.values:
        raise InputError(
            f"the request would read {traces:,} traces × {commits:,} commits, and may read {budget.values:,} values",
            remedy="Name fewer traces, or a range of fewer commits.",
        )
