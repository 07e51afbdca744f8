"""``knick check --stored``: two commits of the store, with the figures of the page *Compare*."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import httpx
import pytest
from tests.cli.conftest import Knick
from tests.repositories import GitRepository

from knickpoint.ingest import import_files
from knickpoint.instance import create_instance, open_instance
from knickpoint.server import serving

_NAMES = tuple(f"b{number}" for number in range(10))
_STEP = 30


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Make an instance in which b0 takes 20 % longer from commit 30 of 40 on; the last commit but one accepts it."""
    repository = GitRepository.make(tmp_path_factory.mktemp("stored") / "project")
    made = [
        *repository.commits(38),
        repository.commit("Sort\n\nKnickpoint-Accept: b1, sorted now"),
        *repository.commits(1),
    ]
    wobble = (0.0, 0.3, -0.2, 0.1, -0.3, 0.2, -0.1)
    rows = ["commit,benchmark,unit,value"]
    for place, commit in enumerate(made):
        for number, name in enumerate(_NAMES):
            level = 120 if name == "b0" and place >= _STEP else 100
            rows.append(f"{commit},{name},ms,{level * (1 + 0.01 * wobble[(place + number * number) % 7])}")
    path = repository.directory / "all.csv"
    path.write_text("\n".join(rows) + "\n")
    with create_instance(repository.directory / "instance", repositories={"project": ".."}) as opened:
        import_files(opened, [path])
    return repository.directory, made


@pytest.fixture
def hashes(template: tuple[Path, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Copy the repository with its instance, and go there."""
    directory, made = template
    monkeypatch.chdir(shutil.copytree(directory, tmp_path / "project"))
    monkeypatch.setenv("KNICKPOINT_INSTANCE", "instance")
    return made


def test_what_became_slower_between_two_stored_commits_fails(knick: Knick, hashes: list[str]) -> None:
    base, head = hashes[_STEP - 1], hashes[_STEP + 4]
    ran = knick("check", "--stored", head, "--base", base)
    lines = ran.output.splitlines()
    assert (ran.code, lines[0]) == (1, "Do not merge: 1 regressed, of 10 benchmarks.")
    assert lines[1].startswith(f"Base: {base[:12]} 'Change number 30' of ")
    assert f"New: {head[:12]} 'Change number 35' of " in lines[1]
    assert lines[1].endswith("with the newest 3 values of each benchmark that the base does not have.")
    assert lines[3].startswith("Worst: b0, 100 ms → 119.9 ms, +19.9 % (")


def test_the_figures_are_those_of_the_page(knick: Knick, hashes: list[str]) -> None:
    base, head = hashes[_STEP - 1], hashes[_STEP + 4]
    rows = json.loads(knick("check", "--stored", head, "--base", base, "--format", "json").output)
    with open_instance(Path("instance")) as instance, serving(instance) as address:
        query = {"base": base, "head": head}
        answer = httpx.get(f"{address.rstrip('/')}/api/v1/comparison", params=query).raise_for_status().json()
    assert {(row["base"], row["head"]) for row in rows} == {(base, head)}
    assert answer["counts"] == {"regressed": 1, "unchanged": 9}
    shown = {each["trace"]: each for each in answer["traces"]}
    shared = rows[0].keys() & answer["traces"][0].keys()
    assert answer["traces"][0].keys() - shared == {"trace_id", "suite", "better", "past", "new"}
    for row in rows:
        assert {name: row[name] for name in shared} == {name: shown[row["trace"]][name] for name in shared}


def test_the_page_has_the_rules_of_the_check(hashes: list[str]) -> None:
    config = Path("instance/knickpoint.toml")
    config.write_text(config.read_text() + "\n[check]\nminimum_effect = 0.3\n")
    with open_instance(Path("instance")) as instance, serving(instance) as address:
        query = {"base": hashes[_STEP - 1], "head": hashes[_STEP + 4]}
        answer = httpx.get(f"{address.rstrip('/')}/api/v1/comparison", params=query).raise_for_status().json()
    assert answer["counts"] == {"unchanged": 10}


def test_the_page_has_the_canaries_and_what_commits_accept(hashes: list[str]) -> None:
    config = Path("instance/knickpoint.toml")
    config.write_text(config.read_text() + '\n[canaries.machine]\nquery = "benchmark=b0"\n')
    with open_instance(Path("instance")) as instance, serving(instance) as address:
        query = {"base": hashes[_STEP - 1], "head": hashes[-1]}
        answer = httpx.get(f"{address.rstrip('/')}/api/v1/comparison", params=query).raise_for_status().json()
    assert answer["counts"] == {"unchanged": 9}
    assert answer["warnings"][0].startswith("the canary ,benchmark=b0, regressed: the machine differs")
    rows = {row["benchmark"]: row for row in answer["traces"]}
    assert (rows["b0"]["canary"], rows["b0"]["decides"], rows["b0"]["fails"]) == (True, False, False)
    assert {name: row["accepted"] for name, row in rows.items() if row["accepted"]} == {"b1": "sorted now"}


def test_two_commits_are_compared_where_git_is_lost_and_nothing_is_accepted(knick: Knick, hashes: list[str]) -> None:
    Path(".git").rename("lost")
    ran = knick("check", "--stored", hashes[-1], "--base", hashes[_STEP - 1])
    assert ran.output.startswith("Do not merge: 1 regressed, of 10 benchmarks.")
    assert "what commits accept is unknown: " in ran.errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "there are no results to judge"),
        (("--stored", "newest"), "--base: --stored newest has nothing to compare with"),
        (("--stored", "nowhere", "--base", "HEAD~3"), "there is no commit 'nowhere'"),
        (("all.csv", "--stored", "newest", "--base", "HEAD~3"), "all.csv is a file"),
        (("all.csv", "--values", "2"), "--values 2: of files, all values count"),
        (
            ("--stored", "newest", "--base", "HEAD~3", "--query", "benchmark=c0"),
            "--query: no trace matches 'benchmark=c0'",
        ),
        (("--stored", "HEAD~3", "--base", "newest"), "has every commit of"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_remedy(
    knick: Knick, hashes: list[str], arguments: tuple[str, ...], message: str
) -> None:
    assert hashes
    ran = knick("check", *arguments)
    assert ran.code == 2
    assert message in ran.errors
    assert ran.errors.count("\n") == 1
