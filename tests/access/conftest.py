"""A CI service for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.access.issuer import CiService, ci_service


@pytest.fixture
def service() -> Iterator[CiService]:
    """Serve a CI service of the test's own."""
    with ci_service() as served:
        yield served
