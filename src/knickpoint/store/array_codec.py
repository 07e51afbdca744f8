"""How values lie in the database: JSON, times, and arrays of numbers packed into bytes."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.errors import StoreError
from knickpoint.native.points import narrowed

# Read stored JSON, and pack arrays of integers and floats into bytes, small where they are constant or count upwards.
#
# Each array is a head of 6 bytes (kind, type, length) and its values. The values of a constant array are one value,
# those of an array that counts upwards by one its first; others are in the narrowest type that holds them without loss.
#
# What is stored in a column without a checksum ends with one (:func:`checked`). Older versions wrote none, and pass
# over it.


_HEAD: Final = struct.Struct("<BBI")
_TYPES: Final = ("<i8", "<i4", "<u4", "<u2", "<u1", "<f8", "<f4")
_SIZES: Final = tuple(np.dtype(name).itemsize for name in _TYPES)
_CODES: Final = {np.dtype(name).str: code for code, name in enumerate(_TYPES)}
_RAW, _CONSTANT, _RANGE = range(3)
_MARK: Final = b"\xffknickpoint\x00"
_CHECK: Final = struct.Struct("<I")
_CHECK_BYTES: Final = len(_MARK) + _CHECK.size
"""Bytes of a checksum at the end; 16, so that an array of 8-byte numbers before it can be read with it."""


def narrow(values: NDArray[np.float64]) -> NDArray[np.floating[Any]]:
    """Return ``values`` as float32 where that loses nothing, else as they are; NaN stays NaN."""
    small, exact, _ = narrowed(values)
    return small if exact else values


def _smallest(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind == "f":
        return narrow(array.astype(np.float64, copy=False))
    low, high = int(array.min()), int(array.max())
    for name in ("<u1", "<u2", "<u4", "<i4"):
        bounds = np.iinfo(name)
        if bounds.min <= low and high <= bounds.max:
            return array.astype(name)
    return array.astype("<i8")


def stored_json(text: str | bytes) -> Any:
    """Read a JSON text of the store.

    Raises:
        StoreError: it is damaged.
    """
    try:
        return json.loads(text)
    except ValueError as error:
        shown = text if isinstance(text, str) else text.decode(errors="replace")
        raise StoreError(
            f"a stored JSON text is damaged ({error}): {shown[:80]!r}",
            remedy="knick doctor --deep names its table and row; restore the newest backup with knick restore.",
        ) from error


def decompressed(data: bytes | str) -> bytes:
    """Return stored bytes that zlib compressed, in base64 where they are text.

    Raises:
        StoreError: they are damaged.
    """
    try:
        return zlib.decompress(base64.b64decode(data) if isinstance(data, str) else data)
    except (zlib.error, ValueError) as error:
        raise StoreError(
            f"compressed bytes are damaged ({error})",
            remedy="knick doctor --deep names their table and row; restore the newest backup with knick restore.",
        ) from error


def pack(*arrays: NDArray[Any]) -> bytes:
    """Return the bytes of one-dimensional ``arrays``; :func:`unpack` gives equal values back.

    Integers come back as int64 and floats as float64, whatever they were.
    """
    pieces: list[bytes] = []
    for array in arrays:
        count = len(array)
        if count == 0:
            pieces.append(_HEAD.pack(_RAW, 0, 0))
            continue
        kind, stored = _RAW, array
        if array.dtype.kind != "f" and count > 1 and bool((np.diff(array) == 1).all()):
            kind, stored = _RANGE, array[:1].astype("<i8")
        elif bool((array == array[0]).all()):
            kind, stored = _CONSTANT, array[:1].astype("<f8" if array.dtype.kind == "f" else "<i8")
        else:
            stored = _smallest(array)
        stored = stored.astype(stored.dtype.newbyteorder("<"), copy=False)
        pieces.append(_HEAD.pack(kind, _CODES[stored.dtype.str], count))
        pieces.append(stored.tobytes())
    return b"".join(pieces)


def checked(data: bytes) -> bytes:
    """Return ``data`` with its checksum at the end: a mark, and the CRC-32 of what precedes it."""
    return data + _MARK + _CHECK.pack(zlib.crc32(data))


def is_damaged(data: bytes | memoryview) -> bool:
    """Return True if ``data`` ends with the checksum of something else; without one, nobody knows."""
    end = len(data) - _CHECK_BYTES
    if end < 0 or data[end : -_CHECK.size] != _MARK:
        return False
    (checksum,) = _CHECK.unpack_from(data, end + len(_MARK))
    return bool(zlib.crc32(memoryview(data)[:end]) != checksum)


def unpack(data: bytes | memoryview, count: int, *, first: int = 0) -> Sequence[NDArray[Any]]:
    """Return the arrays from ``first`` up to ``count`` that :func:`pack` put into ``data``.

    Of those before, only heads are read.

    Raises:
        StoreError: the bytes are not of that form, or not those of their checksum.
    """
    if is_damaged(data):
        raise _damaged("by their checksum")
    arrays: list[NDArray[Any]] = []
    place = 0
    try:
        for number in range(count):
            kind, code, length = _HEAD.unpack_from(data, place)
            place += _HEAD.size
            held = (length, 1, 1)[kind]
            if number < first:
                place += held * _SIZES[code]
                continue
            stored = np.frombuffer(data, _TYPES[code], held, place)
            place += stored.nbytes
            wide = stored.astype(np.float64 if stored.dtype.kind == "f" else np.int64)
            if kind == _CONSTANT:
                wide = np.full(length, wide[0])
            elif kind == _RANGE:
                wide = np.arange(wide[0], wide[0] + length)
            arrays.append(wide)
    except (struct.error, ValueError, IndexError) as error:
        raise _damaged(f"at byte {place}") from error
    return arrays


def _damaged(where: str) -> StoreError:
    return StoreError(
        f"packed numbers are damaged {where}",
        remedy="knick doctor --deep names their table and row; restore the newest backup with knick restore.",
    )


# Times as the database keeps them: seconds since 1970.


_LATEST: Final = 253402300799.0
"""The last second of the calendar. The end of it, as a number of seconds, rounds up to the year 10000."""


def moment(seconds: float) -> datetime:
    """Turn seconds since 1970 into an aware time in UTC; what is later than the calendar becomes its last second."""
    return datetime.fromtimestamp(min(seconds, _LATEST), UTC)
