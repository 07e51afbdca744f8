"""Try an installed wheel with NumPy alone: its kernels load, and the library finds a step in a list."""

from __future__ import annotations

import sys

from knickpoint import __version__
from knickpoint.detect import find_steps
from knickpoint.native import COMPILED

VALUES = [10.0, 10.1, 9.9, 10.0] * 8 + [12.0, 12.1, 11.9, 12.0] * 8


def _main() -> None:
    found = [(step.index, f"{step.relative_size:+.0%}") for step in find_steps(VALUES)]
    if not COMPILED:
        sys.exit("the kernels of the wheel do not load on this machine")
    if found != [(32, "+20%")]:
        sys.exit(f"found {found} instead of one step of +20% at 32")
    print(
        f"knickpoint {__version__} on Python {sys.version.split()[0]}: a step of {found[0][1]} at value {found[0][0]}"
    )


if __name__ == "__main__":
    _main()
