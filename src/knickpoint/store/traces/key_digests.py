"""Digests of trace keys: how a key finds its trace without a comparison of texts."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b, sha256
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["digest_all", "digest_each"]

_SIZE: Final = 16


def digest_each(keys: Sequence[str]) -> NDArray[np.int64]:
    """Return the 128-bit digest of each key as two signed halves, shape (len(keys), 2).

    At 40 million keys the chance that two of them share a digest is below 10⁻²³, so the digest counts as
    the key's identity.
    """
    joined = b"".join([blake2b(key.encode(), digest_size=_SIZE).digest() for key in keys])
    return np.frombuffer(joined, "<i8").reshape(-1, 2)


def digest_all(keys: Sequence[str], *more: bytes) -> tuple[int, int]:
    """Return one 128-bit digest of all ``keys`` in their order and of ``more`` bytes.

    Keys hold no control characters, so a line feed between them keeps lists apart.
    """
    whole = sha256("\n".join(keys).encode())
    for part in more:
        whole.update(b"\x00" + len(part).to_bytes(8, "little") + part)
    high, low = np.frombuffer(whole.digest()[:_SIZE], "<i8").tolist()
    return int(high), int(low)
