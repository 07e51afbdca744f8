"""The examples of the guide are true: configurations are accepted and run, commands and names exist."""

from __future__ import annotations

import ast
import csv
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest
from tests.repositories import GitRepository

from knickpoint.cli.program import knick
from knickpoint.detect import find_steps
from knickpoint.ingest import import_files
from knickpoint.instance import Config, create_instance, read_config
from knickpoint.model.errors import KnickpointError
from knickpoint.watch.alert_config.applied_alerts import compare_alerts
from knickpoint.watch.alert_run.run import run_alerts

_TOP = Path(__file__).parent.parent.parent
_PAGES = [_TOP / "README.md", _TOP / "docs" / "quick-start.md", *sorted(_TOP.glob("docs/guide/**/*.md"))]

_SECTIONS = tuple(f"[{name.removesuffix('_')}" for name in (*Config.__dataclass_fields__, "[ingest"))


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def test_a_configuration_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = []
    blocks = [(page, block) for page in _PAGES for block in _blocks(page, "toml") if block.startswith(_SECTIONS)]
    for number, (page, block) in enumerate(blocks):
        place = tmp_path / str(number)
        place.mkdir()
        for name in re.findall(r"\$\{(\w+)\}", block):
            monkeypatch.setenv(name, "a-secret-of-the-environment")
        for name in re.findall(r'^templates = "(\w+)"', block, re.MULTILINE):
            (place / name).mkdir()
        file = place / "knickpoint.toml"
        file.write_text(block, encoding="utf-8")
        try:
            read_config(file)
        except KnickpointError as error:
            refused.append((page.name, block, str(error)))
    assert blocks
    assert refused == []


@pytest.mark.parametrize("block", _blocks(_TOP / "docs" / "guide" / "alerts.md", "toml"))
def test_the_alerts_of_the_guide_run(block: str, tmp_path: Path) -> None:
    with create_instance(tmp_path, repositories={"mylib": ""}) as instance:
        import_files(instance, [_TOP / "docs" / "example" / "textmill.csv"], repository="mylib")
        repository = instance.store.commits.repository("mylib")
        slots = instance.store.commits.line(repository).slots
        instance.store.commits.set_line(repository, "release-2", slots)
        file = tmp_path / "alerts.toml"
        file.write_text(block, encoding="utf-8")
        alerts = tuple(read_config(file).alerts.values())
        assert len(compare_alerts(instance.store, alerts)) == len(alerts)
        assert {run.alert for run in run_alerts(instance.store, alerts).alerts} <= {alert.name for alert in alerts}


def test_our_own_history_names_the_commits_that_made_k_means_faster() -> None:
    with (_TOP / "docs" / "example" / "knickpoint.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["benchmark"] == "k-means"]
    steps = find_steps([float(row["statements"]) for row in rows])
    found = {rows[step.index]["commit"][:8]: step.relative_size for step in steps if step.size < 0}
    assert found == {
        "94ce167b": pytest.approx(-0.5, abs=0.1),
        "77bfc029": pytest.approx(-0.55, abs=0.1),
        "df8ef10a": pytest.approx(-0.7, abs=0.1),
    }


def test_what_an_example_imports_is_there() -> None:
    imported = [
        (page.name, node.module or "", alias.name)
        for page in _PAGES
        for block in _blocks(page, "python")
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert [(page, module, name) for page, module, name in imported if not hasattr(import_module(module), name)] == []


def _commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of each ``knick`` command in the blocks and the text of a page, options included."""
    text = page.read_text(encoding="utf-8")
    lines = [
        line
        for block in re.findall(r"^```\w*\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]
    for line in [*lines, *re.findall(r"`(knick [^`]+)`", text)]:
        found = re.search(r"(?<!/)\bknick [a-z-][^`]*", line)  # "/knick compare" is a comment of a pull request
        if found and "=" not in line.split("knick", maxsplit=1)[0]:
            yield shlex.split(re.split(r" (?:#|&&|\|\|) | \|$|;", found.group())[0].replace("∣", " "), posix=True)


def _strange(words: list[str]) -> list[str]:
    """Return the words that name no command or option of ``knick``."""
    command: click.Command = knick
    context = click.Context(knick, info_name="knick")
    rest = words[1 : words.index("--")] if "--" in words else words[1:]  # what follows is another program's
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        inner = command.get_command(context, rest[0])
        if inner is None:
            return [rest[0]]
        command, rest = inner, rest[1:]
    for flag, mode in getattr(command, "modes", {}).items():
        if flag in rest:
            command, rest = mode, [word for word in rest if word != flag]
    known = {name for parameter in command.get_params(context) for name in (*parameter.opts, *parameter.secondary_opts)}
    return [word for word in rest if word.startswith("--") and word.split("=")[0] not in known]


def test_the_commands_of_a_page_exist_with_their_options() -> None:
    commands = [(page.name, words) for page in _PAGES for words in _commands(page)]
    assert [(page, words, strange) for page, words in commands if (strange := _strange(words))] == []


@pytest.mark.long
def test_the_job_of_the_page_on_continuous_integration_passes_without_any_history(
    tmp_path: Path,
) -> None:
    library = GitRepository.make(tmp_path / "mylib")
    (library.directory / "test_speed.py").write_text("def test_sort(benchmark):\n    benchmark(sorted, [3, 1, 2])\n")
    library.commits(3)
    check, keep, *_ = _blocks(_TOP / "docs" / "guide" / "ci.md", "sh")
    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("CI", "GITHUB_", "KNICKPOINT_", "PYTEST_"))
        },
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTEST_ADDOPTS": "--benchmark-max-time=0.01 --benchmark-min-rounds=2",
    }
    for script in (check, keep):
        done = subprocess.run(
            ["bash", "-e", "-c", script],
            cwd=library.directory,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "1 run of 1 commit imported into mylib" in done.stdout


@pytest.mark.long
def test_the_first_search_of_the_page_on_bisection_finds_its_commit(tmp_path: Path) -> None:
    (script,) = _blocks(_TOP / "docs" / "guide" / "bisection.md", "sh")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        ["bash", "-e", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Change number 5" in done.stdout.splitlines()[1]
