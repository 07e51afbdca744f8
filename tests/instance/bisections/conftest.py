"""An instance with a change to bisect, fresh for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.instance.bisections.bisectable import Bisectable, bisectable, make_instance, make_repository
from tests.repositories import GitRepository


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    return make_repository(tmp_path_factory.mktemp("git") / "project")


@pytest.fixture(scope="session")
def template(project: GitRepository, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("bisectable") / "instance"
    make_instance(directory, project)
    return directory


@pytest.fixture
def slowed(template: Path, tmp_path: Path) -> Iterator[Bisectable]:
    with bisectable(template, tmp_path / "instance") as made:
        yield made
