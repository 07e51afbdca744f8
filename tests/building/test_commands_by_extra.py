"""Every command on the packages of one extra alone: it works, or says in one line which extra it needs."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from typing import Final

import pytest
from tests.building.test_slim_installs import python_with
from tests.repositories import GitRepository

from knickpoint.cli.program import COMMANDS

pytestmark = pytest.mark.long

_SERVER_AND_MORE: Final = {
    "serve --port 0": "server",
    "publish site": "server",
    "plot benchmark=parse --output picture.png": "server",
    "export --format parquet --output points.parquet": "parquet",
    "pool": "cluster",
    "agent": "cluster",
    "devices": "cluster",
    "mcp": "mcp",
}
"""Command → the extra that it names first: what is missing of it."""

_WORKS: Final = (
    "import history.csv",
    "check new.csv",
    "check new.csv --report html=report.html --report markdown=report.md",
    "comment --help",
    "bisect HEAD~1..HEAD -- true",
    "try start --base HEAD~1 -- true",
    "profile diff before.folded after.folded --html page.html",
    "compare HEAD~1 HEAD --least-rounds 2 --most-rounds 2 -- true",
    "calibrate HEAD --minutes 0.01 --builds 1 -- true",
    "traces",
    "traces --format json",
    "query benchmark=parse",
    "plot benchmark=parse --output picture.svg",
    "export",
    "detect series.csv",
    "ingest status",
    "missing",
    "missing --format json",
    "missing renames --format json",
    "run",
    "changes",
    "changes --format json",
    "regressions",
    "explain benchmark=parse",
    "suspects R1",
    "suspects R1 --format json",
    "clusters R1",
    "clusters R1 --format json",
    "triage R1 --as acknowledged",
    "tickets list",
    "tickets list --format json",
    "history list",
    "demo --no-serve made",
    "bisections",
    "bisections --format json",
    "schedule",
    "schedule --format json",
    "schedule probes --format json",
    "alerts list",
    "alerts list --format json",
    "missed list",
    "missed list --format json",
    "quality alerts",
    "quality alerts --format json",
    "quality audit --format json",
    "quality traces --format json",
    "quality proposals --format json",
    "quality decisions --format json",
    "backtest",
    "canaries",
    "canaries --format json",
    "notify --dry-run",
    "deliveries list",
    "deliveries list --format json",
    "worker --once",
    "doctor",
    "backup copy.sqlite",
    "restore copy.sqlite restored",
    "tokens list",
    "tokens list --format json",
    "audit",
    "audit --format json",
    "init other --no-repository",
    "completion bash",
    "open --help",
    "move-in --help",
)
"""Commands that need no more than ``cli``."""

Run = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A way to run a command of the program with the packages of ``cli`` in an instance that has a history."""
    start = python_with(tmp_path_factory.mktemp("cli"), "cli")
    directory = tmp_path_factory.mktemp("instance") / "tree"
    repository = GitRepository.make(directory)
    hashes = repository.commits(28)
    rows = [f"{commit},parse,{(10, 30)[day > 13] + day % 3},ms\n" for day, commit in enumerate(hashes)]
    (directory / "history.csv").write_text("commit,benchmark,value,unit\n" + "".join(rows))
    (directory / "new.csv").write_text("benchmark,value,unit\nparse,31,ms\n")
    for name, cost in (("before", 4), ("after", 5)):
        (directory / f"{name}.folded").write_text(f"main;parse {cost}000\n")
    (directory / "series.csv").write_text("value\n" + "1\n1.1\n" * 15 + "2\n2.1\n" * 15)

    def in_process(line: str) -> subprocess.CompletedProcess[str]:
        command = [*start[:-1], start[-1] + "from knickpoint.cli import main; main()", *line.split()]
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "KNICKPOINT"))
        }
        return subprocess.run(
            command,
            cwd=directory,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
            stdin=subprocess.DEVNULL,
        )

    for line in ("init", "import --as-work history.csv", "run"):
        done = in_process(line)
        assert done.returncode == 0, done.stderr
    return in_process


def test_the_tables_name_every_command() -> None:
    assert {line.split()[0] for line in (*_SERVER_AND_MORE, *_WORKS)} == set(COMMANDS)


@pytest.mark.parametrize("line", _WORKS)
def test_a_command_of_the_slim_program_does_its_work(run: Run, line: str) -> None:
    done = run(line)
    assert done.returncode in {0, 1, 3}, done.stderr
    assert "Traceback" not in done.stderr
    assert "pip install" not in done.stderr


@pytest.mark.parametrize(("line", "extra"), _SERVER_AND_MORE.items())
def test_a_command_that_needs_more_names_its_extra_in_one_line(run: Run, line: str, extra: str) -> None:
    done = run(line)
    assert done.returncode == 2, done.stdout
    assert re.fullmatch(rf'knick: .*pip install "knickpoint\[{extra}\]"\.?\n', done.stderr), done.stderr
