"""The ``knick`` command: thin over the library, one module a command."""

from __future__ import annotations

import atexit
import gc
import sys
from typing import NoReturn

__all__ = ["main"]

_FAILED = 2
"""As :data:`knickpoint.cli.exit_codes.FAILED`."""


def main() -> NoReturn:
    """Run ``knick``; where the library is installed without it, say in one line what to install.

    When it ends, the garbage collector leaves out what is still alive: walking all modules takes a seventh of the time
    of a short command, and the memory is given back in any case.
    """
    atexit.register(gc.freeze)
    try:
        from knickpoint.cli.program import main as run
    except ModuleNotFoundError as error:
        from knickpoint.cli.missing_package import explain_missing

        reason = explain_missing(error)
        if not reason:
            raise
        print(f"knick: {reason}", file=sys.stderr)  # noqa: T201
        sys.exit(_FAILED)
    run()
