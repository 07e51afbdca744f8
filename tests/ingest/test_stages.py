"""The stages of an import, each by the value that it returns."""

from __future__ import annotations

from tests.ingest.conftest import Lab

from knickpoint.ingest.commit_sources.results import ResultCommits
from knickpoint.ingest.commit_sources.selection import CommitSources
from knickpoint.ingest.results_file import ResultsFile
from knickpoint.ingest.settings import CommitOrder, IngestSettings
from knickpoint.ingest.sidecar import FileContext, Sidecar
from knickpoint.ingest.stages.read import ReadResults, read_results
from knickpoint.ingest.stages.resolve import name_runs, resolve_runs
from knickpoint.ingest.stages.write import write_runs

A = "1000001"
GO = b"goos: linux\nBenchmarkSort-8   \t 100\t 10 ns/op\n"


def read(data: bytes, *, found: bool = False, commit: str = "", repository: str = "") -> ReadResults | None:
    stated = Sidecar(commit=commit, repository=repository)
    return read_results(ResultsFile("upload:go.txt", data, FileContext(stated), found=found), IngestSettings())


def test_only_a_file_that_was_found_is_unclaimed() -> None:
    assert read(b'{"tasks": 1}', found=True) is None


def test_reading_keeps_what_stands_beside_the_file_apart_from_the_report() -> None:
    results = read(GO, commit=A)
    assert results is not None
    assert [run.revision for run in results.report.runs] == [""]
    assert results.file.context.stated.commit == A


def test_naming_runs_writes_nothing(lab: Lab) -> None:
    results = read(GO, commit=A, repository="p")
    assert results is not None
    source = CommitSources(lab.instance).open("p")
    named = name_runs(results, source, lab.instance.ingest)
    assert [completed.run.revision for completed in named.runs] == [A]
    assert lab.instance.store.commits.repositories() == []


def test_the_stages_return_what_they_made(lab: Lab) -> None:
    results = read(GO, commit=A, repository="p")
    assert results is not None
    store = lab.instance.store
    source = ResultCommits(store, "p")
    with store.transaction():
        resolved = resolve_runs(name_runs(results, source, lab.instance.ingest), source, store, CommitOrder.TIME)
        summary = write_runs(lab.instance, resolved)
    assert [run.slot for run in resolved.runs] == [store.commits.get(source.repository, [0])[0].slot]
    assert (summary.new, summary.points, summary.new_traces) == (1, 1, 1)


def test_a_refused_file_and_a_dry_run_leave_no_repository_behind(lab: Lab) -> None:
    path = lab.write("go.txt", GO.decode())
    assert lab.take(path, repository="p").failed
    assert not lab.take(path, repository="p", revision=A, dry_run=True).failed
    assert lab.instance.store.commits.repositories() == []
