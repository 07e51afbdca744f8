"""Moving in from asv and from github-action-benchmark: histories that the tools themselves wrote come in whole, and once."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.repositories import GitRepository

from knickpoint.formats.asv import read_site_index
from knickpoint.instance import open_instance
from knickpoint.instance.move_in import move_in
from knickpoint.model.errors import FormatError, InputError
from knickpoint.model.query import Query

_ASV = Path(__file__).parent / "asv_project"
_HISTORY = Path(__file__).parent.parent / "formats" / "made" / "github-action-benchmark.js"


Points = dict[tuple[str, str], dict[str, float]]


def points_in(directory: Path) -> Points:
    """Return (key, unit) → commit → value for all that is in an instance, commits in their order."""
    with open_instance(directory) as instance:
        store = instance.store
        (repository,) = [known for known in store.commits.repositories() if store.runs.has_any(known)]
        order = store.commits.line(repository)
        hashes = [slotted.commit.hash for slotted in store.commits.get(repository, order.slots)]
        frame = store.frames.read(order, store.traces.select(repository, Query()))
        return {
            (trace.key, trace.unit): {
                commit: value for commit, value in zip(hashes, values, strict=True) if not math.isnan(value)
            }
            for trace, values in zip(frame.traces, frame.values.tolist(), strict=True)
        }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project that uses asv, as asv left it."""
    made = tmp_path / "project"
    for folder in ("results", "html"):
        shutil.copytree(_ASV / folder, made / ".asv" / folder)
    shutil.copy(_ASV / "asv.conf.json", made)
    return made


@contextmanager
def served(directory: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - as the base class has it
            pass

    handler = partial(Quiet, directory=str(directory))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_results_of_asv_come_in_whole_and_once(project: Path, tmp_path: Path) -> None:
    first = move_in(str(project), tmp_path / "here")
    assert (first.tool, first.created, first.files, first.commits) == ("airspeed velocity", True, 4, 4)
    assert first.points == 4 * first.traces == 20
    assert any("regressions_thresholds" in line for line in first.left)
    second = move_in(str(project), tmp_path / "here")
    assert (second.created, second.points, second.traces) == (False, 0, first.traces)
    assert "Nothing new" in "\n".join(second.lines())


def test_commits_of_asv_stand_in_the_order_of_their_times(project: Path, tmp_path: Path) -> None:
    move_in(str(project / "asv.conf.json"), tmp_path / "here")
    lengths = points_in(tmp_path / "here")[",benchmark=sorts.track_length,machine=box,python=3.11,", "items"]
    site = read_site_index((_ASV / "html" / "index.json").read_bytes())
    assert list(lengths) == [site.commits[str(revision)] for revision in range(4)]


@pytest.mark.parametrize("where", ["directory", "address"])
def test_a_published_site_of_asv_gives_the_same_traces_and_values_as_its_results(
    where: str, project: Path, tmp_path: Path
) -> None:
    move_in(str(project), tmp_path / "results")
    if where == "directory":
        summary = move_in(str(project / ".asv" / "html"), tmp_path / "site")
    else:
        with served(project / ".asv" / "html") as address:
            summary = move_in(f"{address}/index.html#sorts.Sorts.time_sort", tmp_path / "site")
    assert points_in(tmp_path / "site") == points_in(tmp_path / "results")
    assert any("samples" in line for line in summary.left)


def test_graphs_that_a_site_does_not_have_are_counted(project: Path, tmp_path: Path) -> None:
    (graph,) = (project / ".asv" / "html").rglob("sorts.track_length.json")
    graph.unlink()
    summary = move_in(str(project / ".asv" / "html"), tmp_path / "site")
    assert "1 of 3 combinations of benchmark and environment have no graph" in summary.left


def test_a_later_move_takes_what_came_in_between(project: Path, tmp_path: Path) -> None:
    newest = max(
        (project / ".asv" / "results" / "box").glob("*-py3.11.json"),
        key=lambda path: json.loads(path.read_text())["date"],
    )
    kept = newest.rename(tmp_path / "kept")
    assert move_in(str(project), tmp_path / "here").commits == 3
    kept.rename(newest)
    later = move_in(str(project), tmp_path / "here")
    assert (later.commits, later.points) == (4, later.traces)


def test_the_pages_of_an_action_come_from_their_branch_with_the_commits_of_git(tmp_path: Path) -> None:
    git = GitRepository.make(tmp_path / "project")
    hashes = [git.commit(f"Change {number}") for number in range(3)]
    document = json.loads(_HISTORY.read_text(encoding="utf-8").partition("=")[2].rstrip().rstrip(";"))
    (entry, *_), *_ = document["entries"].values()
    # Oldest first in git, newest first by the times that the action kept.
    entries = [
        {**entry, "commit": {**entry["commit"], "id": commit, "timestamp": f"2026-01-0{9 - number}T00:00:00Z"},
         "date": 1767225600000 - number * 86400000, "benches": [{"name": "b", "value": number, "unit": "ns/op"}]}
        for number, commit in enumerate([*hashes, "f" * 40])
    ]  # fmt: skip
    data = json.dumps({**document, "entries": {"Go": entries}})
    git.git("checkout", "--quiet", "--orphan", "gh-pages")
    (git.directory / "dev" / "bench").mkdir(parents=True)
    (git.directory / "dev" / "bench" / "data.js").write_text(f"window.BENCHMARK_DATA = {data}")
    git.git("add", ".")
    git.commit("Pages")
    git.git("checkout", "--quiet", "main")
    summary = move_in(str(git.directory), tmp_path / "here")
    assert (summary.points, summary.incomplete) == (3, True)
    assert any("no commit ffffffffffff" in line for line in summary.left)
    (values,) = points_in(tmp_path / "here").values()
    assert list(values) == hashes
    alone = move_in(str(git.directory), tmp_path / "alone", with_git=False)
    assert (alone.points, alone.incomplete) == (4, False)


def test_a_published_history_of_an_action_comes_from_the_page_that_shows_it(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    (pages / "dev" / "bench").mkdir(parents=True)
    shutil.copy(_HISTORY, pages / "dev" / "bench" / "data.js")
    with served(pages) as address:
        by_page = move_in(f"{address}/dev/bench/", tmp_path / "here")
        assert move_in(f"{address}/", tmp_path / "here").points == 0
        assert move_in(f"{address}/dev/bench/data.js", tmp_path / "here").points == 0
        with pytest.raises(InputError, match="no history of asv or github-action-benchmark is published here"):
            move_in(f"{address}/dev/", tmp_path / "nothing")
    assert by_page.points > 0
    assert not (tmp_path / "nothing").exists()


def test_an_empty_history_is_called_empty_and_not_known(tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "data.js").write_text('window.BENCHMARK_DATA = {"entries": {}}', encoding="utf-8")
    assert "No point came in: the history is empty." in move_in(str(pages), tmp_path / "instance").lines()


def test_what_was_not_taken_is_a_sentence_with_one_full_stop(project: Path, tmp_path: Path) -> None:
    (project / ".asv" / "results" / "box" / "0badc0de-env.json").write_text('{"version": 2,', encoding="utf-8")
    left = [line for line in move_in(str(project), tmp_path / "instance").lines() if line.startswith("Not taken")]
    assert any("0badc0de-env.json" in line for line in left)
    assert all(line.endswith(".") and not line.endswith("..") for line in left)


def test_where_there_is_no_history_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no history of asv or github-action-benchmark is here.*knick import"):
        move_in(str(tmp_path / "empty"), tmp_path / "here")
    assert not (tmp_path / "here").exists()


def test_a_shallow_clone_orders_commits_by_their_times(project: Path, tmp_path: Path) -> None:
    git = GitRepository.make(tmp_path / "origin")
    shutil.copytree(project, git.directory, dirs_exist_ok=True)
    git.git("add", ".")
    git.commit("Benchmarks")
    git.commit("More")
    git.git("clone", "--quiet", "--depth=1", git.directory.as_uri(), str(tmp_path / "clone"))
    summary = move_in(str(tmp_path / "clone"), tmp_path / "here")
    assert (summary.commits, summary.incomplete) == (4, False)
    assert any("shallow" in line for line in summary.left)


@pytest.mark.parametrize("missing", ["graph_param_list", "benchmarks", "revision_to_hash"])
def test_an_index_that_is_none_of_asv_is_refused(missing: str) -> None:
    index = json.loads((_ASV / "html" / "index.json").read_bytes())
    del index[missing]
    with pytest.raises(FormatError, match=f"{missing} is missing, so this is not a site of asv"):
        read_site_index(json.dumps(index).encode())


def test_paths_of_graphs_are_those_that_asv_writes() -> None:
    site = read_site_index((_ASV / "html" / "index.json").read_bytes())
    written = {path.relative_to(_ASV / "html").as_posix() for path in (_ASV / "html" / "graphs").rglob("*.json")}
    assert {graph.path for graph in site.graphs} == written
