"""The page about security names a test for each promise, and the test is there."""

from __future__ import annotations

import re
from pathlib import Path

_ROOT = Path(__file__).parent.parent.parent
_PAGE = (_ROOT / "docs" / "security.md").read_text(encoding="utf-8")


def _promises() -> list[str]:
    """Return the lines of the tables of promises."""
    begin, end = _PAGE.index("## What is promised"), _PAGE.index("## What is not promised")
    lines = [line for line in _PAGE[begin:end].splitlines() if line.startswith("| ")]
    return [line for line in lines if line != "| promise | test |"]


def test_each_promise_names_a_test_that_is_there() -> None:
    for line in _promises():
        tests = re.findall(r"`([\w/]+\.py)`", line.rpartition(" | ")[2])
        assert tests, line
        assert [name for name in tests if not (_ROOT / "tests" / name).is_file()] == [], line


def test_the_way_to_report_is_stated() -> None:
    assert "Report a vulnerability" in _PAGE
    assert re.search(r"[\w.]+@[\w.]+\.\w+", _PAGE) is None  # there is no mail address that somebody reads
