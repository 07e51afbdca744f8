"""Compile the modules of the tests, with their assertions rewritten, before the workers of a run need them.

Each worker of pytest-xdist imports all of them at the same moment. Where no bytecode is there, each worker makes all of
it.
"""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path

from _pytest.assertion import rewrite
from _pytest.config import _prepareconfig

_TOP = Path(__file__).resolve().parent.parent


def compile_tests(tests: Path) -> int:
    """Write the bytecode of the test modules below `tests` that have none yet, and return of how many."""
    config = _prepareconfig([])
    state = config.stash[rewrite.assertstate_key]
    written = 0
    for module in sorted(chain(tests.rglob("test_*.py"), tests.rglob("conftest.py"))):
        folder = rewrite.get_cache_dir(module)
        bytecode = folder / (module.stem + rewrite.PYC_TAIL)
        if rewrite._read_pyc(module, bytecode) is not None:  # noqa: SLF001 - pytest has no public name for it
            continue
        folder.mkdir(parents=True, exist_ok=True)
        source, code = rewrite._rewrite_test(module, config)  # noqa: SLF001 - as above
        written += rewrite._write_pyc(state, code, source, bytecode)  # noqa: SLF001 - as above
    return written


if __name__ == "__main__":
    os.chdir(_TOP)
    compile_tests(_TOP / "tests")
