"""The build backend: setuptools, and Node from PyPI where the dashboard has to be built and the machine has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

from dashboard import is_wanted
from node import REQUIREMENT, has_node

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def _node() -> list[str]:
    return [REQUIREMENT] if is_wanted() and not has_node() else []


def get_requires_for_build_sdist(config_settings: Mapping[str, Any] | None = None) -> list[str]:
    """Return what making a source distribution needs besides setuptools."""
    return [*build_meta.get_requires_for_build_sdist(config_settings), *_node()]


def get_requires_for_build_wheel(config_settings: Mapping[str, Any] | None = None) -> list[str]:
    """Return what making a wheel needs besides setuptools."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *_node()]
