"""``knick pool``, ``knick agent`` and ``knick devices``: one clear line for bad input, and the three programs together."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.bisect.pool.programs import SECRET, free_port
from tests.cli.conftest import Knick
from tests.repositories import GitRepository

from knickpoint.bisect.pool import machine_name

_COMMANDS = (("pool",), ("agent", "--device", "lab-1"), ("devices",), ("devices", "drain", "lab-1"))
_LONGEST = 60.0


def _configure(instance: Path, lines: str) -> None:
    with (instance / "knickpoint.toml").open("a") as file:
        file.write(f"\n[pool]\n{lines}\n")


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory with a configuration and no store; these commands need none."""
    (tmp_path / "knickpoint.toml").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", _COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("", "the instance has no pool of machines"),
        (
            'address = "tcp://127.0.0.1:8786"\nsecret = "' + SECRET + '"',
            "'tcp://127.0.0.1:8786' is not an address of a pool",
        ),
        ('address = "tls://127.0.0.1:8786"', "the pool has an address but no credentials"),
        ('address = "tls://127.0.0.1:8786"\nsecret = "short"', "secret"),
    ],
    ids=["no address", "tcp", "no secret", "short secret"],
)
def test_a_pool_that_cannot_be_used_is_named_in_one_line(
    knick: Knick, configured: Path, command: tuple[str, ...], settings: str, message: str
) -> None:
    _configure(configured, settings)
    ran = knick(*command)
    assert ran.code == 2
    assert message in ran.errors
    assert (ran.output, ran.errors.count("\n")) == ("", 1)


@pytest.mark.parametrize("command", _COMMANDS, ids=" ".join)
def test_without_an_instance_the_line_says_so(
    knick: Knick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = knick(*command)
    assert ran.code == 2
    assert "knick init" in ran.errors
    assert ran.errors.count("\n") == 1


def test_an_agent_with_an_address_needs_the_secret_of_the_pool(knick: Knick, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KNICKPOINT_POOL_SECRET", raising=False)
    ran = knick("agent", "--device", "lab-1", "--address", "tls://127.0.0.1:8786")
    assert (ran.code, ran.errors.count("\n")) == (2, 1)
    assert "KNICKPOINT_POOL_SECRET" in ran.errors


class _Program:
    """A ``knick`` in a process of its own."""

    def __init__(self, *arguments: str, cwd: Path) -> None:
        command = [sys.executable, "-m", "knickpoint.cli", *arguments]
        self.process = subprocess.Popen(
            command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True
        )

    def wait_for(self, word: str) -> None:
        """Read what the program prints until a line has ``word``."""
        assert self.process.stdout is not None
        limit = threading.Timer(_LONGEST, self.process.kill)
        limit.start()
        printed = []
        for line in self.process.stdout:
            printed.append(line)
            if word in line:
                break
        limit.cancel()
        assert word in "".join(printed[-1:]), "".join(printed)

    def end(self) -> int:
        """End the program as Ctrl-C does, and return its exit code."""
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=_LONGEST)
        return self.process.returncode


@pytest.fixture
def start(instance: Path) -> Iterator[Callable[..., _Program]]:
    started: list[_Program] = []

    def begin(*arguments: str) -> _Program:
        started.append(_Program(*arguments, cwd=instance))
        return started[-1]

    yield begin
    for program in started:
        if program.process.poll() is None:
            program.process.kill()
            program.process.communicate()


@pytest.mark.long
def test_an_agent_joins_the_pool_and_is_listed_drained_and_resumed(
    knick: Knick, instance: Path, tmp_path: Path, start: Callable[..., _Program]
) -> None:
    _configure(instance, f'address = "tls://127.0.0.1:{free_port()}"\nsecret = "{SECRET}"')
    pool = start("pool")
    pool.wait_for("listens")
    nothing = knick("devices")
    assert (nothing.code, nothing.output) == (0, "No device has joined; lend one with: knick agent --device NAME\n")

    agent = start("agent", "--device", "lab-1", "--param", "arch=arm64", "--workspace", str(tmp_path / "workspace"))
    agent.wait_for("joined")
    (row,) = json.loads(knick("devices", "--format", "json").output)
    assert (row["name"], row["state"], row["slots"], row["params"]) == ("lab-1", "idle", 1, ["arch=arm64"])

    unknown = knick("devices", "drain", "lab-2")
    assert (unknown.code, unknown.errors.count("\n")) == (2, 1)
    assert "lab-2" in unknown.errors
    assert knick("devices", "drain", "lab-1").code == 0
    assert json.loads(knick("devices", "--format", "json").output)[0]["state"] == "drained"
    assert knick("devices", "resume", "lab-1").code == 0
    assert json.loads(knick("devices", "--format", "json").output)[0]["state"] == "idle"

    assert agent.end() == 0
    assert json.loads(knick("devices", "--format", "json").output)[0]["state"] == "gone"
    assert pool.end() == 0


@pytest.fixture
def lab(
    instance: Path, new_repository: Callable[[str], GitRepository], start: Callable[..., _Program], tmp_path: Path
) -> Path:
    """Return a repository whose fourth commit of six is slower, where the instance has a pool of two devices."""
    made = new_repository("firmware")
    levels = (10.0, 10.1, 9.9, 20.0, 20.2, 19.9)
    made.commit_files([("Change it", {"level.csv": f"benchmark,unit,value\nboot,ms,{level}\n"}) for level in levels])
    _configure(instance, f'address = "tls://127.0.0.1:{free_port()}"\nsecret = "{SECRET}"')
    with (instance / "knickpoint.toml").open("a") as file:
        file.write('\n[bisect.boot]\nmeasure = ["cp", "level.csv", "out.csv"]\nresults = ["out.csv"]\n')
    start("pool").wait_for("listens")
    for name in ("board-1", "board-2"):
        start("agent", "--device", name, "--workspace", str(tmp_path / name)).wait_for("joined")
    return made.directory


@pytest.mark.long
def test_a_search_runs_on_the_pool_unless_this_machine_is_named(
    knick: Knick, instance: Path, lab: Path, tmp_path: Path
) -> None:
    def who_measured(*options: str) -> set[str]:
        workspace = str(tmp_path / "here")
        search = ("bisect", "HEAD~5..HEAD", "--repository", str(lab), "--instance", str(instance))
        ran = knick(*search, "--recipe", "boot", "--workspace", workspace, "--format", "json", *options)
        assert ran.code == 0, ran.errors
        return {probe["device"] for probe in json.loads(ran.output)["probes"]}

    assert who_measured() == {"board-1", "board-2"}
    assert who_measured("--device", "board-2") == {"board-2"}
    assert who_measured("--device", "local") == {machine_name()}


@pytest.mark.long
def test_a_device_that_the_pool_lacks_and_a_command_of_its_own_are_refused(
    knick: Knick, instance: Path, lab: Path
) -> None:
    search = ("bisect", "HEAD~5..HEAD", "--repository", str(lab), "--instance", str(instance))
    absent = knick(*search, "--recipe", "boot", "--device", "board-3")
    assert (absent.code, absent.output, absent.errors.count("\n")) == (2, "", 1)
    assert "no device board-3 that takes probes" in absent.errors
    assert "board-1, board-2" in absent.errors
    own = knick(*search, "--results", "out.csv", "--", "true")
    assert (own.code, own.output, own.errors.count("\n")) == (2, "", 1)
    assert "--device local" in own.errors
