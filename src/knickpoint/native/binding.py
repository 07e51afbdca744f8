"""Call the compiled extension; the ``compiled`` modules of all kernels go through here.

Importing this fails where the extension was not built. A call of C lets other Python threads run. Where C takes a
pointer, the function takes a contiguous array, or None for NULL; items of another size are refused with ``TypeError``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final, NoReturn

from knickpoint.model.errors import ConfigError

lib: Final[Any] = import_module("knickpoint.native._kernels")
"""The functions and constants of all ``exports.h``."""


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


# Python asks a module for a function of this name where it lacks another; what it has costs nothing more.
lib.__getattr__ = _lacks
