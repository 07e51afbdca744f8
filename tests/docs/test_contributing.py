"""The packages on the pages for contributors build, install and work as they are printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

_PAGES = Path(__file__).parent.parent.parent / "docs" / "contributing"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^`([\w./]+\.(?:py|toml))`", re.MULTILINE)

Run = Callable[..., subprocess.CompletedProcess[str]]


def _printed_files(page: str) -> dict[str, str]:
    """Return the files of a page: each is named at the start of the paragraph before its block."""
    text = (_PAGES / page).read_text(encoding="utf-8")
    blocks = [match for match in _BLOCK.finditer(text) if match[1] in {"python", "toml"}]
    names = [_FILE.findall(text, 0, block.start())[-1] for block in blocks]
    return dict(zip(names, (block[2] for block in blocks), strict=True))


def _example(page: str) -> str:
    """Return the first block of plain text of a page."""
    text = (_PAGES / page).read_text(encoding="utf-8")
    return next(block[2] for block in _BLOCK.finditer(text) if block[1] == "text")


@pytest.fixture(scope="module")
def package_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a way to build the package of a page, once, and to install it beside the program."""

    @cache
    def install(page: str) -> Path:
        place = tmp_path_factory.mktemp("package")
        source, target = place / "source", place / "installed"
        source.mkdir()
        for name, text in _printed_files(page).items():
            (source / name).write_text(text, encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--no-build-isolation", "--target", target, source], check=True)
        return target

    return install


@pytest.fixture
def installed(package_of: Callable[[str], Path], tmp_path: Path) -> Callable[[str], Run]:
    """Return a way to run ``knick`` with the package of a page."""

    def install(page: str) -> Run:
        target = package_of(page)

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-m", "knickpoint.cli", *arguments]
            environment = {**os.environ, "PYTHONPATH": str(target)}
            return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

        return run

    return install


@pytest.mark.long
def test_the_format_of_a_package_is_listed_recognised_and_read(installed: Callable[[str], Run], tmp_path: Path) -> None:
    run = installed("format.md")
    (tmp_path / "results.txt").write_text(_example("format.md"), encoding="utf-8")
    assert "stopwatch" in [known["name"] for known in json.loads(run("import", "--list", "--format", "json").stdout)]
    run("init", "instance")
    imported = run("import", "results.txt", "--instance", "instance", "--commit", "1", "--format", "json")
    assert imported.returncode == 0, imported.stderr
    exported = run("export", "--instance", "instance", "--format", "json")
    points = [(point["id"], point["value"], point["unit"]) for point in json.loads(exported.stdout)]
    assert sorted(points) == [(",benchmark=parse_large,", 1.75, "s"), (",benchmark=parse_small,", 12.5, "ms")]


@pytest.mark.long
def test_what_the_format_of_a_package_refuses_is_named_with_its_line(
    installed: Callable[[str], Run], tmp_path: Path
) -> None:
    run = installed("format.md")
    (tmp_path / "broken.txt").write_text("stopwatch 2\nparse 12.5\n", encoding="utf-8")
    run("init", "instance")
    refused = run("import", "broken.txt", "--instance", "instance", "--commit", "1")
    assert refused.returncode != 0
    assert "line 2: 'parse 12.5' is not a benchmark, a time and a unit" in refused.stdout


@pytest.mark.long
def test_the_methods_of_a_package_find_steps(installed: Callable[[str], Run], tmp_path: Path) -> None:
    run = installed("method.md")
    (tmp_path / "one.csv").write_text("value\n" + "1\n" * 5 + "2\n" * 5, encoding="utf-8")
    (tmp_path / "two.csv").write_text("a,b\n" + "1,3\n" * 5 + "2,4\n" * 5, encoding="utf-8")
    alone = json.loads(run("detect", "one.csv", "--method", "halves", "--format", "json").stdout)
    together = json.loads(run("detect", "two.csv", "--method", "halves_joint", "--format", "json").stdout)
    assert [(step["index"], step["method"]) for step in alone] == [(5, "halves")]
    assert [(step["id"], step["index"]) for step in together] == [("a", 5), ("b", 5)]
    assert (
        json.loads(run("detect", "one.csv", "--method", "halves", "--set", "factor=3", "--format", "json").stdout) == []
    )


@pytest.mark.long
def test_the_channel_of_a_package_takes_messages(installed: Callable[[str], Run], tmp_path: Path) -> None:
    run = installed("channel.md")
    run("init", "instance")
    (tmp_path / "instance" / "messages").mkdir()
    page = (_PAGES / "channel.md").read_text(encoding="utf-8")
    section = next(block[2] for block in _BLOCK.finditer(page) if block[1] == "ini")
    with (tmp_path / "instance" / "knickpoint.toml").open("a", encoding="utf-8") as file:
        file.write(section)
    tried = run("notify", "--test", "archive", "--instance", "instance")
    assert tried.returncode == 0, tried.stderr
    (message,) = (tmp_path / "instance" / "messages").iterdir()
    assert "test of the channel archive" in message.read_text(encoding="utf-8")


@pytest.mark.long
def test_a_channel_that_no_package_registers_is_named(installed: Callable[[str], Run], tmp_path: Path) -> None:
    run = installed("channel.md")
    run("init", "instance")
    with (tmp_path / "instance" / "knickpoint.toml").open("a", encoding="utf-8") as file:
        file.write('[channels.archive]\nkind = "other"\nplugin = "fax"\n')
    refused = run("notify", "--test", "archive", "--instance", "instance")
    assert refused.returncode == 2
    assert "plugin is 'fax', which no package registers" in refused.stderr
