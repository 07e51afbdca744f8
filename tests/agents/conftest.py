"""An instance with findings, and sessions of agents that may do more or less with it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.server.story import make_instance

from knickpoint.access.local_user import local_caller
from knickpoint.agents import begin_session
from knickpoint.agents.tool import Session
from knickpoint.instance import Instance, open_instance
from knickpoint.model.access import Permission


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of an instance with findings; copy it to change it."""
    directory = tmp_path_factory.mktemp("agents") / "instance"
    make_instance(directory)
    return directory


@pytest.fixture(scope="module")
def reading(finished: Path) -> Iterator[Session]:
    """Return a session that only reads."""
    with open_instance(finished) as opened:
        yield begin_session(opened, local_caller(), local=True)


@pytest.fixture
def instance(finished: Path, tmp_path: Path) -> Iterator[Instance]:
    """Open an instance with findings of the test's own."""
    shutil.copytree(finished, tmp_path / "instance")
    with open_instance(tmp_path / "instance") as opened:
        yield opened


@pytest.fixture
def session(instance: Instance) -> Callable[..., Session]:
    """Return how to begin a session with some permissions beside reading."""
    return lambda *allowed: begin_session(instance, local_caller(), frozenset[Permission](allowed), local=True)
