"""Run a tool in a place of its own, and keep what it wrote without the names of this machine."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import socket
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Final

__all__ = ["PYTHON", "WORK", "MissingToolError", "keep", "pip", "place", "repository", "run", "version_of"]

_ROOT: Final = Path(__file__).resolve().parents[2]
_GOLDEN: Final = _ROOT / "tests" / "formats" / "golden"
WORK: Final = _ROOT / "build" / "format-samples"
PYTHON: Final = WORK / "venv" / "bin"
_ENVIRONMENT: Final = {**os.environ, "GIT_AUTHOR_NAME": "A. Uthor", "GIT_COMMITTER_NAME": "A. Uthor"} | {
    "GIT_AUTHOR_EMAIL": "author@example.org",
    "GIT_COMMITTER_EMAIL": "author@example.org",
}


class MissingToolError(Exception):
    """A tool is not installed."""


def run(*command: str | Path, where: Path, check: bool = True, settings: dict[str, str] | None = None) -> str:
    """Run a program and return what it prints. Raises ``MissingToolError``, and ends where the program fails."""
    program = shutil.which(where / command[0] if str(command[0]).startswith("./") else command[0])
    if program is None:
        raise MissingToolError(f"{command[0]} is not installed")
    done = subprocess.run(
        [program, *map(str, command[1:])],
        cwd=where,
        env={**_ENVIRONMENT, **(settings or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if check and done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}")
    return done.stdout


def place(name: str, **files: str) -> Path:
    """Make an empty directory with ``files``, by name with ``__`` for the dot."""
    made = WORK / name
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    for file, text in files.items():
        (made / file.replace("__", ".")).write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
    return made


def repository(where: Path) -> None:
    """Make a git repository of what is in ``where``."""
    run("git", "init", "-q", "-b", "main", where=where)
    run("git", "add", "-A", where=where)
    run("git", "commit", "-q", "-m", "Add benchmarks", where=where)


def keep(name: str, text: str) -> None:
    """Write a golden file, with public names in place of those of this machine and its user."""
    for private, public in (
        (str(WORK), "/home/someone"),
        (str(_ROOT), "/home/someone"),
        (socket.gethostname(), "bench-1"),
        (str(Path.home()), "/home/someone"),
        (str(WORK).strip("/").replace("/", "_"), "home_someone"),
        (os.uname().release, "6.1.0"),
    ):
        text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(private)}(?![A-Za-z0-9])", public, text)
    if len(getpass.getuser()) > 4:
        text = text.replace(getpass.getuser(), "someone")
    _GOLDEN.mkdir(parents=True, exist_ok=True)
    (_GOLDEN / name).write_text(text, encoding="utf-8")
    print(f"wrote {name} ({len(text)} characters)")


def pip(*packages: str) -> None:
    """Install packages of Python into an environment of their own."""
    if not (PYTHON / "python").exists():
        WORK.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", PYTHON.parent], check=True)
    subprocess.run([PYTHON / "pip", "install", "--quiet", *packages], check=True, stderr=subprocess.DEVNULL)


def version_of(package: str) -> str:
    """Return the version of an installed package of Python."""
    return run(
        PYTHON / "python", "-c", f"from importlib.metadata import version; print(version('{package}'))", where=WORK
    ).strip()
