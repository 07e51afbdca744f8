"""Call the compiled extension; the ``compiled`` modules of all kernels go through here.

Importing this fails where the extension was not built. A call of C lets other Python threads run. Where C takes a pointer,
the function takes a contiguous array, or None for NULL; items of another size are refused with ``TypeError``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

__all__ = ["lib"]

lib: Final[Any] = import_module("knickpoint.native._kernels")
"""The functions and constants of all ``exports.h``."""
