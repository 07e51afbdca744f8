"""Broken files thrown at every format for a minute."""

from __future__ import annotations

import pytest
from tests.formats.fuzz import fuzz


@pytest.mark.long
@pytest.mark.timeout(180)
def test_nothing_but_a_report_or_a_refusal_comes_out_of_broken_files() -> None:
    assert fuzz(seconds=60.0, seed=20261121) == 0
