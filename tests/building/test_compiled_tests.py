"""The modules of the tests are compiled as the workers of a run would compile them."""

import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
COMPILE = "import sys; from pathlib import Path; from compiled_tests import compile_tests; print(compile_tests(Path(sys.argv[1])))"


def _python(folder: Path, *arguments: str) -> str:
    environment = {"PYTHONPATH": str(TOP / "building")}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.long
def test_a_run_takes_what_was_compiled_and_compiles_nothing_again(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib -p no:cacheprovider\n")
    (tmp_path / "test_one.py").write_text("def test_sum() -> None:\n    assert 1 + 1 == 2\n")
    assert _python(tmp_path, "-c", COMPILE, str(tmp_path)).strip() == "1"
    (compiled,) = tmp_path.glob("__pycache__/*.pyc")
    before = compiled.stat()

    assert "1 passed" in _python(tmp_path, "-m", "pytest")
    after = compiled.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert list(tmp_path.glob("__pycache__/*.pyc")) == [compiled]
    assert _python(tmp_path, "-c", COMPILE, str(tmp_path)).strip() == "0"
