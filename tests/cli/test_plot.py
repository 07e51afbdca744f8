"""``knick plot``: a picture of a trace in a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.server.story import make_instance

from knickpoint.cli.program import knick
from knickpoint.instance import open_instance


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("plot") / "instance"
    make_instance(directory)
    return directory


def _plot(instance: Path, *options: str) -> Result:
    return CliRunner().invoke(knick, ["plot", "--instance", str(instance), *options])


def _key(instance: Path) -> str:
    with open_instance(instance) as opened:
        (repository, *_) = opened.store.commits.repositories()
        (lead, *_) = opened.store.findings.changes(repository)[0].members
        return lead.key


@pytest.mark.parametrize(("name", "begin"), [("trace.svg", b"<svg "), ("trace.PNG", b"\x89PNG")])
def test_the_ending_of_the_file_says_what_is_written(name: str, begin: bytes, instance: Path, tmp_path: Path) -> None:
    result = _plot(instance, _key(instance), "--output", str(tmp_path / name), "--theme", "dark")
    assert result.exit_code == 0, result.output
    assert (tmp_path / name).read_bytes().startswith(begin)


def test_another_ending_is_refused(instance: Path, tmp_path: Path) -> None:
    result = _plot(instance, _key(instance), "--output", str(tmp_path / "trace.gif"))
    assert result.exit_code != 0
    assert "neither SVG nor PNG" in str(result.exception)


def test_an_unknown_commit_is_named(instance: Path, tmp_path: Path) -> None:
    result = _plot(instance, _key(instance), "--at", "nothing", "--output", str(tmp_path / "trace.svg"))
    assert "there is no commit 'nothing'" in str(result.exception)


def test_a_place_that_cannot_be_written_is_named(instance: Path, tmp_path: Path) -> None:
    result = _plot(instance, _key(instance), "--output", str(tmp_path / "none" / "trace.svg"))
    assert "cannot be written" in str(result.exception)
