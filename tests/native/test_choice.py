from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from knickpoint.model.errors import ConfigError
from knickpoint.native.extension import lib

_WITHOUT = "import sys; sys.modules['knickpoint.native._kernels'] = None\n"


def _run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "KNICKPOINT_KERNELS"}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**inherited, **environment}
    )


def test_without_compiled_kernels_numpy_takes_over_and_says_so_once() -> None:
    answer = _run(
        _WITHOUT + "import knickpoint.native, knickpoint.detect\n"
        "from knickpoint.detect import find_steps\n"
        "print(knickpoint.native.COMPILED, [step.index for step in find_steps([1.0] * 30 + [9.0] * 30)])"
    )
    assert answer.stdout == "False [30]\n"
    assert answer.stderr.count("NumPy takes over") == 1


def test_asking_for_numpy_is_silent() -> None:
    answer = _run("import knickpoint.native; print(knickpoint.native.COMPILED)", KNICKPOINT_KERNELS="numpy")
    assert (answer.stdout, answer.stderr) == ("False\n", "")


def test_an_extension_that_is_older_than_the_code_says_to_build_it_again() -> None:
    with pytest.raises(ConfigError, match="older than this code: they lack kp_newer_kernel") as caught:
        lib.kp_newer_kernel(1)
    assert (Path(caught.value.where).stem.split(".")[0], "make setup" in caught.value.remedy) == ("_kernels", True)
    assert not hasattr(lib, "__path__")
    assert not hasattr(lib, "datetime")
