"""Broken files thrown at every format: always the same ones here, others with ``make fuzz-formats``."""

from __future__ import annotations

import pytest
from tests.formats.fuzz import fuzz


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [20261121, 20261122])
def test_nothing_but_a_report_or_a_refusal_comes_out_of_broken_files(seed: int) -> None:
    assert fuzz(seed, files=20_000) == 0
