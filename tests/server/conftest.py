"""Instances to serve, and clients that ask them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.client import Client
from tests.server.story import make_instance

from knickpoint.instance import Instance, open_instance
from knickpoint.server import create_app


@pytest.fixture(scope="session")
def finished_instance(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of an instance with findings; copy it to change it."""
    directory = tmp_path_factory.mktemp("story") / "instance"
    make_instance(directory)
    return directory


@pytest.fixture(scope="session")
def reader(finished_instance: Path) -> Iterator[Client]:
    """Return a client for tests that change nothing."""
    with open_instance(finished_instance) as opened:
        yield Client(create_app(opened))


@pytest.fixture
def instance(finished_instance: Path, tmp_path: Path) -> Iterator[Instance]:
    """Open an instance with findings of the test's own."""
    directory = tmp_path / "instance"
    shutil.copytree(finished_instance, directory)
    with open_instance(directory) as opened:
        yield opened


@pytest.fixture
def client(instance: Instance) -> Client:
    """Return a client of the server of ``instance``."""
    return Client(create_app(instance))


@pytest.fixture
def empty_client(tmp_path: Path) -> Iterator[Client]:
    """Return a client of the server of an instance without results."""
    make_instance(tmp_path / "empty", with_findings=False)
    with open_instance(tmp_path / "empty") as opened:
        yield Client(create_app(opened))
