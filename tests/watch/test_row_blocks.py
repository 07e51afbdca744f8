"""Rows that were judged together are chosen by number, in blocks, and none is lost."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.model.frame import Trace
from knickpoint.model.unit_names import Better
from knickpoint.watch.alert_run.comparison import RowBlock, row_blocks
from knickpoint.watch.detection.clusters import GroupClusters
from knickpoint.watch.detection.judged_rows import JudgedRows


def judged(ids: list[int], stepping: tuple[int, ...] = (), group: GroupClusters | None = None) -> JudgedRows:
    """Return rows of the traces ``ids``; the numbers ``stepping`` have an entry of sightings."""
    return JudgedRows(
        traces=[Trace(key, f"n={key}", "s", "time", Better.LOWER) for key in ids],
        first=0,
        columns=8,
        held=np.full((len(ids), 1), 255, dtype=np.uint8),
        reported=np.full(len(ids), -1),
        digests=np.array(ids, dtype=np.uint64)[:, None],
        sightings=dict.fromkeys(stepping, ()),
        group=group,
    )


def block_of(rows: JudgedRows) -> RowBlock:
    ((block,),) = row_blocks([rows], 100)
    return block


@given(st.lists(st.integers(0, 9), max_size=6), st.integers(1, 12))
def test_blocks_hold_all_rows_in_their_order_and_no_more_than_asked(sizes: list[int], most: int) -> None:
    ids = iter(range(1, 100))
    found = [judged([next(ids) for _ in range(size)]) for size in sizes]
    blocks = list(row_blocks(found, most))
    kept = [
        (part.judged.traces[row].id, key)
        for block in blocks
        for part in block
        for row, key in zip(part.rows, part.ids, strict=True)
    ]
    assert kept == [(number, number) for number in range(1, sum(sizes) + 1)]
    lengths = [sum(part.rows.size for part in block) for block in blocks]
    assert lengths[:-1] == [most] * (len(blocks) - 1)
    assert all(0 < length <= most for length in lengths)


@given(st.sets(st.integers(1, 20)), st.sets(st.integers(1, 20)))
def test_rows_are_chosen_by_the_ids_of_their_traces(ids: set[int], wanted: set[int]) -> None:
    part = RowBlock(judged(sorted(ids)), np.arange(len(ids)), np.array(sorted(ids), dtype=np.int64))
    assert part.among(np.array(sorted(wanted), dtype=np.int64)).ids.tolist() == sorted(ids & wanted)


def test_a_row_is_without_steps_when_nothing_was_found_in_it_and_nothing_is_stored() -> None:
    block = block_of(judged([11, 12, 13, 14], stepping=(1,)))
    assert block.without_steps({13}).tolist() == [True, False, False, True]


def test_the_numbers_of_rows_stay_those_of_the_rows_that_were_judged() -> None:
    block = block_of(judged([11, 12, 13], stepping=(2,))).among(np.array([12, 13]))
    assert block.rows.tolist() == [1, 2]
    assert block.without_steps(()).tolist() == [True, False]
    assert [found.detection.trace.id for found in block.judged.detections(block.rows.tolist())] == [12, 13]


def test_the_first_row_of_a_group_is_never_without_steps_as_it_has_the_clusters() -> None:
    clusters = GroupClusters(("linux",), np.arange(8), ())
    assert block_of(judged([11, 12], group=clusters)).without_steps(()).tolist() == [False, True]
