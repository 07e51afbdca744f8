"""Publish the demonstration of the site: the kept histories of the examples, as read-only pages in build/demonstration.

``make site`` calls it. ``--address`` is where the pages will be: chats load their pictures only from whole addresses.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

_TOP: Final = Path(__file__).parent.parent
_EXAMPLES: Final = _TOP / "docs" / "example"
_HISTORIES: Final = ("knickpoint", "textmill")


def main(*options: str) -> int:
    """Import each history into a repository of its own, find its changes, publish all of it."""
    with tempfile.TemporaryDirectory() as instance:
        _knick(instance, "init", "--no-repository", "--name", "demonstration")
        for name in _HISTORIES:
            _knick(instance, "import", "--as-work", "--repository", name, str(_EXAMPLES / f"{name}.csv"))
        _knick(instance, "run")
        _knick(instance, "publish", "--all", *options, str(_TOP / "build" / "demonstration"))
    return 0


def _knick(instance: str, *command: str) -> None:
    done = subprocess.run(  # noqa: S603  # this interpreter
        [sys.executable, "-m", "knickpoint.cli", *command], cwd=instance, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"knick {' '.join(command)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
