"""The description of the API, made once for all tests: it takes a second."""

from __future__ import annotations

from typing import Any, Final, cast

from knickpoint.server import describe_api

__all__ = ["DESCRIPTION", "PATHS"]

DESCRIPTION: Final[dict[str, Any]] = cast("dict[str, Any]", describe_api())

PATHS: Final[dict[str, dict[str, Any]]] = DESCRIPTION["paths"]
"""Path → method → operation."""
