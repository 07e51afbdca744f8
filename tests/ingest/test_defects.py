"""A defect of a reader refuses the file in hand, whichever way it came, and its neighbours come in."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec  # type: ignore[import-untyped]
import pytest
from click.testing import CliRunner
from tests.broken_readers import break_readers, content_for
from tests.ingest.conftest import Lab

from knickpoint.cli.program import knick
from knickpoint.formats import FORMATS
from knickpoint.ingest import ImportState, ImportSummary
from knickpoint.ingest.bucket_events import import_bucket_event
from knickpoint.ingest.file_import import WatchedSource
from knickpoint.ingest.new_results import read_compared_results, read_uploaded_results
from knickpoint.ingest.stages import write
from knickpoint.model.errors import DefectError
from knickpoint.model.report import Severity

A, B = "1000001", "1000002"
NAMES = [known.name for known in FORMATS]


@pytest.fixture
def _broken_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    break_readers(monkeypatch.setattr)


def defects(summary: ImportSummary) -> list[str]:
    """Return the names of the files that were refused because of a defect."""
    refused = [file for file in summary.files if file.state is ImportState.REFUSED]
    assert all(file.problems[0].severity is Severity.DEFECT for file in refused)
    assert all("RecursionError" in file.problems[0].message and file.problems[0].remedy for file in refused)
    return [Path(file.source).stem.partition("-broken-")[2] for file in refused]


def folder_with_neighbours(lab: Lab) -> Path:
    """Return a folder with a file for each broken reader, and a good one before and after them."""
    lab.skia("results/a.json", A, sort=1)
    for name in NAMES:
        lab.write(f"results/b-broken-{name}.txt", content_for(name))
    lab.skia("results/c.json", B, sort=2)
    folder = lab.directory / "results"
    for path in folder.iterdir():
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return folder


GOOD = {A: {"sort": 1}, B: {"sort": 2}}


@pytest.mark.usefixtures("_broken_readers")
def test_files_that_a_person_names_come_in_beside_those_that_readers_fail_on(lab: Lab) -> None:
    folder = folder_with_neighbours(lab)
    summary = lab.take(*sorted(path for path in folder.iterdir() if ".sidecar" not in path.name))
    assert sorted(defects(summary)) == sorted(NAMES)
    assert lab.values() == GOOD


@pytest.mark.usefixtures("_broken_readers")
def test_a_folder_comes_in_beside_files_that_readers_fail_on(lab: Lab) -> None:
    assert sorted(defects(lab.take(folder_with_neighbours(lab)))) == sorted(NAMES)
    assert lab.values() == GOOD


@pytest.mark.usefixtures("_broken_readers")
def test_a_watched_folder_comes_in_beside_files_that_readers_fail_on(lab: Lab) -> None:
    folder_with_neighbours(lab)
    lab.configure('[ingest.sources.nightly]\nlocation = "../results"\n')
    source = WatchedSource(lab.instance, "nightly", lab.instance.ingest.sources["nightly"])
    assert sorted(defects(source.poll())) == sorted(NAMES)
    assert lab.values() == GOOD
    assert source.poll().files == ()


@pytest.fixture
def bucket() -> Iterator[Any]:
    files = fsspec.filesystem("memory")
    yield files
    files.rm("/bench", recursive=True)


@pytest.mark.usefixtures("_broken_readers")
def test_a_bucket_comes_in_beside_files_that_readers_fail_on(lab: Lab, bucket: Any) -> None:
    lab.configure('[ingest.sources.nightly]\nlocation = "memory://bench"\n')
    for path in folder_with_neighbours(lab).iterdir():
        bucket.pipe(f"/bench/{path.name}", path.read_bytes())
    source = WatchedSource(lab.instance, "nightly", lab.instance.ingest.sources["nightly"])
    assert sorted(defects(source.poll())) == sorted(NAMES)
    assert lab.values() == GOOD


@pytest.mark.usefixtures("_broken_readers")
def test_files_of_one_notification_come_in_beside_those_that_readers_fail_on(lab: Lab, bucket: Any) -> None:
    lab.configure('[ingest.sources.nightly]\nlocation = "memory://bench"\n')
    bucket.pipe("/bench/a-broken-csv.txt", content_for("csv").encode())
    bucket.pipe("/bench/b.json", lab.skia("b.json", A, sort=1).read_bytes())
    outcomes = [
        import_bucket_event(lab.instance, json.dumps({"url": f"memory://bench/{name}"}).encode()).files[0].state
        for name in ("a-broken-csv.txt", "b.json")
    ]
    assert outcomes == [ImportState.REFUSED, ImportState.IMPORTED]


@pytest.mark.usefixtures("_broken_readers")
@pytest.mark.parametrize("name", NAMES)
def test_a_comparison_says_that_a_reader_failed(lab: Lab, name: str) -> None:
    path = lab.write("new.txt", content_for(name))
    with pytest.raises(DefectError, match="RecursionError") as local:
        read_compared_results(lab.instance.ingest, [path])
    with pytest.raises(DefectError, match="RecursionError") as uploaded:
        read_uploaded_results(lab.instance.ingest, path.read_bytes(), name="new.txt", repository="main")
    assert (local.value.where, uploaded.value.where) == (str(path), "new.txt")


def test_a_defect_after_reading_keeps_nothing_of_the_file(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    bad, good = lab.skia("bad.json", A, sort=1), lab.skia("good.json", B, sort=2)
    record = write.record_file

    def fail(destination: Any, resolved: Any) -> None:
        if resolved.read.file.source == str(bad):
            raise ZeroDivisionError("division by zero")
        record(destination, resolved)

    monkeypatch.setattr(write, "record_file", fail)
    summary = lab.take(bad, good)
    assert [file.state for file in summary.files] == [ImportState.REFUSED, ImportState.IMPORTED]
    assert summary.files[0].problems[0].severity is Severity.DEFECT
    assert lab.values() == {B: {"sort": 2}}


@pytest.mark.usefixtures("_broken_readers")
def test_status_quarantine_and_doctor_show_a_defect_until_a_repaired_reader_reads_the_file(lab: Lab) -> None:
    lab.take(lab.write("bad.txt", content_for("csv")))

    def shown(*arguments: str) -> str:
        return CliRunner().invoke(knick, [*arguments, "--instance", str(lab.directory / "instance")]).output

    for command in (("ingest", "status"), ("ingest", "quarantine")):
        assert "defect of Knickpoint (RecursionError: maximum recursion depth exceeded, in broken_readers.py" in shown(
            *command
        )
    assert "1 file refused because of a defect of Knickpoint" in shown("doctor")
    lab.take(lab.write("bad.txt", "commit,time,benchmark,value\nabcdef12,2026-01-01,sort,1\n"))
    assert "defect" not in shown("doctor") + shown("ingest", "quarantine")
