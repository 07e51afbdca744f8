"""Choose between the compiled kernels and NumPy, once for the process.

The setting ``KNICKPOINT_KERNELS=numpy`` in the environment asks for NumPy; without it the fallback says
so once, because everything is then 10 to 500 times slower. ``plain`` and ``avx2`` keep the compiled kernels
from using more than these instructions.
"""

from __future__ import annotations

import os
import warnings
from types import ModuleType

__all__ = ["COMPILED", "kernel"]


def _choose() -> ModuleType:
    from knickpoint.native import reference

    if os.environ.get("KNICKPOINT_KERNELS") == "numpy":
        return reference
    try:
        from knickpoint.native import compiled
    except ImportError as error:
        warnings.warn(
            f"the compiled kernels are not there ({error}); NumPy takes over and is much slower. "
            "Install a C compiler and the Python headers, then install knickpoint again; "
            "KNICKPOINT_KERNELS=numpy silences this.",
            RuntimeWarning,
            stacklevel=2,
        )
        return reference
    return compiled


kernel = _choose()
COMPILED = kernel.__name__.endswith("compiled")
