"""Run ``knick`` in the process of the tests, and see what a user would see."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.repositories import GitRepository
from tests.server.client import Client

from knickpoint.cli.program import main
from knickpoint.ingest import import_files
from knickpoint.instance import create_instance, open_instance
from knickpoint.instance.alert_round import run_alert_round
from knickpoint.server import create_app
from knickpoint.watch.alert_run.run import run_alerts


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    output: str
    errors: str


Knick = Callable[..., Ran]


def change_points(knick: Knick, *options: str) -> list[dict[str, Any]]:
    """Return the change points of all changes that ``knick changes`` lists."""
    listed: list[dict[str, Any]] = json.loads(knick("changes", "--format", "json", *options).output)
    return [point for change in listed for point in change["members"]]


def api(place: Path, path: str) -> Any:
    """Return what the API of the instance in ``place`` answers."""
    with open_instance(place) as opened:
        return Client(create_app(opened)).get(f"/api/v1/{path}").json()


@pytest.fixture
def repository(
    new_repository: Callable[[str], GitRepository], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> GitRepository:
    """Return a new repository of git, which is the working directory; the cache of the user is empty."""
    made = new_repository("project")
    monkeypatch.chdir(made.directory)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return made


@pytest.fixture
def knick(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Knick:
    """Return a function that runs ``knick`` with its arguments."""
    monkeypatch.delenv("KNICKPOINT_INSTANCE", raising=False)

    def run(*arguments: str | Path) -> Ran:
        monkeypatch.setattr(sys, "argv", ["knick", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        captured = capsys.readouterr()
        return Ran(int(ended.value.code or 0), captured.out, captured.err)

    return run


@pytest.fixture
def instance(knick: Knick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make an empty instance and go there."""
    place = tmp_path / "instance"
    assert knick("init", place).code == 0
    monkeypatch.chdir(place)
    return place


EXAMPLE = Path(__file__).parent.parent.parent / "docs" / "example" / "textmill.csv"


@pytest.fixture(scope="session")
def example_instance(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make, once, an instance that has the example, and findings."""
    place = tmp_path_factory.mktemp("example") / "instance"
    with create_instance(place) as instance:
        import_files(instance, [EXAMPLE])
        run_alerts(instance.store, instance.alerts, as_work=True)
    return place


@pytest.fixture(scope="session")
def example_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make, once, an instance that has the example as it is imported and run by default: all that is found is history."""
    place = tmp_path_factory.mktemp("history") / "instance"
    with create_instance(place) as instance:
        import_files(instance, [EXAMPLE])
        run_alert_round(instance)
    return place


@pytest.fixture
def judged(example_instance: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the instance that has the example, and go there."""
    place = tmp_path / "judged"
    shutil.copytree(example_instance, place)
    monkeypatch.chdir(place)
    return place
