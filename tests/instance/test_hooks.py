"""Hooks: a command and an address are called once about each quarantined run, and again until they take the call."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.notify.conftest import Receiver, Reply, serving

from knickpoint.ingest import import_files
from knickpoint.instance import (
    CONFIG_FILE,
    Instance,
    Worker,
    create_instance,
    open_instance,
    quarantine_suspect_results,
)
from knickpoint.instance.quarantine import call_hooks
from knickpoint.model.errors import ConfigError
from knickpoint.model.quarantine import QuarantineState
from knickpoint.store.quarantines import HookState

NOW = datetime.now(UTC)
HEAD = '[history]\nas_work = true\n[canaries.loop]\nquery = "benchmark=loop"\n'


def measure(instance: Instance, commit: int, parse: float, loop: float, name: str = "") -> None:
    """Import what one machine measured at a commit."""
    file = instance.directory / f"{name or commit}.csv"
    noise = 0.01 * (commit * 7 % 5)
    rows = [f"parse,{parse + noise},ms", f"loop,{loop + noise},ms"]
    file.write_text("\n".join(["benchmark,value,unit", *rows, ""]), encoding="utf-8")
    sidecar = {
        "repository": "main",
        "commit": f"{commit + 1:040x}",
        "time": (NOW - timedelta(minutes=100 - commit)).isoformat(),
        "environment": {"machine": "bench-1"},
    }
    file.with_suffix(".csv.sidecar.json").write_text(json.dumps(sidecar), encoding="utf-8")
    (outcome,) = import_files(instance, [file]).files
    assert not outcome.problems, outcome


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    create_instance(tmp_path).close()
    return tmp_path


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with serving(Receiver()) as started:
        yield started


def opened_with(directory: Path, hooks: str) -> Instance:
    (directory / CONFIG_FILE).write_text(HEAD + hooks, encoding="utf-8")
    instance = open_instance(directory)
    for commit in range(12):
        measure(instance, commit, 100.0, 10.0)
    measure(instance, 12, 150.0, 13.0)
    return instance


def calls(instance: Instance) -> list[HookState]:
    (repository,) = instance.store.commits.repositories()
    return [each.state for each in instance.store.quarantines.hook_calls.all(repository)]


COMMAND = """
import os, pathlib
names = sorted(name for name in os.environ if name.startswith("KNICKPOINT_"))
with open("called", "a") as file:
    print(os.environ["KNICKPOINT_MACHINE"], os.environ["KNICKPOINT_COMMIT"][-2:], "SECRET" in os.environ, file=file)
"""


def test_a_command_is_called_once_with_the_facts_and_without_secrets(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "hush")
    hooks = f"[hooks.rerun]\ncommand = {json.dumps([sys.executable, '-c', COMMAND])}\n"
    with opened_with(directory, hooks) as instance:
        worker = Worker(instance)
        worker.once()
        worker.once()
        assert (directory / "called").read_text().splitlines() == ["bench-1 0d False"]
        assert calls(instance) == [HookState.DONE]


def test_a_command_that_fails_is_called_again_later_and_then_never(directory: Path) -> None:
    hooks = '[hooks.rerun]\ncommand = ["false"]\nattempts = 2\n'
    with opened_with(directory, hooks) as instance:
        quarantine_suspect_results(instance)
        (line,) = call_hooks(instance)
        assert line.startswith("hook rerun: failed about ")
        assert call_hooks(instance) == []
        (line,) = call_hooks(instance, now=datetime.now(UTC) + timedelta(minutes=2))
        assert line.startswith("hook rerun: failed for good")
        assert calls(instance) == [HookState.FAILED]


def test_a_command_that_does_not_end_is_ended(directory: Path) -> None:
    hooks = '[hooks.rerun]\ncommand = ["sleep", "600"]\nseconds = 0.2\n'
    with opened_with(directory, hooks) as instance:
        quarantine_suspect_results(instance)
        (line,) = call_hooks(instance)
        assert "ended after 0.2 s" in line


def test_an_address_gets_the_facts_signed_and_with_the_same_key(directory: Path, receiver: Receiver) -> None:
    receiver.replies.append(Reply(status=503))
    hooks = f'[hooks.pool]\nurl = "{receiver.url}/reruns"\nsigning_secret = "abc"\n'
    with opened_with(directory, hooks) as instance:
        quarantine_suspect_results(instance)
        call_hooks(instance)
        call_hooks(instance, now=datetime.now(UTC) + timedelta(minutes=2))
    first, second = receiver.requests
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert second.headers["x-knickpoint-signature"].startswith("v1=")
    assert json.loads(second.body)["data"]["machine"] == "bench-1"


def test_a_call_is_dropped_once_a_rerun_decided(directory: Path, receiver: Receiver) -> None:
    hooks = f'[hooks.pool]\nurl = "{receiver.url}"\nsigning_secret = "abc"\n'
    with opened_with(directory, hooks) as instance:
        quarantine_suspect_results(instance)
        measure(instance, 12, 101.0, 10.0, name="again")
        quarantine_suspect_results(instance)
        call_hooks(instance)
        assert calls(instance) == [HookState.DROPPED]
        (repository,) = instance.store.commits.repositories()
        assert [each.state for each in instance.store.quarantines.all(repository)] == [QuarantineState.KEPT_OUT]
    assert receiver.requests == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[hooks.a]\n", "a hook is a command or a url"),
        ('[hooks.a]\nurl = "https://example.org"\n', "signing_secret is missing"),
        ("[quarantine]\nwait_hours = 0\n", "wait_hours is 0"),
    ],
)
def test_settings_that_cannot_work_are_refused(directory: Path, text: str, message: str) -> None:
    (directory / CONFIG_FILE).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        open_instance(directory)
