"""A package that breaks the readers of the process that loads it, and adds a format whose reader never ends."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.broken_readers import break_readers

from knickpoint.formats import FileContent, Format
from knickpoint.formats.format import Parsed

ENDLESS: Final = "endless\n"
"""A file that is never read to its end."""

FORMAT: Final = Format("endless", "Endless", (".txt",), "", "", __name__)


def install(place: Path) -> None:
    """Install the package in the directory ``place``, for processes that have it in their path."""
    about = place / "hostile-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: hostile\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(f"[knickpoint.formats]\nendless = {__name__}:load\n", encoding="utf-8")


def fits(file: FileContent) -> bool:
    return file.readable == ENDLESS


def read(file: FileContent) -> Parsed:
    while True:
        assert file


def __getattr__(name: str) -> Format:
    if name != "load":
        raise AttributeError(name)
    break_readers(setattr)
    return FORMAT
