from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from knickpoint.native.partition import extend_partition, extend_partition_in_numpy


@settings(deadline=None)
@given(numbers=st.sets(st.integers(-1000, 1000), min_size=2, max_size=60), groups=st.integers(2, 5))
def test_divisions_have_the_same_bits_as_in_numpy(numbers: set[int], groups: int) -> None:
    distinct = np.array(sorted(numbers)) / 7
    counts = np.arange(distinct.size) % 3 + 1
    sums = [np.r_[0.0, np.cumsum(each)] for each in (counts * 1.0, counts * distinct, counts * distinct**2)]
    cost = np.maximum(sums[2][1:] - sums[1][1:] ** 2 / sums[0][1:], 0.0)
    for _ in range(groups):
        (ours, begin), (theirs, other) = extend_partition(cost, *sums), extend_partition_in_numpy(cost, *sums)
        assert (ours.tobytes(), begin.tolist()) == (theirs.tobytes(), other.tolist())
        cost = ours
