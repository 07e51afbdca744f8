"""Describe how the C kernels are built: one extension for every Python, no dependency but a compiler."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from setuptools import Extension

from bindings import binding

__all__ = ["kernels"]

_NATIVE: Final = Path("src/knickpoint/native/c")
"""Relative to the top of the source tree, where the build runs."""

_BINDING: Final = Path("build/kernels/_kernels.c")

_FLAGS: Final = ["-O3", "-std=gnu11", "-ffp-contract=off", "-fno-math-errno", "-Wno-psabi", "-g0"]
"""Nothing is fused into one rounding, so that every machine computes the same bits; ``vectors.h`` has the exception.

Without symbols for debuggers the binary does not depend on the directory that it was built in.
"""


def kernels() -> Extension:
    """Return the extension; where it cannot be built, installation goes on and NumPy takes over.

    The ``exports.h`` of each kernel declares what Python may call. All other C files of the kernels are compiled along.
    """
    text = binding(sorted(_NATIVE.glob("*/exports.h")), _NATIVE)
    if not _BINDING.is_file() or _BINDING.read_text(encoding="utf-8") != text:
        _BINDING.parent.mkdir(parents=True, exist_ok=True)
        _BINDING.write_text(text, encoding="utf-8")
    return Extension(
        "knickpoint.native._kernels",
        sources=[str(_BINDING), *(str(source) for source in sorted(_NATIVE.rglob("*.c")))],
        depends=[str(header) for header in sorted(_NATIVE.rglob("*.h"))],
        include_dirs=[str(_NATIVE)],
        extra_compile_args=_FLAGS,
        libraries=["m"],
        py_limited_api=True,
        optional=True,
    )
