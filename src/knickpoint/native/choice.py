"""Choose between the compiled kernels and their NumPy references, once for the process.

Each kernel has a package with a module ``reference`` and a module ``compiled``, whose functions have the same names and
signatures. The package offers what :func:`choose` returns.

The environment variable ``KNICKPOINT_KERNELS`` changes the choice: ``numpy`` asks for the references, ``plain`` and
``avx2`` keep the compiled kernels from using more than these instructions. Where the extension could not be built, the
references take over with one warning, because everything is then 10 to 500 times slower.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TypeVar, cast

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


def _has_extension() -> bool:
    """Return True if the compiled kernels are wanted and can be imported; warn where they cannot."""
    if os.environ.get("KNICKPOINT_KERNELS") == "numpy":
        return False
    try:
        import_module("knickpoint.native._kernels")
    except ImportError as error:
        warnings.warn(
            f"the compiled kernels cannot be imported ({error}); NumPy takes over and is much slower. "
            "Install a C compiler and the Python headers, then install knickpoint again; "
            "KNICKPOINT_KERNELS=numpy silences this warning.",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


COMPILED: Final = _has_extension()
"""Whether this process uses the compiled kernels."""


def choose(reference: _Kernel) -> _Kernel:
    """Return the compiled twin of a NumPy ``reference``, or the reference itself without compiled kernels.

    The twin is the function of the same name in the module ``compiled`` beside the module of the reference.
    """
    if not COMPILED:
        return reference
    package = reference.__module__.rpartition(".")[0]
    return cast("_Kernel", getattr(import_module(f"{package}.compiled"), reference.__name__))
