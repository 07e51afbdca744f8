"""Build the kernels where a compiler and the headers are at hand; install without them where not."""

import sys
from pathlib import Path

from setuptools import setup

sys.path.insert(0, str(Path(__file__).parent / "src" / "knickpoint" / "native"))

from build_kernels import kernels

setup(ext_modules=[kernels()], options={"bdist_wheel": {"py_limited_api": "cp311"}})
