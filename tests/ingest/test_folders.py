"""Folders with more in them than results, and files that stand beside results."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.ingest.conftest import Lab

from knickpoint.ingest import ImportState, ingest_status, retry_refused
from knickpoint.ingest.file_import import WatchedSource
from knickpoint.model.errors import InputError
from knickpoint.model.params import decode_key
from knickpoint.model.query import Query

A = "1000001"
GOLDEN = Path(__file__).parents[1] / "formats" / "golden"
MAPPING = """
name = "rally"
[run]
revision = "commit"
[[results]]
each = "tasks.*"
params = { benchmark = "@" }
value = "took"
unit = "=ms"
"""


def names(lab: Lab) -> set[str]:
    """Return the names of all params in the store."""
    store = lab.instance.store
    known = [
        trace
        for repository in store.commits.repositories()
        for trace in store.traces.get(store.traces.select(repository, Query()))
    ]
    return {name for trace in known for name in decode_key(trace.key)}


def states(lab: Lab, *paths: Path, **options: str) -> list[ImportState]:
    return [file.state for file in lab.take(*paths, **options).files]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("package.json", '{"name": "x"}'),
        ("notes.txt", "Run it twice.\n"),
        ("raw.log", b"\xff\xfe\xfd"),
        ("a.json", "7"),
    ],
)
def test_a_file_in_a_folder_that_no_format_fits_is_left_alone(lab: Lab, name: str, content: str | bytes) -> None:
    other = lab.write(f"folder/{name}", content)
    lab.skia("folder/one.json", A, sort=1)
    summary = lab.take(lab.directory / "folder")
    assert (summary.failed, summary.ignored) == (False, (str(other),))
    assert summary.lines()[-1] == "1 file of other kinds ignored"
    assert ingest_status(lab.instance).refused == ()


def test_the_same_file_named_is_refused(lab: Lab) -> None:
    assert states(lab, lab.write("folder/package.json", '{"name": "x"}')) == [ImportState.REFUSED]


def test_a_file_in_a_folder_that_is_named_too_is_refused(lab: Lab) -> None:
    other = lab.write("folder/package.json", '{"name": "x"}')
    assert states(lab, other.parent, other) == [ImportState.REFUSED]


def test_a_folder_of_one_format_has_nothing_to_be_left_alone(lab: Lab) -> None:
    other = lab.write("folder/package.json", '{"name": "x"}')
    assert states(lab, other.parent, format="skia") == [ImportState.REFUSED]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("cut.json", '{"version": 1, "git_hash": "'),
        ("empty.json", ""),
        ("cut.xml", '<testsuites><testsuite name="a">'),
        ("data.js", "window.BENCHMARK_DATA = {"),
        ("cut.json.gz", b"\x1f\x8b\x08\x00"),
    ],
)
def test_results_in_a_folder_that_were_cut_short_are_refused(lab: Lab, name: str, content: str | bytes) -> None:
    assert states(lab, lab.write(f"folder/{name}", content).parent) == [ImportState.REFUSED]


def test_a_folder_of_asv_comes_in_with_the_names_of_its_params(lab: Lab) -> None:
    machine = lab.directory / "results" / "machine"
    machine.mkdir(parents=True)
    shutil.copy(GOLDEN / "asv-0.6.6.json", machine / "0123abcd-env.json")
    shutil.copy(GOLDEN / "asv-0.6.6-benchmarks.json", machine.parent / "benchmarks.json")
    lab.write("results/machine/machine.json", {"arch": "x86_64", "machine": "machine", "version": 1})
    summary = lab.take(lab.directory / "results")
    assert (summary.failed, len(summary.files), len(summary.ignored)) == (False, 1, 2)
    assert not {name for name in names(lab) if name.startswith("param")}


def test_a_folder_of_criterion_comes_in_without_what_stands_beside_results(lab: Lab) -> None:
    for place in ("new", "base"):
        directory = lab.directory / "target" / "criterion" / "sort" / place
        directory.mkdir(parents=True)
        for name in ("benchmark", "estimates", "sample"):
            shutil.copy(GOLDEN / f"criterion-0.3.6-{name}.json", directory / f"{name}.json")
        lab.write(f"target/criterion/sort/{place}/tukey.json", [1.5, 2.5, 3.5, 4.5])
    lab.write("target/criterion/sort/report/index.html", "<html>")
    summary = lab.take(lab.directory / "target", revision=A)
    assert not summary.failed
    assert {Path(file.source).parent.name for file in summary.files} == {"new"}


def test_what_stood_beside_a_refused_file_is_kept_with_it(lab: Lab) -> None:
    results = json.loads((GOLDEN / "asv-0.6.6.json").read_text(encoding="utf-8"))
    path = lab.write("results/machine/one.json", {**results, "commit_hash": ""})
    beside = lab.directory / "results" / "benchmarks.json"
    shutil.copy(GOLDEN / "asv-0.6.6-benchmarks.json", beside)
    assert states(lab, path) == [ImportState.REFUSED]
    beside.unlink()
    assert [file.state for file in retry_refused(lab.instance, revision=A).files] == [ImportState.IMPORTED]
    assert not {name for name in names(lab) if name.startswith("param")}


def test_a_mapping_says_where_the_results_stand(lab: Lab) -> None:
    mapping = str(lab.write("rally.toml", MAPPING))
    path = lab.write("rally.json", {"commit": A, "tasks": {"bulk": {"took": [1, 3]}}})
    summary = lab.take(path, format=mapping)
    assert (summary.files[0].format, lab.values()) == ("rally", {A: {"bulk": 2}})
    assert lab.take(path, format=mapping).files[0].state is ImportState.UNCHANGED


def test_a_mapping_is_kept_with_what_it_could_not_read(lab: Lab) -> None:
    mapping = str(lab.write("rally.toml", MAPPING))
    assert states(lab, lab.write("rally.json", {"tasks": {"bulk": {"took": 1}}}), format=mapping) == [
        ImportState.REFUSED
    ]
    assert [file.state for file in retry_refused(lab.instance, revision=A).files] == [ImportState.IMPORTED]


def test_a_mapping_that_is_not_there_is_an_error_that_names_it(lab: Lab) -> None:
    with pytest.raises(InputError, match=r"none\.toml: there is no such file"):
        lab.take(lab.skia("a.json", A, sort=1), format=str(lab.directory / "none.toml"))


_LOOK = """
import os, sys
from knickpoint.ingest.file_import import _list_files
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
for summary in _list_files(sys.argv[1:]).unreadable:
    print("\\n".join(summary.lines()))
"""
"""Root may read everything, so it becomes another user, once Python has loaded what it needs."""


@pytest.mark.long
def test_a_folder_that_may_not_be_read_is_one_line(lab: Lab) -> None:
    closed = lab.write("open/closed/a.json", "{}").parent
    for place in (lab.directory, *lab.directory.parents):
        if place.stat().st_uid == os.geteuid() and not place.stat().st_mode & 0o001:
            place.chmod(place.stat().st_mode | 0o011)
    closed.chmod(0)
    completed = subprocess.run(
        [sys.executable, "-c", _LOOK, str(closed)], capture_output=True, text=True, check=False, cwd="/"
    )
    closed.chmod(0o700)
    assert (completed.stderr, completed.stdout.splitlines()) == (
        "",
        [f"{closed}: not read: permission denied. Grant read access to it."],
    )


def test_a_file_whose_name_is_not_utf8_comes_in_under_a_readable_name_beside_its_neighbours(lab: Lab) -> None:
    folder = lab.directory / "odd"
    folder.mkdir()
    for number, name in enumerate([b"a.csv", b"b\xff.csv", b"c.csv"]):
        path = Path(os.fsdecode(os.fsencode(folder) + b"/" + name))
        path.write_text(f"commit,benchmark,value\n100000{number},parse,3\n")
        os.utime(path, (1_700_000_000, 1_700_000_000))
    came = lab.take(folder).files
    assert [file.state for file in came] == [ImportState.IMPORTED] * 3
    assert [Path(file.source).name for file in came] == ["a.csv", r"b\xff.csv", "c.csv"]
    assert states(lab, folder) == [ImportState.UNCHANGED] * 3
    lab.configure(f'[ingest.sources.nightly]\nlocation = "{folder}"\n')
    polled = WatchedSource(lab.instance, "nightly", lab.instance.ingest.sources["nightly"]).poll()
    assert [file.state for file in polled.files] == [ImportState.UNCHANGED] * 3
