"""What the comparisons with other projects may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.reference_data import skip_without_reference


@pytest.fixture(scope="session")
def reference() -> Path:
    """Point to the data and vectors of other projects, which are not part of this one."""
    return skip_without_reference()
