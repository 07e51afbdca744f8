"""The numeric kernels: compiled from C where a compiler was at hand, in NumPy elsewhere; arrays in, numbers out.

Each kernel is a module, or a package where it is large, and its C lies in ``c/``::

    ranks.py             the kernel in NumPy (``compare_ranks_in_numpy``: fallback, oracle of the tests, and the place
                         of the docstrings), in C (``compare_ranks_in_c``, with the same signature), and for callers:
                         ``compare_ranks = choose(compare_ranks_in_numpy, compare_ranks_in_c)``
    c/ranks/exports.h    what Python may call of the C
    c/ranks/ranks.c      the C

:mod:`knickpoint.native.extension` decides once for the process. Tests compare each pair of twins, and the constants
that C and Python both have.

The C that kernels share is in ``c/`` itself: ``vectors.h`` has what C needs to know of compilers and processors,
``levels.c`` finds out which instructions the machine has, ``each_level.h`` compiles one body of code for each of these
levels, and ``sort.c`` sorts and selects. ``building/kernels.py`` makes one extension, ``_kernels``, of all C files.

No kernel checks its input: callers give contiguous arrays of the stated types within bounds. Arrays belong to the
caller, kernels keep no state, and a call of C lets other Python threads run.
"""

from __future__ import annotations

from knickpoint.native.extension import COMPILED

__all__ = ["COMPILED"]
