"""The data of other projects that tests in ``tests/reference/`` compare with; they are not part of this project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_REPOSITORY = Path(__file__).parent.parent


def skip_without_reference() -> Path:
    """Return the directory with ``vectors/`` and ``data/``; skip the calling module where there is none."""
    directory = Path(os.environ.get("KNICKPOINT_REFERENCE") or _REPOSITORY.parent / "shared")
    if not (directory / "vectors").is_dir():
        pytest.skip(
            "no reference data: set KNICKPOINT_REFERENCE to a directory that holds vectors/ and data/",
            allow_module_level=True,
        )
    return directory.resolve()
