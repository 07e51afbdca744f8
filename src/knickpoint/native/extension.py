"""Choose between the compiled kernels and their NumPy references, once for the process, and call the compiled ones.

The environment variable ``KNICKPOINT_KERNELS`` changes the choice: ``numpy`` asks for the references, ``plain`` and
``avx2`` keep the compiled kernels from using more than these instructions. Where the extension could not be built, the
references take over with one warning, because everything is then 10 to 500 times slower.

A call of C lets other Python threads run. Where C takes a pointer, the function takes a contiguous array, or None for
NULL; items of another size are refused with ``TypeError``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, NoReturn, TypeVar

from knickpoint.model.errors import ConfigError

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


def _lacks(name: str) -> NoReturn:
    """Say that the extension lacks ``name``: it was built from older C code than the Python code that calls it.

    Raises:
        AttributeError: ``name`` is none that a kernel could have; whoever looks through all modules may ask for any.
        ConfigError: it is one of a kernel.
    """
    if not name.lower().startswith("kp_"):
        raise AttributeError(name)
    raise ConfigError(
        f"the compiled kernels are older than this code: they lack {name}",
        where=str(lib.__file__),
        remedy="Build them again: make setup in a source tree, else install knickpoint again.",
    )


def _extension() -> Any | None:
    """Import the compiled kernels; None, with a warning, if they cannot be imported, and where they are not wanted."""
    if os.environ.get("KNICKPOINT_KERNELS") == "numpy":
        return None
    try:
        found: Any = import_module("knickpoint.native._kernels")
    except ImportError as error:
        warnings.warn(
            f"the compiled kernels cannot be imported ({error}); NumPy takes over and is much slower. "
            "Install a C compiler and the Python headers, then install knickpoint again; "
            "KNICKPOINT_KERNELS=numpy silences this warning.",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    # Python asks a module for a function of this name where it lacks another; what it has costs nothing more.
    found.__getattr__ = _lacks
    return found


lib: Final[Any] = _extension()
"""The functions and constants of all ``exports.h``; None without compiled kernels."""

COMPILED: Final = lib is not None
"""Whether this process uses the compiled kernels."""


def choose(in_numpy: _Kernel, in_c: _Kernel) -> _Kernel:
    """Return the kernel in C, or its NumPy reference without compiled kernels; both have the same signature."""
    return in_c if COMPILED else in_numpy
