"""Call the compiled extension; the ``compiled`` modules of all kernels go through here.

Importing this fails where the extension was not built. A call of C lets other Python threads run.
"""

from __future__ import annotations

from typing import Any, Final

from knickpoint.native._kernels import ffi, lib  # type: ignore[import-not-found]

__all__ = ["ffi", "lib", "pointer"]

pointer: Final[Any] = ffi.from_buffer
"""``pointer("double[]", array)`` is where the values of a contiguous array begin; it copies nothing."""
