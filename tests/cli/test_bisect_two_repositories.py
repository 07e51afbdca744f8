"""``knick bisect --also``: two repositories that moved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Knick
from tests.repositories import GitRepository

_CHECK = "import pathlib, sys\nsys.exit(int(pathlib.Path('engine/level').read_text()))\n"


def filled(directory: Path, *, culprit: int) -> tuple[str, ...]:
    repository = GitRepository.make(directory)
    names = []
    for number in range(4):
        (directory / "check.py").write_text(_CHECK)
        (directory / "level").write_text(str(int(number >= culprit)))
        (directory / "count").write_text(str(number))
        repository.git("add", "--all")
        names.append(repository.commit(f"Change {number}"))
    return tuple(names)


@pytest.mark.long
def test_the_culprit_is_found_in_the_other_repository(
    knick: Knick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, engine = filled(tmp_path / "app", culprit=1), filled(tmp_path / "engine", culprit=2)
    monkeypatch.chdir(tmp_path / "app")
    ran = knick(
        "bisect",
        f"{app[0]}..{app[-1]}",
        "--also",
        f"engine=../engine@{engine[0]}..{engine[-1]}",
        *("--workspace", tmp_path / "work", "--format", "json"),
        *("--", "python3", "check.py"),
    )
    found = json.loads(ran.output)
    assert (ran.code, found["attribution"]) == (0, "other")
    assert found["repositories"]["engine"]["culprit"] == engine[2]


@pytest.mark.parametrize("also", ["engine", "engine=../engine"])
def test_what_names_no_second_range_is_refused(
    knick: Knick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, also: str
) -> None:
    app = filled(tmp_path / "app", culprit=1)
    monkeypatch.chdir(tmp_path / "app")
    ran = knick("bisect", f"{app[0]}..{app[-1]}", "--also", also, "--", "python3", "check.py")
    assert (ran.code, "DIR=LOCATION@GOOD..BAD" in ran.errors) == (2, True)


def test_a_url_of_the_second_repository_asks_for_a_clone(
    knick: Knick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = filled(tmp_path / "app", culprit=1)
    monkeypatch.chdir(tmp_path / "app")
    also = "engine=https://example.org/engine.git@a..b"
    ran = knick("bisect", f"{app[0]}..{app[-1]}", "--also", also, "--", "python3", "check.py")
    assert ran.code == 2
    assert "the second repository engine is a URL" in ran.errors
    assert "Clone it, and write engine=PATH@a..b with the path of the clone." in ran.errors


@pytest.mark.parametrize(
    ("named", "message"),
    [("engine", "the repository has no commit 'nowhere'"), ("other", "the recipe takes no repository 'other' along")],
)
def test_a_repository_of_the_configuration_needs_no_location(
    knick: Knick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, named: str, message: str
) -> None:
    app, _ = filled(tmp_path / "app", culprit=1), filled(tmp_path / "engine", culprit=2)
    (tmp_path / "app" / "knickpoint.toml").write_text(
        '[repositories.engine]\nlocation = "../engine"\n'
        '[bisect.quick]\nmeasure = ["python3", "check.py"]\nalso = { engine = "engine" }\n'
    )
    monkeypatch.chdir(tmp_path / "app")
    ran = knick("bisect", f"{app[0]}..{app[-1]}", "--also", f"{named}@HEAD~2..nowhere")
    assert (ran.code, message in ran.errors) == (2, True)
