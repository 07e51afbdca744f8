"""The description of the API as `make` wrote it: making it takes two seconds, in each process that collects the tests.

``test_reference.py`` checks that it is what the program describes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

__all__ = ["DESCRIPTION", "KEPT", "PATHS"]

KEPT: Final = Path(__file__).parent.parent.parent / "docs" / "reference" / "openapi.json"

DESCRIPTION: Final[dict[str, Any]] = json.loads(KEPT.read_text(encoding="utf-8"))

PATHS: Final[dict[str, dict[str, Any]]] = DESCRIPTION["paths"]
"""Path → method → operation."""
