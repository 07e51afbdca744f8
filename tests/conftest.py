"""What every test may ask for, and what a run says about the parts that were not there."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings
from tests.repositories import GitRepository

settings.register_profile("calm", deadline=None, derandomize=True)
settings.load_profile("calm")

_IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}


@pytest.fixture
def new_repository(tmp_path: Path) -> Callable[[str], GitRepository]:
    """Make real git repositories under the test's own directory, by name."""
    return lambda name: GitRepository.make(tmp_path / name)


@pytest.fixture
def git_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a file that gets the command line of every git program from now on."""
    log = tmp_path / "git-commands"
    log.touch()
    folder = tmp_path / "git-program"
    folder.mkdir()
    program = folder / "git"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {log}\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return log


def _reason(report: pytest.TestReport) -> str:
    return report.longrepr[2].removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else str(report.longrepr)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Count what was skipped, by reason."""
    reasons = Counter(_reason(report) for report in terminalreporter.getreports("skipped"))
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(f"{count} skipped: {reason}", yellow=True)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a run in CI that skipped anything: there, every part is installed."""
    terminal = session.config.pluginmanager.get_plugin("terminalreporter")
    if _IN_CI and exitstatus == pytest.ExitCode.OK and terminal is not None and terminal.getreports("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
