"""The numeric kernels: compiled from C where a compiler was at hand, in NumPy elsewhere; arrays in, numbers out.

Each kernel is a package with everything that belongs to it::

    ranks/__init__.py    what callers import: the function that was chosen
    ranks/reference.py   the kernel in NumPy: fallback, oracle of the tests, and the place of the docstrings
    ranks/compiled.py    the same signatures, calling C
    ranks/exports.h      what Python may call of the C
    ranks/ranks.c        the C

There is one way to choose: a package says ``compare_ranks = choose(reference.compare_ranks)``, and
:mod:`knickpoint.native.choice` decides once for the process. Tests compare each pair of twins, and the constants that C
and Python both have.

What kernels share stands here: ``vectors.h`` has what C needs to know of compilers and processors, ``levels.c`` finds
out which instructions the machine has, ``each_level.h`` compiles one body of code for each of these levels, and
``sort.c`` sorts and selects. ``building/kernels.py`` makes one extension, ``_kernels``, of all C files.

No kernel checks its input: callers give contiguous arrays of the stated types within bounds. Arrays belong to the
caller, kernels keep no state, and a call of C lets other Python threads run.
"""

from __future__ import annotations

from knickpoint.native.choice import COMPILED

__all__ = ["COMPILED"]
