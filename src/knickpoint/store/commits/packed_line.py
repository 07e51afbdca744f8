"""The order of a line in bytes: runs of neighbouring slots.

A line of 100,000 commits is a list of as many slots. Most commits come to the store in the order of their line, so their
slots count upwards, and the list is a few *runs*: a first slot and a length each. What appends to a line, or asks whether
commits are on it, works on the runs and costs the same for long and for short lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from knickpoint.store.array_codec import checked, pack, unpack

__all__ = ["PackedLine"]


@dataclass(frozen=True, slots=True)
class PackedLine:
    """Runs of neighbouring slots, in the order of the line: run i is ``begins[i]`` and ``lengths[i]`` slots long."""

    begins: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @classmethod
    def of_slots(cls, slots: NDArray[np.int64]) -> Self:
        """Return the runs of ``slots``, oldest first."""
        if not len(slots):
            return cls(slots, slots)
        begins = np.flatnonzero(np.diff(slots, prepend=slots[0] - 2) != 1)
        return cls(slots[begins], np.diff(begins, append=len(slots)))

    @classmethod
    def of_bytes(cls, data: bytes) -> Self:
        """Read what :meth:`to_bytes` wrote."""
        begins, lengths = unpack(data, 2)
        return cls(begins, lengths)

    def to_bytes(self) -> bytes:
        """Return the bytes that the database keeps."""
        return checked(pack(self.begins, self.lengths))

    def slots(self) -> tuple[int, ...]:
        """Return all slots, oldest first."""
        ends = np.cumsum(self.lengths)
        offsets = np.repeat(self.begins - ends + self.lengths, self.lengths)
        return tuple((offsets + np.arange(len(offsets))).tolist())

    def end(self) -> int | None:
        """Return the last slot, None without any."""
        return int(self.begins[-1] + self.lengths[-1]) - 1 if len(self.begins) else None

    def among(self, slots: Sequence[int]) -> set[int]:
        """Return those of ``slots`` that are on the line."""
        if not len(self.begins) or not len(slots):
            return set()
        order = np.argsort(self.begins)
        wanted = np.asarray(slots, dtype=np.int64)
        number = np.searchsorted(self.begins[order], wanted, "right") - 1
        run = order[np.maximum(number, 0)]
        return set(wanted[(number >= 0) & (wanted < self.begins[run] + self.lengths[run])].tolist())

    def appended(self, slots: Sequence[int]) -> PackedLine:
        """Return the line with ``slots`` behind its end."""
        begins, lengths = self.begins.tolist(), self.lengths.tolist()
        for slot in slots:
            if begins and begins[-1] + lengths[-1] == slot:
                lengths[-1] += 1
            else:
                begins.append(slot)
                lengths.append(1)
        return PackedLine(np.array(begins, dtype=np.int64), np.array(lengths, dtype=np.int64))
