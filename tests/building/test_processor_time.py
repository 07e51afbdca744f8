"""A run lists its slow tests, and fails with one that is too slow twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.examples import in_the_long_run

_TOP = Path(__file__).parents[2]
_LIMITS = "from tests import processor_time\nprocessor_time.LISTED, processor_time.LIMIT = 0.05, 0.1\n"
_BEGINNING = """\
import subprocess, sys, time
from pathlib import Path
import pytest

BURN = "import time\\nwhile time.process_time() < 0.15: pass"

@pytest.fixture(scope="module")
def world():
    start = time.process_time()
    while time.process_time() - start < 0.15: pass

def test_first_in_the_world(world): pass
"""
_TWICE = "def test_slow(): subprocess.run([sys.executable, '-S', '-c', BURN], check=True)\n"
_ONCE = """\
def test_slow():
    if not Path("measured").exists():
        Path("measured").touch()
        subprocess.run([sys.executable, "-S", "-c", BURN], check=True)
"""


@pytest.mark.long
@pytest.mark.parametrize("options", [[], *in_the_long_run(["-p", "xdist.plugin", "-n", "2"])])
@pytest.mark.parametrize(("slow", "code"), [(_TWICE, 1), (_ONCE, 0)], ids=["twice", "once"])
def test_a_run_fails_where_a_test_is_too_slow_twice(slow: str, code: int, options: list[str], tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p tests.processor_time -p no:cacheprovider\n")
    (tmp_path / "conftest.py").write_text(_LIMITS)
    (tmp_path / "test_speed.py").write_text(_BEGINNING + slow)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("KNICKPOINT_", "PYTEST_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options],
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": str(_TOP), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "CI": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    first, again, second = done.stdout.partition("over 0.1 s, measured again alone")
    assert again
    assert "test_speed.py::test_slow\n" in first
    assert "test_speed.py: fixture world\n" in first
    assert "test_speed.py::test_first_in_the_world" not in first
    assert ("test_speed.py::test_slow\n" in second) is (code == 1)
