"""Uploads: results that arrive steadily, a rate beyond what the server takes, one large file, and many that wait."""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from served_process import Process
from service_world import BOTS, COMMITS, REPOSITORY, keys_of, last_levels, revision

__all__ = ["Arrived", "arriving", "large_file", "results_file", "send", "upload_at_rate"]

_RARELY = 1000


@dataclass
class Arrived:
    """What a rate of uploads came to: attempts by status, the seconds of those that were stored, and of all together."""

    statuses: Counter[int] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    stored: int = 0
    lasted: float = 0.0
    missing_retry_after: int = 0


def results_file(commit: int, keys: tuple[str, ...], values: Any) -> bytes:
    """Return a results file of one run at ``commit``, in Skia's format."""
    params = [dict(pair.split("=", 1) for pair in key.strip(",").split(",")) for key in keys]
    results = [
        {"key": key, "measurement": value} for key, value in zip(params, np.asarray(values).tolist(), strict=True)
    ]
    return json.dumps({"version": 1, "git_hash": f"CP:{revision(commit)}", "results": results}).encode()


def send(address: str, name: str, body: bytes) -> tuple[int, str]:
    """Upload a file; return the status and ``Retry-After``."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=600)
    try:
        connection.request("POST", f"/api/v1/results?name={name}&repository={REPOSITORY}", body)
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.headers.get("retry-after", "")
    finally:
        connection.close()


@contextmanager
def arriving(address: str, traces: int, every_seconds: float) -> Iterator[list[int]]:
    """Upload the file of one bot after the other while a ``with`` lasts, at new commits; give the statuses.

    Values go on at the levels of their traces, and one trace in a thousand has moved by 10 %.
    """
    stop, statuses = threading.Event(), list[int]()
    random = np.random.default_rng(1)

    def upload() -> None:
        number = 0
        while not stop.wait(every_seconds):
            bot, commit = number % BOTS, COMMITS + number // BOTS
            keys = keys_of(bot, traces // BOTS)
            values = random.normal(0.0, 0.5, len(keys)) + last_levels(bot * len(keys), len(keys))
            values[::_RARELY] *= 1.1
            body = results_file(commit, keys, values)
            statuses.append(send(address, f"arrived-{number}.json", body)[0])
            number += 1

    thread = threading.Thread(target=upload, daemon=True)
    thread.start()
    try:
        yield statuses
    finally:
        stop.set()
        thread.join()


def upload_at_rate(address: str, rate: float, seconds: float, begin: int) -> Arrived:
    """Upload ``rate`` files of ten values a second for ``seconds``.

    What is refused is sent again after ``Retry-After``.
    """
    arrived, lock = Arrived(), threading.Lock()
    total = int(rate * seconds)
    start = time.perf_counter()

    def upload(number: int) -> None:
        due = number / rate
        time.sleep(max(0.0, due - (time.perf_counter() - start)))
        keys = tuple(key.replace("draw_rect", "quick") for key in keys_of(number % BOTS, 10))
        body = results_file(begin + number // BOTS, keys, np.full(10, 100.0 + number % 7))
        first = time.perf_counter()
        while True:
            try:
                status, retry = send(address, f"quick-{begin}-{number}.json", body)
            except OSError:
                status, retry = 0, "1"
            with lock:
                arrived.statuses[status] += 1
                arrived.missing_retry_after += status in {429, 503} and not retry
            if status not in {0, 429, 503}:
                break
            time.sleep(float(retry or 1))
        with lock:
            arrived.stored += status == 200
            arrived.seconds.append(time.perf_counter() - first)

    with ThreadPoolExecutor(400) as threads:
        list(threads.map(upload, range(total)))
    arrived.lasted = time.perf_counter() - start
    return arrived


@dataclass(frozen=True, slots=True)
class LargeUpload:
    """An upload of one large file: its status, and how long it took.

    Meanwhile another request waited for at most ``longest_answer`` seconds, and the processes of the API held
    ``most_memory`` MB together.
    """

    status: int
    seconds: float
    longest_answer: float
    most_memory: float


def large_file(api: Process, values: int, commit: int) -> LargeUpload:
    """Upload one file of ``values`` new traces."""
    keys = tuple(f",benchmark=large_{number},config=one,unit=ms," for number in range(values))
    body = results_file(commit, keys, np.full(values, 5.0))
    longest, memory, done = 0.0, 0.0, threading.Event()

    def read() -> None:
        nonlocal longest, memory
        while not done.wait(0.02):
            asked = time.perf_counter()
            with urllib.request.urlopen(f"{api.address}api/v1/ready") as answer:  # noqa: S310
                answer.read()
            longest = max(longest, time.perf_counter() - asked)
            memory = max(memory, api.memory_of_all)

    reader = threading.Thread(target=read)
    reader.start()
    start = time.perf_counter()
    try:
        status, _ = send(api.address, f"large-{values}.json", body)
    finally:
        lasted = time.perf_counter() - start
        done.set()
        reader.join()
    return LargeUpload(status, lasted, longest, memory)
