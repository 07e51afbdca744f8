"""Environments of their own for the peers that benchmarks compare with: ``build/peers/NAME``.

Their pins disagree with ours and with each other's, so each gets a virtual environment, made when it is
first asked for, and is driven as a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

__all__ = ["PEERS", "peer_python"]

_ROOM: Final = Path(__file__).resolve().parent.parent / "build" / "peers"

PEERS: Final[dict[str, tuple[str, ...]]] = {
    "asv": ("asv==0.6.6",),
    "duckdb": ("duckdb>=1.4", "numpy>=2", "pyarrow>=20"),
    "otava": ("apache-otava==0.8.0",),
    "sklearn": ("scikit-learn==1.9.*", "ruptures==1.1.10", "threadpoolctl"),
    "spa": ("numpy<2", "signal-processing-algorithms==2.1.6"),
}
"""Name of an environment to what is installed in it."""


def peer_python(name: str) -> Path | None:
    """Return the interpreter of the environment ``name``, set up if need be; None when that fails.

    The reason for a failure goes to standard error.
    """
    place = _ROOM / name
    python = place / "bin" / "python"
    wanted = "\n".join(PEERS[name]) + "\n"
    stamp = place / "installed.txt"
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"Setting up the peer {name} in {place}", file=sys.stderr)
    venv.create(place, with_pip=True, clear=True, symlinks=True)
    command = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *PEERS[name]]
    outcome = subprocess.run(command, check=False, capture_output=True, text=True)
    if outcome.returncode:
        print(f"The peer {name} cannot be installed: {outcome.stderr.strip()[-400:]}", file=sys.stderr)
        return None
    stamp.write_text(wanted)
    return python
