"""The version of the installed distribution, which its build takes from the last tag."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Final

_UNKNOWN: Final = "0+unknown"


def _installed() -> str:
    """Return the version that is installed; a source tree that was never built has none."""
    try:
        return version("knickpoint")
    except PackageNotFoundError:
        return _UNKNOWN


__version__: Final = _installed()
