"""The default method's search in NumPy: the oracle of the tests, and the fallback without a compiler."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from knickpoint.model.errors import ServiceError
from knickpoint.native.segmentation import Forest, Segmentation

__all__ = ["segment"]


def segment(values: NDArray[np.float64], forest: Forest, threshold: float, whole_path: bool) -> Segmentation:  # noqa: ARG001, FBT001
    """Say that only the compiled kernel does this so far."""
    raise ServiceError(
        "the default method needs the compiled kernels", remedy="Install a C compiler and install again."
    )
