"""Describe how the C kernels are built: one extension for every Python, no dependency but a compiler."""

from __future__ import annotations

from pathlib import Path
from typing import Final, cast

from cffi import FFI
from setuptools import Extension

__all__ = ["kernels"]

_ROOM: Final = Path("src/knickpoint/native")
"""Relative to the top of the source tree, where the build runs."""


def kernels() -> Extension:
    """Return the extension; where it cannot be built, installation goes on and NumPy takes over.

    ``kernels.h`` is what Python may call; every other ``.c`` and ``.h`` of the room is compiled along.
    """
    ffi = FFI()
    ffi.cdef((_ROOM / "kernels.h").read_text())
    ffi.set_source(
        "knickpoint.native._kernels",
        '#include "kernels.h"',
        include_dirs=[str(_ROOM)],
        sources=[str(source) for source in sorted(_ROOM.glob("*.c")) if source.name != "_kernels.c"],
        depends=[str(header) for header in sorted(_ROOM.glob("*.h"))],
        extra_compile_args=["-O3", "-std=gnu11", "-fno-math-errno", "-Wno-psabi"],
        libraries=["m"],
        py_limited_api=True,
    )
    extension = cast("Extension", ffi.distutils_extension("build"))
    extension.optional = True
    return extension
