"""What every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_REPOSITORY = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def reference() -> Path:
    """Point to other people's data and vectors, which are not part of the project."""
    place = Path(os.environ.get("KNICKPOINT_REFERENCE") or _REPOSITORY.parent / "shared")
    if not (place / "vectors").is_dir():
        pytest.skip("no reference data: set KNICKPOINT_REFERENCE to a directory that holds vectors/ and data/")
    return place.resolve()
