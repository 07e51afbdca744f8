"""Build the dashboard into the package, so that every wheel and every sdist carries it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from node import node_environment

__all__ = ["WITHOUT", "DashboardError", "build_dashboard", "is_wanted"]

WITHOUT: Final = "KNICKPOINT_WITHOUT_DASHBOARD"
"""The environment variable that, where it is set and not empty, has a build go on without making the dashboard."""

_TOP: Final = Path(__file__).resolve().parent.parent
_SOURCES: Final = _TOP / "frontend"
_PAGE: Final = _TOP / "src" / "knickpoint" / "server" / "static" / "index.html"
_OTHER: Final = {"node_modules", "tests"}
"""Directories of the frontend that the dashboard is not made from."""

_COMMANDS: Final = (
    ("npm", "ci", "--no-audit", "--no-fund", "--loglevel", "error"),
    ("npm", "run", "--silent", "build", "--", "--logLevel", "warn"),
)


class DashboardError(Exception):
    """The dashboard cannot be built."""


def _is_built() -> bool:
    """Say whether the dashboard is there and no older than its sources.

    An unpacked sdist has it built from the sources beside it; times of its files depend on how it was unpacked.
    """
    if not _PAGE.is_file():
        return False
    if (_TOP / "PKG-INFO").is_file():
        return True
    built = _PAGE.stat().st_mtime
    chosen = (entry for entry in _SOURCES.iterdir() if entry.name not in _OTHER)
    files = (file for entry in chosen for file in ([entry] if entry.is_file() else entry.rglob("*")))
    return all(file.stat().st_mtime <= built for file in files if file.is_file())


def is_wanted() -> bool:
    """Say whether a build has to make the dashboard: it is not left out on purpose, and not there yet."""
    return not os.environ.get(WITHOUT) and not _is_built()


def build_dashboard() -> None:
    """Build the dashboard where it is wanted.

    Raises:
        DashboardError: it cannot be built; what npm printed stands before it.
    """
    if not is_wanted():
        return
    remedy = (
        "The build needs Node 20.19 or newer, and the npm registry. "
        f"Set {WITHOUT}=1 to build without a dashboard: knick serve then has the API only."
    )
    try:
        environment = node_environment(_TOP)
        for command in _COMMANDS:
            subprocess.run(command, cwd=_SOURCES, env=environment, check=True)
    except FileNotFoundError as error:
        raise DashboardError(f"the dashboard cannot be built: {error}. {remedy}") from error
    except subprocess.CalledProcessError as error:
        called = " ".join(error.cmd)
        reason = f"the dashboard cannot be built: `{called}` ended with exit code {error.returncode}"
        raise DashboardError(f"{reason}. {remedy}") from error
    if not _PAGE.is_file():
        raise DashboardError(f"the dashboard cannot be built: {_PAGE} was not written. {remedy}")
    _PAGE.touch()
