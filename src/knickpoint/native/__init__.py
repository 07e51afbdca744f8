"""The numeric kernels: compiled from C where a compiler was at hand, in NumPy elsewhere; arrays in, numbers out.

Each kernel is a package with everything that belongs to it::

    ranks/__init__.py    what callers import: the function that was chosen
    ranks/reference.py   the kernel in NumPy: fallback, oracle of the tests, and the place of the docstrings
    ranks/compiled.py    the same signatures, calling C
    ranks/exports.h      what Python may call of the C
    ranks/ranks.c        the C

There is one way to choose: a package says ``compare_ranks = choose(reference.compare_ranks)``, and
:mod:`knickpoint.native.choice` decides once for the process. A test compares each pair of twins.

``vectors.h`` holds what C needs to know of compilers and processors, ``levels.c`` finds out which instructions the machine
has, and ``each_level.h`` compiles one body of code for each of these levels. ``building/kernels.py`` makes one extension,
``_kernels``, of all C files.

No kernel checks its input: callers give contiguous arrays of the stated types within bounds.
"""

from __future__ import annotations

from knickpoint.native.choice import COMPILED

__all__ = ["COMPILED"]
