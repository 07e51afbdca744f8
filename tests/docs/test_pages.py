"""The documentation does what it says: commands run, links lead somewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

_TOP = Path(__file__).parent.parent.parent
_PAGES = sorted([*_TOP.glob("*.md"), *_TOP.glob("docs/**/*.md")])
_RUN = [_TOP / "docs" / "quick-start.md"]
_LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")


@dataclass(frozen=True)
class _Step:
    command: str
    output: tuple[str, ...]


def _steps(page: Path) -> Iterator[_Step]:
    """Yield the commands of a page's console blocks with the lines that follow them."""
    for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *output = part.rstrip("\n").split("\n")
            yield _Step(command, tuple(output))


def _fits(expected: tuple[str, ...], printed: str) -> bool:
    """Compare whole lines, whatever the width of the columns; … stands for anything."""
    pattern = r"\n".join(re.escape(_narrow(line)).replace("…", ".*") for line in expected)
    return re.search(f"^{pattern}", _narrow(printed), flags=re.MULTILINE) is not None


def _narrow(text: str) -> str:
    return re.sub(" +", " ", text)


@pytest.mark.parametrize("page", _RUN, ids=lambda page: page.stem)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    shutil.copytree(_TOP / "docs" / "example", tmp_path / "docs" / "example")
    bin_directory = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{bin_directory}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "200"}
    for step in _steps(page):
        done = subprocess.run(
            ["bash", "-c", step.command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"$ {step.command}\n{done.stdout}{done.stderr}"
        assert _fits(step.output, done.stdout), f"$ {step.command}\n{done.stdout}"


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_TOP)))
def test_the_links_of_a_page_lead_to_files(page: Path) -> None:
    links = [link for link, _ in _LINK.findall(page.read_text()) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []


def _anchors(page: Path) -> set[str]:
    """Return what can follow ``#`` in a link to a page: its headings, as forges write them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(_TOP)))
def test_the_links_into_a_page_lead_to_headings(page: Path) -> None:
    links = [
        (page.parent / link, part[1:]) for link, part in _LINK.findall(page.read_text()) if part and "://" not in link
    ]
    assert [f"{to.name}#{part}" for to, part in links if part not in _anchors(to)] == []
