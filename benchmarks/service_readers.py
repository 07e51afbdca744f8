"""Readers that ask an API as the pages of the dashboard do, and how long they wait."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

from served_process import Process
from service_world import BOTS, REPOSITORY

__all__ = ["Readings", "processor_milliseconds", "reading"]

_ASKED_BEFORE = 10
"""Answers that fill caches before those that are measured."""

_AS_BROWSERS = {"Accept-Encoding": "gzip"}

_PAUSE_SECONDS = 1.0
"""How long a reader looks at an answer before the next one, in the mean: exponential, as TPC-C has its users think."""


@dataclass
class Readings:
    """The seconds of all answers by what was asked, and the answers that were not success."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, seconds: float, problem: str) -> None:
        """Add an answer, and its problem if it has one."""
        with self._lock:
            self.seconds.setdefault(name, []).append(seconds)
            if problem:
                self.errors.append(problem)

    @property
    def all(self) -> list[float]:
        """The seconds of all answers."""
        return [each for asked in self.seconds.values() for each in asked]


@contextmanager
def reading(address: str, traces: int, readers: int, *, in_step: bool = False) -> Iterator[Readings]:
    """Have ``readers`` ask while a ``with`` lasts; each pauses for a second in the mean between two requests.

    With ``in_step`` each pauses for just a second. As all ask for the same kinds of answers in one order, whatever
    holds them up together keeps them together: from then on all ask for the same at the same moment, in each round.
    """
    readings, stop = Readings(), threading.Event()
    pauses = [(lambda: _PAUSE_SECONDS) if in_step else _thinking(number) for number in range(readers)]
    threads = [
        threading.Thread(target=_read, args=(address, traces, number, readings, stop, pauses[number]), daemon=True)
        for number in range(readers)
    ]
    for thread in threads:
        thread.start()
    try:
        yield readings
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def processor_milliseconds(api: Process, traces: int, answers: int) -> dict[str, float]:
    """Return what each kind of answer takes of the processor in the process of the API, by name: the mean of ``answers``."""
    chance = random.Random(16)
    asked = [_requests(chance, traces) for _ in range(_ASKED_BEFORE + answers)]
    parts = urlsplit(api.address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
    taken = {}
    for kind in zip(*asked, strict=True):
        begun = 0.0
        for number, (name, path) in enumerate(kind):
            if number == _ASKED_BEFORE:
                begun = api.processor_seconds
            connection.request("GET", f"/api/v1/{path}", headers=_AS_BROWSERS)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200, f"{name}: {answer.status}"
        taken[kind[0][0]] = 1000 * (api.processor_seconds - begun) / answers
    connection.close()
    return taken


def _requests(chance: random.Random, traces: int) -> Sequence[tuple[str, str]]:
    """Return what a person asks for on the way through the dashboard, each with its name."""
    trace = chance.randrange(1, traces + 1)
    query = quote(f"bot=device_{chance.randrange(BOTS)}&config=gpu")
    return (
        ("triage", f"changes?repository={REPOSITORY}&size=50&members=1"),
        ("overview", f"overview?repository={REPOSITORY}&since=2026-01-01T00:00:{chance.randrange(60):02}Z"),
        ("facets", f"facets?repository={REPOSITORY}&query={query}"),
        ("traces", f"traces?repository={REPOSITORY}&query={query}&limit=50"),
        ("changes", f"traces/{trace}/change-points"),
        ("values", f"values?traces={trace}"),
        ("commits", f"commits?repository={REPOSITORY}&limit=100"),
    )


def _thinking(number: int) -> Callable[[], float]:
    """Return what gives the next pause of the reader ``number``, in seconds."""
    chance = random.Random(-1 - number)
    return lambda: chance.expovariate(1 / _PAUSE_SECONDS)


def _read(  # noqa: PLR0917  # the arguments of a thread
    address: str, traces: int, number: int, readings: Readings, stop: threading.Event, pause: Callable[[], float]
) -> None:
    chance = random.Random(number)
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=120)
    stop.wait(chance.random() * _PAUSE_SECONDS)
    while not stop.is_set():
        for name, path in _requests(chance, traces):
            start = time.perf_counter()
            try:
                connection.request("GET", f"/api/v1/{path}", headers=_AS_BROWSERS)
                answer = connection.getresponse()
                answer.read()
                problem = "" if answer.status == 200 else f"{name}: {answer.status}"
            except (OSError, http.client.HTTPException) as error:
                connection.close()
                problem = f"{name}: {error!r}"
            readings.add(name, time.perf_counter() - start, problem)
            if stop.wait(pause()):
                return
