"""Profiles in an instance are exported, restored, removed and deleted by rule."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Knick
from tests.profiles.made import folded

from knickpoint.instance import CONFIG_FILE, Instance, forget_values, open_instance
from knickpoint.model.commit import Repository


def _commit(number: int) -> str:
    return f"{number + 1:040x}"


def _profiles(instance: Instance, name: str = "main") -> list[tuple[int, str, str, str]]:
    repository: Repository = instance.store.commits.repository(name)
    found = instance.store.profiles.all(repository)
    return sorted((each.slot, each.benchmark, each.params, each.digest) for each in found)


@pytest.fixture
def imported(knick: Knick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An instance of 6 commits, with a profile of one benchmark at each, and of another at the first."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{_commit(each)},2026-01-0{each + 1}T00:00:00Z,{name},ms,1" for each in range(6) for name in ("a/b", "c")]
    (tmp_path / "results.csv").write_text("\n".join(["commit,time,benchmark,unit,value", *rows]) + "\n")
    assert knick("init", "instance").code == 0
    monkeypatch.chdir(tmp_path / "instance")
    assert knick("import", "../results.csv").code == 0
    for number in range(6):
        (tmp_path / f"c.{number}.folded").write_bytes(folded([(["main", "c"], 5 + number)]))
        assert knick("import", f"../c.{number}.folded", "--commit", _commit(number), "--param", "os=x").code == 0
    (tmp_path / "p.folded").write_bytes(folded([(["main", "b"], 5)]))
    assert knick("import", "../p.folded", "--commit", _commit(0), "--param", "benchmark=a/b").code == 0
    return tmp_path


def test_an_export_of_profiles_is_imported_as_the_same_ones(imported: Path, knick: Knick) -> None:
    assert knick("export", "--profiles", "../out").code == 0
    assert knick("init", "../other").code == 0
    assert knick("import", "--instance", "../other", "../results.csv", "../out").code == 0
    with open_instance(imported / "instance") as here, open_instance(imported / "other") as there:
        assert len(_profiles(here)) == 7
        assert _profiles(there) == _profiles(here)


def test_a_backup_has_the_profiles(imported: Path, knick: Knick) -> None:
    assert knick("backup", "../backup.tar").code == 0
    assert knick("restore", "../backup.tar", "../restored").code == 0
    with open_instance(imported / "instance") as here, open_instance(imported / "restored") as there:
        assert _profiles(there) == _profiles(here)
        assert there.store.profiles.content(_profiles(there)[0][3]) == here.store.profiles.content(
            _profiles(here)[0][3]
        )
        assert not there.store.check_integrity().damaged


def test_the_profile_of_a_wrong_file_is_removed_with_its_content(imported: Path, knick: Knick) -> None:
    assert "1 profile" in knick("ingest", "remove", "--source", "../p.folded", "--dry-run").output
    assert "1 profile" in knick("ingest", "remove", "--source", "../p.folded").output
    with open_instance(imported / "instance") as instance:
        assert {benchmark for _, benchmark, _, _ in _profiles(instance)} == {"c"}
        assert instance.store.profiles.sizes()[0] == 6


@pytest.mark.parametrize(
    "rule", ["profiles_commits = 2", "samples_commits = 2", "profiles_commits = 5\nvalues_commits = 2"]
)
def test_profiles_go_before_samples_and_values(imported: Path, rule: str) -> None:
    config = imported / "instance" / CONFIG_FILE
    config.write_text(f"{config.read_text()}\n[retention]\n{rule}\n")
    with open_instance(imported / "instance") as instance:
        (lost,) = forget_values(instance).values()
        assert lost.profiles == 5
        assert [slot for slot, _, _, _ in _profiles(instance)] == [4, 5]


def test_profiles_of_decided_traces_stay(imported: Path) -> None:
    with open_instance(imported / "instance") as instance:
        store = instance.store
        line = store.commits.line(store.commits.repository("main"))
        assert store.profiles.retain(line, 2, keep=[",benchmark=c,os=x,"], dry_run=True) == 1
        assert store.profiles.retain(line, 2, keep=[",benchmark=c,os=y,"], dry_run=True) == 5
