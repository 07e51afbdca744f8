"""Build the kernels where a compiler and the headers are at hand, and the dashboard where it is not there yet."""

import sys
from pathlib import Path

import setuptools_scm  # noqa: F401 - gives the version; without it setuptools would silently say 0.0.0
from setuptools import setup

sys.path.insert(0, str(Path(__file__).parent / "building"))

from commands import BuildKernels, BuildPackage, BuildSource, BuildWheel
from kernels import kernels
from readme import index_page

setup(
    long_description=index_page(Path(__file__).parent),
    long_description_content_type="text/markdown",
    ext_modules=[kernels()],
    cmdclass={"bdist_wheel": BuildWheel, "build_ext": BuildKernels, "build_py": BuildPackage, "sdist": BuildSource},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
