"""The data of other projects that tests in ``tests/reference/`` compare with; they are not part of this project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

NO_REFERENCE = "no reference data: set KNICKPOINT_REFERENCE to a directory that holds vectors/ and data/"
_REPOSITORY = Path(__file__).parent.parent


def reference_directory() -> Path | None:
    """Return the directory with ``vectors/`` and ``data/``, None where there is none."""
    directory = Path(os.environ.get("KNICKPOINT_REFERENCE") or _REPOSITORY.parent / "shared")
    return directory.resolve() if (directory / "vectors").is_dir() else None


def skip_without_reference() -> None:
    """Skip the calling module where the data are missing."""
    if reference_directory() is None:
        pytest.skip(NO_REFERENCE, allow_module_level=True)
