"""The ``knick`` command: thin over the library, one module a command."""

from __future__ import annotations

import sys
from typing import NoReturn

__all__ = ["main"]

_FAILED = 2
"""As :data:`knickpoint.cli.exit_codes.FAILED`."""


def main() -> NoReturn:
    """Run ``knick``; where the library is installed without it, say in one line what to install."""
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
