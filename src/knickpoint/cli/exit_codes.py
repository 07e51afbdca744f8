"""The exit codes of ``knick``, beside 0 for success and those of ``knick check``."""

from __future__ import annotations

from typing import Final

__all__ = ["FAILED", "INTERRUPTED"]

FAILED: Final = 2
"""The command could not do its work; 1 is a verdict of ``knick check``."""

INTERRUPTED: Final = 130
"""The user interrupted the command."""
