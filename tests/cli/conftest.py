"""Run ``knick`` in the process of the tests, and see what a user would see."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from knickpoint.cli.program import main


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    output: str
    errors: str


Knick = Callable[..., Ran]


@pytest.fixture
def knick(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Knick:
    """Return a function that runs ``knick`` with its arguments."""
    monkeypatch.delenv("KNICKPOINT_INSTANCE", raising=False)
    monkeypatch.setenv("KNICKPOINT_USER", "tester")

    def run(*arguments: str | Path) -> Ran:
        monkeypatch.setattr(sys, "argv", ["knick", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Ran(int(ended.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def instance(knick: Knick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty instance and go there."""
    place = tmp_path / "instance"
    assert knick("init", place).code == 0
    monkeypatch.chdir(place)
    return place


EXAMPLE = Path(__file__).parent.parent.parent / "docs" / "example" / "textmill.csv"


@pytest.fixture
def judged(knick: Knick, instance: Path) -> Path:
    """Return an instance that has the example, and findings."""
    assert knick("import", EXAMPLE).code == 0
    assert knick("run").code == 0
    return instance
