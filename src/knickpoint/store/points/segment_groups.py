"""Group segments for sealing: those that may have a point in common are sealed together.

A later segment stands in front of an earlier one. If an earlier one were sealed after a later one, its older value
would come back. So all segments over one trace and commit go into one group, and a group is sealed as a whole. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from knickpoint.store.points.tile_merge import DENSE, SPAN

__all__ = ["SEGMENT_POINTS", "SegmentGroup", "SegmentHead", "group_segments"]

SEGMENT_POINTS: Final = 8_000_000
"""Points of segments that are held in memory at once."""

_MATRIX_BYTES: Final = 2**29
_MANY_SCATTERED: Final = 256
_MANY_SEGMENTS: Final = 4096
"""Segments of one block of commits from which on they are sealed although the block is not full yet.

Scattered ones have to be read for nearly every trace, those of neighbours only for theirs.
"""


class SegmentHead(NamedTuple):
    """A segment without its points."""

    id: int
    repository_id: int
    slot: int
    lowest: int
    highest: int
    points: int


@dataclass(frozen=True, slots=True)
class SegmentGroup:
    """Segments to seal together, by id; ``first`` is the first slot of their block, -1 where they are of several."""

    heads: Sequence[SegmentHead]
    first: int

    @property
    def ids(self) -> list[int]:
        """The ids of the segments."""
        return [head.id for head in self.heads]

    @property
    def lowest(self) -> int:
        """The lowest trace of all of them."""
        return min(head.lowest for head in self.heads)

    @property
    def highest(self) -> int:
        """The highest trace of all of them."""
        return max(head.highest for head in self.heads)

    @property
    def points(self) -> int:
        """The number of points in all of them."""
        return sum(head.points for head in self.heads)

    @property
    def is_dense(self) -> bool:
        """Whether they hold so much of neighbouring traces × 64 commits that a matrix is the way to seal them."""
        cells = (self.highest - self.lowest + 1) * SPAN
        return self.first >= 0 and cells * 8 <= _MATRIX_BYTES and self.points >= DENSE * cells


def group_segments(
    heads: Iterable[SegmentHead], next_slots: Mapping[int, int], *, everything: bool
) -> Iterator[SegmentGroup]:
    """Return the groups to seal: of blocks that newer commits follow, and of blocks with very many segments.

    ``next_slots`` has repository → the slot after its newest commit; ``everything`` takes the newest blocks too.
    """
    blocks: dict[tuple[int, int], list[SegmentHead]] = {}
    for head in heads:
        blocks.setdefault((head.repository_id, head.slot // SPAN), []).append(head)
    scattered: list[SegmentHead] = []
    points = 0
    for (owner, block), own in sorted(blocks.items()):
        if not (everything or block < next_slots.get(owner, 0) // SPAN or _are_many(own)):
            continue
        for group in _overlapping(own, block * SPAN):
            if group.is_dense:
                yield group
                continue
            # Small groups are sealed point by point, as many at a time as fit into memory.
            if scattered and points + group.points > SEGMENT_POINTS:
                yield SegmentGroup(scattered, -1)
                scattered, points = [], 0
            scattered, points = [*scattered, *group.heads], points + group.points
    if scattered:
        yield SegmentGroup(scattered, -1)


def _are_many(heads: Sequence[SegmentHead]) -> bool:
    """Whether reading has to look through so many segments that they are sealed early."""
    scattered = sum(head.points * 16 < head.highest - head.lowest for head in heads)
    return scattered >= _MANY_SCATTERED or len(heads) >= _MANY_SEGMENTS


def _overlapping(heads: Sequence[SegmentHead], first: int) -> Iterator[SegmentGroup]:
    """Part the segments of a block so that no two groups can have a trace in common; each by id."""
    group: list[SegmentHead] = []
    highest = -1
    for head in sorted(heads, key=lambda head: head.lowest):
        if group and head.lowest > highest:
            yield SegmentGroup(sorted(group), first)
            group = []
        highest = max(highest, head.highest) if group else head.highest
        group.append(head)
    if group:
        yield SegmentGroup(sorted(group), first)
