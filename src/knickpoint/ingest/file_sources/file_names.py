"""Decide by its name whether a file may hold results."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from knickpoint.ingest.context.sidecar import SIDECAR, SIDECAR_SUFFIX

__all__ = ["may_hold_results"]

_NEVER_RESULTS: Final = frozenset({".md", ".html", ".png", ".svg", ".pdf", ".zip", ".toml", ".db", ".py"})
"""Ends of names that are left alone among many files, whatever formats exist."""


def may_hold_results(name: str, pattern: str = "**/*") -> bool:
    """Return whether a file of this name, with slashes, may hold results: by ``pattern``, and by its end."""
    from knickpoint.formats import all_formats

    parts = name.split("/")
    if any(part.startswith(".") for part in parts):
        return False
    if parts[-1] == SIDECAR or name.endswith(SIDECAR_SUFFIX):
        return False
    if not (fnmatchcase(name, pattern) or fnmatchcase(name, pattern.removeprefix("**/"))):
        return False
    plain = parts[-1].lower().removesuffix(".gz")
    suffixes = {suffix for known in all_formats() for suffix in known.suffixes} | {".json", ".jsonl", ".ndjson", ".csv"}
    return plain.endswith(tuple(suffixes)) and Path(plain).suffix not in _NEVER_RESULTS
