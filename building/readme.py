"""Make the page of the project as package indexes show it: the README, with links that lead back to the repository."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

__all__ = ["index_page"]

_LINK: Final = re.compile(r"(!?)(\[[^\]]*\]\()(?!\w+:|#)([^)\s]+\))")
"""An image or a link with an address relative to the README: what stands before the address, and the address."""


def index_page(top: Path) -> str:
    """Return the README of the tree at ``top`` with absolute links; those of pages lead to the default branch."""
    project = tomllib.loads((top / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = project["urls"]["Source"]

    def absolute(link: re.Match[str]) -> str:
        image, text, address = link.groups()
        return f"{image}{text}{source}/{'raw' if image else 'blob'}/HEAD/{address}"

    return _LINK.sub(absolute, (top / "README.md").read_text(encoding="utf-8"))
