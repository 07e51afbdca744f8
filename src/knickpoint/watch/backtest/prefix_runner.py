"""A runner that detects in each series once: the views that settle a finding are the series as they were before.

In a replay, a series without its newest values is the series of an earlier commit, in which the method ran then. So the
replay of an alert costs one detection for each value, and not seven.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any, Final, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from knickpoint.detect import find_steps_many
from knickpoint.model.step import Step
from knickpoint.watch.detection.settlement import settle_steps
from knickpoint.watch.detection.shards import SettledSteps, Shard
from knickpoint.work import Place

__all__ = ["PrefixRunner"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class PrefixRunner:
    """Work in this process, and remember the steps of the series of the last ``remembered`` rounds."""

    cores = 0
    place: Final = Place.HERE
    unread = ""

    def __init__(self, remembered: int) -> None:
        self._rounds: deque[dict[bytes, list[Step]]] = deque([{}], maxlen=remembered)

    def next_round(self) -> None:
        """Begin a new round; the oldest one is forgotten."""
        self._rounds.appendleft({})

    def connect(self) -> None:
        """Do nothing: this process is there."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield ``function(item)`` for each item, in order; shards of series are judged from memory where possible."""
        for item in items:
            yield cast("Result", self._detect(item)) if isinstance(item, Shard) else function(item)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    def _detect(self, shard: Shard) -> list[SettledSteps]:
        if not shard.values.shape[1]:
            return [SettledSteps((), ()) for _ in shard.values]

        def detect(values: NDArray[np.floating[Any]]) -> list[list[Step]]:
            return self._steps(shard, values)

        steps = detect(shard.values)
        settlements = settle_steps(shard.values, steps, detect, shard.rule)
        return [SettledSteps(*pair) for pair in zip(steps, settlements, strict=True)]

    def _steps(self, shard: Shard, values: NDArray[np.floating[Any]]) -> list[list[Step]]:
        keys = [_key(row) for row in values]
        known = {key: steps for key in keys if (steps := self._recall(key)) is not None}
        missing = [row for row, key in enumerate(keys) if key not in known]
        if missing:
            found = find_steps_many(values[missing], method=shard.method, threads=shard.threads, **shard.parameters)
            known |= {keys[row]: steps for row, steps in zip(missing, found, strict=True)}
        self._rounds[0].update(known)
        return [known[key] for key in keys]

    def _recall(self, key: bytes) -> list[Step] | None:
        return next((held[key] for held in self._rounds if key in held), None)


def _key(row: NDArray[np.floating[Any]]) -> bytes:
    """Return a digest of a series up to its last value; what is missing behind that changes nothing."""
    measured = np.flatnonzero(~np.isnan(row))
    end = int(measured[-1]) + 1 if measured.size else 0
    return blake2b(row[:end].astype(np.float64).tobytes(), digest_size=16).digest()
