"""The kernels: compiled where they could be built, in NumPy elsewhere; arrays in, numbers out.

Nothing here checks its input: callers give contiguous float64 (or what the function says) within bounds.
"""

from __future__ import annotations

from knickpoint.native.kernel import COMPILED, kernel
from knickpoint.native.kmeans import Clustering, Lloyd, Packed, lloyd, spread

__all__ = [
    "COMPILED",
    "Clustering",
    "Lloyd",
    "Packed",
    "layer",
    "lloyd",
    "permute",
    "q_hat",
    "regions",
    "scan_both",
    "spread",
    "student",
    "windows",
]

layer = kernel.layer
permute = kernel.permute
q_hat = kernel.q_hat
regions = kernel.regions
scan_both = kernel.scan_both
student = kernel.student
windows = kernel.windows
