"""Describe how the C kernels are built: one extension for every Python, no dependency but a compiler."""

from pathlib import Path

from cffi import FFI
from setuptools import Extension

_ROOM = Path("src/knickpoint/native")
"""Relative to the top of the source tree, where the build runs."""


def kernels() -> Extension:
    """Return the extension; where it cannot be built, installation goes on and NumPy takes over."""
    ffi = FFI()
    ffi.cdef((_ROOM / "kernels.h").read_text())
    ffi.set_source(
        "knickpoint.native._kernels",
        '#include "kernels.h"',
        include_dirs=[str(_ROOM)],
        sources=[str(_ROOM / "kernels.c")],
        extra_compile_args=["-O3", "-std=c11", "-fno-math-errno"],
        libraries=["m"],
        py_limited_api=True,
    )
    extension: Extension = ffi.distutils_extension("build")
    extension.optional = True
    return extension
