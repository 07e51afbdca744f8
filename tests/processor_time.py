"""Measure the processor time of each test, list the slow ones, and fail a run with one that is too slow twice.

Processor time is that of this process and of the processes it waited for: a busy machine changes it little. Wide
fixtures (a world shared by a module) are listed under their own names, and are not part of the test that happens to
come first.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from typing import Any, Final

import pytest

LISTED: Final = 1.0
"""Seconds above which a test is listed."""

LIMIT: Final = 3.0
"""Seconds that no test may exceed both among others and measured again alone."""

_MOST_AGAIN: Final = 10
"""Tests that are measured again: more than these have one cause, and the first of them show it."""

_AGAIN: Final = "--fail-slow-tests"
_MEASURES: Final = "processor seconds"


def _now() -> float:
    return sum(os.times()[:4])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(_AGAIN, action="store_true", help=f"fail when a test takes over {LIMIT:g} s of processor time")


def pytest_configure(config: pytest.Config) -> None:
    # The long run is long: it keeps what is slow, and its property tests try more examples
    if "KNICKPOINT_EXAMPLES" not in os.environ:
        config.pluginmanager.register(_Clock())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(_Judge(is_second=config.getoption(_AGAIN)))


class _Clock:
    """Measure each test and each wide fixture where they run."""

    def __init__(self) -> None:
        self.test = 0.0
        self.wide: dict[str, float] = {}
        self.in_wide = False

    def _phase(self) -> Generator[None, object, object]:
        """Add the time of a phase without that of the wide fixtures that begin in it."""
        before, wide = _now(), sum(self.wide.values())
        try:
            return (yield)
        finally:
            self.test += _now() - before - (sum(self.wide.values()) - wide)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self) -> Generator[None, object, object]:
        self.test = 0.0
        self.wide.clear()
        return (yield from self._phase())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        return (yield from self._phase())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        """Measure what ends with the test; the last test of a module ends the servers of all as well."""
        if nextitem is None or nextitem.path != item.path:
            result = yield
        else:
            result = yield from self._phase()
        if not item.get_closest_marker("long"):
            item.user_properties.append((_MEASURES, {item.nodeid: self.test, **self.wide}))
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        if fixturedef.scope == "function" or self.in_wide:
            return (yield)
        self.in_wide, before = True, _now()
        try:
            return (yield)
        finally:
            self.in_wide = False
            self.wide[f"{request.node.nodeid or 'session'}: fixture {fixturedef.argname}"] = _now() - before


class _Judge:
    """Collect what all processes of a run measured, and judge it at the end."""

    def __init__(self, *, is_second: bool) -> None:
        self.is_second = is_second
        self.seconds: dict[str, float] = {}
        self.tests: set[str] = set()
        self.second_run = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self.tests.add(report.nodeid)
            measured: Any = dict(report.user_properties).get(_MEASURES, {})
            self.seconds |= measured

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Measure once more, alone, what exceeded the limit."""
        slow = sorted(name for name in self.tests if self.seconds.get(name, 0) > LIMIT)[:_MOST_AGAIN]
        if not slow or exitstatus != pytest.ExitCode.OK:
            return
        if not self.is_second:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", _AGAIN, *slow]
            done = subprocess.run(command, cwd=session.config.rootpath, capture_output=True, text=True, check=False)
            self.second_run = done.stdout + done.stderr
            if done.returncode == pytest.ExitCode.OK or os.environ.get("CI") == "true":
                return  # a slow machine of a CI lists them, and refuses nothing
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        listed = sorted((-taken, name) for name, taken in self.seconds.items() if taken > LISTED)
        if listed:
            terminalreporter.section(f"over {LISTED:g} s of processor time")
        for taken, name in listed:
            terminalreporter.write_line(f"{-taken:6.1f} s  {name}")
        if self.second_run:
            terminalreporter.section(f"over {LIMIT:g} s, measured again alone")
            terminalreporter.write_line(self.second_run)
