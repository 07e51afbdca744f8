"""Kernels under the address and undefined-behaviour sanitizers of the compiler: they read and write only what is theirs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

_ROOT = Path(__file__).parents[2]
_SANITIZE = "-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Build the kernels with sanitizers in a copy of the sources; return the environment that runs this copy."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is needed for its sanitizers")
    place = tmp_path_factory.mktemp("sanitized")
    for name in ("src", "building"):
        shutil.copytree(_ROOT / name, place / name, ignore=shutil.ignore_patterns("*.so", "__pycache__", "static"))
    build = "import sys; sys.path.insert(0, 'building'); from kernels import kernels; from setuptools import setup; "
    build += "extension = kernels(); extension.optional = False; setup(name='kernels', package_dir={'': 'src'}, packages=[], ext_modules=[extension])"
    subprocess.run(
        [sys.executable, "-c", build, "build_ext", "--inplace"],
        cwd=place,
        env=os.environ | {"CFLAGS": _SANITIZE, "LDFLAGS": _SANITIZE},
        check=True,
        capture_output=True,
    )
    libraries = [
        subprocess.run(
            [compiler, f"-print-file-name={name}"], check=True, capture_output=True, text=True
        ).stdout.strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    return os.environ | {
        "LD_PRELOAD": ":".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": str(place / "src"),
    }


def _run(sanitized: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], cwd=_ROOT, env=sanitized, check=False, capture_output=True, text=True
    )


def test_the_sanitizer_ends_a_program_that_writes_where_nothing_is(sanitized: dict[str, str]) -> None:
    program = "import numpy as np; from knickpoint.native._kernels import kp_narrow\n"
    program += "kp_narrow(np.ones(100), 100, np.empty(99, np.float32))"
    ended = _run(sanitized, "-c", program)
    assert "heap-buffer-overflow" in ended.stderr


def test_kernels_read_and_write_only_what_is_theirs(sanitized: dict[str, str]) -> None:
    near = ["-p", "no:cacheprovider", "-n", "0", "-q", "-m", "not long"]
    ended = _run(sanitized, "-m", "pytest", *near, "tests/native", "tests/detect/test_properties.py")
    assert ended.returncode == 0, f"{ended.stdout[-3000:]}{ended.stderr[-3000:]}"
