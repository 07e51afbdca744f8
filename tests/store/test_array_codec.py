"""Packed arrays come back as they were, all of them or only the later ones."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from knickpoint.model.errors import StoreError
from knickpoint.store.array_codec import checked, decompressed, pack, unpack

_LENGTHS = st.integers(0, 12)
_ONE = st.one_of(
    arrays(np.int64, _LENGTHS, elements=st.integers(-(2**62), 2**62)),
    arrays(np.float64, _LENGTHS, elements=st.floats(width=64)),
    st.builds(np.arange, _LENGTHS),
    st.builds(np.full, _LENGTHS, st.integers(-3, 3)),
)


@given(st.lists(_ONE, min_size=1, max_size=6), st.data())
def test_arrays_come_back_as_they_were_from_any_of_them_on(
    packed: list[NDArray[np.int64]], data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(packed) - 1))
    found = unpack(pack(*packed), len(packed), first=first)
    assert len(found) == len(packed) - first
    for array, back in zip(packed[first:], found, strict=True):
        np.testing.assert_array_equal(back, array)


def test_bytes_that_end_within_what_is_passed_over_are_refused() -> None:
    data = pack(np.array([5, 1, 9]), np.arange(4))
    with pytest.raises(StoreError, match="damaged at byte"):
        unpack(data[:7], 2, first=1)


@pytest.mark.parametrize("place", [0, 6, 20, -17])
def test_a_flipped_bit_before_a_checksum_is_an_error(place: int) -> None:
    data = bytearray(checked(pack(np.array([5, 1, 9]), np.array([1.5, 2.25]))))
    data[place] ^= 0x04
    with pytest.raises(StoreError, match="doctor --deep"):
        unpack(bytes(data), 2)


def test_an_older_version_reads_arrays_before_a_checksum() -> None:
    data = pack(np.array([5, 1, 9]))
    assert checked(data)[: len(data)] == data
    assert unpack(checked(data), 1)[0].tolist() == [5, 1, 9]


def test_damaged_compressed_bytes_are_an_error() -> None:
    data = bytearray(zlib.compress(b"results" * 100))
    assert decompressed(bytes(data)) == b"results" * 100
    data[-1] ^= 1
    for stored in (bytes(data), base64.b64encode(data).decode(), "a"):
        with pytest.raises(StoreError, match="doctor --deep"):
            decompressed(stored)
