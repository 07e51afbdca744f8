"""The documentation does what it says: commands run, links lead somewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import pytest
from tests.bisect.pool.programs import free_port
from tests.examples import in_the_long_run

_TOP = Path(__file__).parent.parent.parent
_PAGES = sorted([*_TOP.glob("*.md"), *_TOP.glob("docs/**/*.md")])
_RUN = [_TOP / "docs" / "quick-start.md", _TOP / "docs" / "install.md", _TOP / "docs" / "tutorials" / "self.md"]
_SITE_ONLY = re.compile(r"<!-- site: .*? -->", re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]+)(#[^)]*)?\)")


@dataclass(frozen=True)
class _Step:
    """A command of a page with the lines that the page shows below it, or a file that the page has the reader write."""

    command: str
    output: tuple[str, ...] = ()


def _steps(page: Path) -> Iterator[_Step]:
    """Yield what a reader of a page types: the commands of its console blocks, and the files of blocks with a title."""
    blocks = r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```"
    for kind, title, block in re.findall(blocks, page.read_text(), flags=re.MULTILINE | re.DOTALL):
        if title:
            yield _Step(f"cat > {title} <<'END OF FILE'\n{block}END OF FILE")
        elif kind == "console":
            for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                first, *lines = part.rstrip("\n").split("\n")
                more = list(takewhile(lambda line: line.startswith(">"), lines))
                command = "\n".join([first, *(line[1:].removeprefix(" ") for line in more)])
                yield _Step(command, tuple(lines[len(more) :]))


def _fits(expected: tuple[str, ...], printed: str) -> bool:
    """Compare whole lines, whatever the width of the columns; … stands for anything."""
    pattern = r"\n".join(re.escape(_narrow(line)).replace("…", ".*") for line in expected)
    return re.search(f"^{pattern}", _narrow(printed), flags=re.MULTILINE) is not None


def _narrow(text: str) -> str:
    return re.sub(" +", " ", text)


def _run_page(page: Path, directory: Path) -> None:
    """Type what a page says into one shell in ``directory``, and compare what it prints."""
    steps = list(_steps(page))
    script = "set -m\n" + "".join(f"{step.command}\nprintf '\\n@@ %s @@\\n' $?\n" for step in steps)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("CI", "GITHUB_", "PYTEST_"))
    }
    environment |= {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "200"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=directory, env=environment, capture_output=True, text=True, check=False
    )
    answers = re.findall(r"(.*?)\n@@ (\d+) @@\n", done.stdout, flags=re.DOTALL)
    for step, (printed, code) in zip(steps, answers, strict=True):
        assert code == "0", f"$ {step.command}\n{printed}{done.stderr}"
        assert _fits(step.output, printed), f"$ {step.command}\n{printed}"


@pytest.mark.parametrize("page", [_RUN[1], *in_the_long_run(_RUN[0], _RUN[2])], ids=lambda page: page.stem)
def test_the_commands_of_a_page_print_what_it_shows(page: Path, tmp_path: Path) -> None:
    shutil.copytree(_TOP / "docs" / "example", tmp_path / "docs" / "example")
    _run_page(page, tmp_path)


@pytest.mark.long
def test_the_commands_of_the_tutorial_on_a_library_print_what_it_shows(tmp_path: Path) -> None:
    _run_page(_TOP / "docs" / "tutorials" / "library.md", tmp_path)


@pytest.mark.long
def test_the_commands_of_the_tutorial_on_devices_print_what_it_shows(tmp_path: Path) -> None:
    page = tmp_path / "devices.md"
    text = (_TOP / "docs" / "tutorials" / "devices.md").read_text()
    page.write_text(text.replace(":8786", f":{free_port()}"))
    _run_page(page, tmp_path)


def test_the_links_of_a_page_lead_to_files() -> None:
    texts = {page: _SITE_ONLY.sub("", page.read_text()) for page in _PAGES}
    links = [(page, link) for page, text in texts.items() for link, _ in _LINK.findall(text) if "://" not in link]
    assert [f"{page.name}: {link}" for page, link in links if not (page.parent / link).exists()] == []


def test_the_code_names_decisions_that_exist() -> None:
    named = {
        name
        for room in ("src", "tests", "benchmarks")
        for module in (_TOP / room).rglob("*.py")
        for name in re.findall(r"docs/decisions/[\w-]+\.md", module.read_text())
    }
    assert [name for name in sorted(named) if not (_TOP / name).exists()] == []


def _anchors(page: Path) -> set[str]:
    """Return what can follow ``#`` in a link to a page: its headings, as forges write them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_links_into_a_page_lead_to_headings() -> None:
    anchors = {page: _anchors(page) for page in _PAGES}
    links = [
        (page, (page.parent / link).resolve(), part[1:])
        for page in _PAGES
        for link, part in _LINK.findall(page.read_text())
        if part and "://" not in link
    ]
    assert [f"{page.name}: {to.name}#{part}" for page, to, part in links if part not in anchors[to]] == []
