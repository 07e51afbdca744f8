"""Published pages as files: what they hold, what they leave out, and what happens to the directory."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.server.story import COMMITS, history, make_instance
from tests.server.test_plotted_summaries import make_tails

from knickpoint.cli.program import knick
from knickpoint.ingest.file_import import import_data
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.instance import create_instance, open_instance
from knickpoint.model.errors import InputError
from knickpoint.model.summary import read_summary
from knickpoint.publish import Chosen, site
from knickpoint.watch.detection.commit_values import read_summaries

_NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("publish") / "instance"
    make_instance(directory)
    return directory


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a dashboard of two files: what is built is no matter here."""
    directory = tmp_path_factory.mktemp("static")
    (directory / "index.html").write_text('<head><script src="/assets/index.js"></script></head>')
    (directory / "assets").mkdir()
    (directory / "assets" / "index.js").write_text("run()")
    (directory / "assets" / "index.js.br").write_bytes(b"compressed")
    return directory


@pytest.fixture(scope="module")
def published(instance: Path, static: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("pages") / "site"
    _publish(instance, static, directory)
    return directory


def _publish(instance: Path, static: Path, directory: Path) -> site.Published:
    with open_instance(instance) as opened:
        return site.publish(opened, directory, Chosen(["ada/engine"], _NOW), static=static)


def _run(*arguments: str) -> Result:
    return CliRunner().invoke(knick, ["publish", *arguments])


def test_the_page_loads_its_files_from_the_directory_it_lies_in(published: Path) -> None:
    page = (published / "index.html").read_text()
    assert 'src="./assets/index.js"' in page
    assert '<meta name="knickpoint-published" content="data/" />' in page


def test_files_that_only_the_server_sends_are_not_published(published: Path) -> None:
    assert [path.name for path in (published / "assets").iterdir()] == ["index.js"]


def test_packed_values_come_back_to_the_last_bit() -> None:
    numbers = np.array([0.1, -1e300, np.nan, np.inf, 5e-324])
    planes = np.frombuffer(gzip.decompress(site.pack(numbers.tobytes())), dtype=np.uint8)
    assert planes.reshape(8, -1).T.tobytes() == numbers.tobytes()


def test_all_commits_and_changes_are_published(published: Path, instance: Path) -> None:
    assert len(json.loads((published / "data/0/commits.json").read_bytes())) == COMMITS
    lists = json.loads((published / "data/lists.json").read_bytes())
    with open_instance(instance) as opened:
        repository = opened.store.commits.repositories()[0]
        known = {f"R{each.id}" for each in opened.store.findings.changes(repository)}
    assert set(lists.pop("all")) == known
    assert {each["id"] for groups in lists.values() for each in groups} == known


def test_mail_addresses_and_notes_are_left_out(published: Path) -> None:
    texts = [path.read_text() for path in published.rglob("*.json")]
    assert not [text for text in texts if "@example.org" in text]


def test_a_change_of_a_percentile_is_published_with_the_values_it_was_found_in(static: Path, tmp_path: Path) -> None:
    made, directory = make_tails(tmp_path / "instance"), tmp_path / "site"
    with open_instance(made) as opened:
        (repository,) = opened.store.commits.repositories()
        site.publish(opened, directory, Chosen([repository.name], _NOW), static=static)
        line = opened.store.commits.line(repository)
        frame = opened.store.frames.read(line, [0])
        expected = read_summaries(opened.store, frame, read_summary("p95"))[0]
    changes = json.loads((directory / "data" / "0" / "details-0.json").read_text())["0"]["change-points"]
    assert [each["summary"] for each in changes["summaries"]] == ["p95"]
    packed = gzip.decompress((directory / "data" / "0" / "values-0-p95.bin").read_bytes())
    numbers = np.frombuffer(packed, np.uint8).reshape(8, -1).T.copy().view(np.float64)[:, 0]
    assert numbers[2 + len(expected) :].tolist() == expected.tolist()


def test_a_link_in_a_chat_has_a_sentence_and_a_picture(instance: Path, static: Path, tmp_path: Path) -> None:
    directory = tmp_path / "shared"
    with open_instance(instance) as opened:
        chosen = Chosen(["ada/engine"], _NOW, address="https://ada.github.io/engine/")
        site.publish(opened, directory, chosen, static=static)
    front = (directory / "index.html").read_text()
    assert '<meta property="og:title" content="Performance of ada/engine" />' in front
    assert "2 changes to triage. The worst: " in front
    assert 'content="https://ada.github.io/engine/card.png"' in front
    change = (directory / "changes" / "R1.html").read_text()
    assert "Check every bracket" in change
    assert 'url=../#/change/R1"' in change
    assert 'content="https://ada.github.io/engine/changes/R1.png"' in change
    for name in ("card.png", "changes/R1.png"):
        assert (directory / name).read_bytes().startswith(b"\x89PNG")


def test_an_address_that_is_none_is_refused(tmp_path: Path, instance: Path) -> None:
    result = _run(str(tmp_path / "site"), "--instance", str(instance), "--address", "ada.github.io")
    assert isinstance(result.exception, InputError)
    assert result.exception.where == "--address"


def test_each_trace_has_a_badge(published: Path) -> None:
    traces = json.loads((published / "data/0/traces.json").read_bytes())["traces"]
    assert {path.name for path in (published / "badges").iterdir()} == {f"{trace['id']}.svg" for trace in traces}


@pytest.mark.long
def test_a_second_time_replaces_what_was_published(instance: Path, static: Path, tmp_path: Path) -> None:
    directory = tmp_path / "site"
    _publish(instance, static, directory)
    (directory / "index.html").write_text("old")
    _publish(instance, static, directory)
    assert (directory / "index.html").read_text() != "old"
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_directory_with_other_files_is_refused_and_stays(instance: Path, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    result = _run(str(tmp_path), "--instance", str(instance))
    assert result.exit_code != 0
    assert "thesis.tex" in str(result.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_added_to_published_pages_is_not_lost(instance: Path, static: Path, tmp_path: Path) -> None:
    directory = tmp_path / "site"
    _publish(instance, static, directory)
    (directory / "CNAME").write_text("perf.example.org")
    with pytest.raises(Exception, match="CNAME"):
        _publish(instance, static, directory)
    assert (directory / "CNAME").exists()


@pytest.mark.long
def test_a_full_disk_leaves_what_was_published_before(
    instance: Path, static: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "site"
    _publish(instance, static, directory)
    before = {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}

    def refuse(path: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device", str(path), len(content))

    monkeypatch.setattr(Path, "write_bytes", refuse)
    with pytest.raises(Exception, match="No space left on device; nothing was changed"):
        _publish(instance, static, directory)
    assert {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_several_repositories_are_published_only_when_they_are_chosen(tmp_path: Path) -> None:
    names = ("open", "secret")
    with create_instance(tmp_path / "instance", repositories=dict.fromkeys(names, "")) as instance:
        for name in names:
            import_data(instance, history(), source=name, stated=Sidecar(repository=name))
    result = _run(str(tmp_path / "site"), "--instance", str(tmp_path / "instance"))
    assert "there are 2 repositories" in str(result.exception)
    assert not (tmp_path / "site").exists()
