"""Describe how the C kernels are built: one extension for every Python, no dependency but a compiler."""

from __future__ import annotations

from pathlib import Path
from typing import Final, cast

from cffi import FFI
from setuptools import Extension

__all__ = ["kernels"]

_NATIVE: Final = Path("src/knickpoint/native")
"""Relative to the top of the source tree, where the build runs."""

_FLAGS: Final = ["-O3", "-std=gnu11", "-ffp-contract=off", "-fno-math-errno", "-Wno-psabi"]
"""Nothing is fused into one rounding, so that every machine computes the same bits; ``vectors.h`` has the exception."""


def kernels() -> Extension:
    """Return the extension; where it cannot be built, installation goes on and NumPy takes over.

    The ``exports.h`` of each kernel declares what Python may call. All other C files of the kernels are compiled along.
    """
    exports = sorted(_NATIVE.glob("*/exports.h"))
    includes = [f'#include "{header.relative_to(_NATIVE).as_posix()}"' for header in exports]
    ffi = FFI()
    for header in exports:
        ffi.cdef(_declarations(header))
    ffi.set_source(
        "knickpoint.native._kernels",
        "\n".join(includes),
        include_dirs=[str(_NATIVE)],
        sources=[str(source) for source in sorted(_NATIVE.rglob("*.c")) if source.name != "_kernels.c"],
        depends=[str(header) for header in sorted(_NATIVE.rglob("*.h"))],
        extra_compile_args=_FLAGS,
        libraries=["m"],
        py_limited_api=True,
    )
    extension = cast("Extension", ffi.distutils_extension("build"))
    extension.optional = True
    return extension


def _declarations(header: Path) -> str:
    """Return a header without its preprocessor lines, which cffi does not read."""
    return "".join(line for line in header.read_text().splitlines(keepends=True) if not line.startswith("#"))
