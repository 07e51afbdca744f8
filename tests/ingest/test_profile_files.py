"""Profiles come in as results do: by content, at the commit of their run, for the benchmark of their name."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.ingest.conftest import Lab
from tests.profiles.made import folded
from tests.repositories import GitRepository

from knickpoint.ingest import ImportState, import_data, retry_refused
from knickpoint.ingest.file_import import WatchedSource
from knickpoint.ingest.profile_files import benchmark_of
from knickpoint.ingest.results_file import ResultsFile
from knickpoint.ingest.sidecar import Sidecar
from knickpoint.profiles import unpack_profile
from knickpoint.store.profiles import StoredProfile

A, B = "1000001", "1000002"
STACKS = folded([(["main", "parse"], 3), (["main"], 1)])


def profiles(lab: Lab) -> list[StoredProfile]:
    store = lab.instance.store
    return store.profiles.all(store.commits.repository("main"))


def costs(lab: Lab, digest: str) -> dict[str, float]:
    found = unpack_profile(lab.instance.store.profiles.content(digest), "")
    return dict(zip(found.names, found.cost.total.tolist(), strict=True))


def test_a_folder_of_results_and_profiles_is_imported_once(lab: Lab) -> None:
    lab.skia("results/z.json", A, parse=1)
    lab.write("results/parse.2.folded", STACKS)
    lab.write("results/parse.2.folded.sidecar.json", {"commit": A, "params": {"machine": "m1"}})
    first, second = (lab.take(lab.directory / "results") for _ in range(2))
    assert [file.state for file in first.files] == [ImportState.IMPORTED] * 2
    assert [file.state for file in second.files] == [ImportState.UNCHANGED] * 2
    (found,) = profiles(lab)
    assert (found.benchmark, found.format, found.kind, found.unit) == ("parse", "folded stacks", "count", "samples")
    assert [found.belongs_to(key) for key in (",benchmark=parse,machine=m1,", ",benchmark=parse,machine=m2,")] == [
        True,
        False,
    ]
    assert costs(lab, found.digest) == {"main": 4.0, "parse": 3.0}


def test_the_same_run_with_another_profile_replaces_it_and_frees_what_it_kept(lab: Lab) -> None:
    lab.take(lab.skia("z.json", A, parse=1))
    path = lab.write("parse.folded", STACKS)
    lab.take(path, revision=A)
    path.write_bytes(folded([(["main"], 9)]) + folded([(["main", "b"], 2)]))
    assert lab.take(path, revision=A).files[0].profile == "parse"
    (found,) = profiles(lab)
    assert costs(lab, found.digest) == {"main": 11.0, "b": 2.0}
    assert lab.instance.store.profiles.sizes()[0] == 1


def test_equal_profiles_of_two_commits_share_what_is_kept(lab: Lab) -> None:
    lab.take(lab.skia("a.json", A, parse=1), lab.skia("b.json", B, parse=1))
    for commit in (A, B):
        lab.take(lab.write(f"{commit}/parse.folded", STACKS), revision=commit)
    found = profiles(lab)
    assert len(found) == 2
    assert len({each.digest for each in found}) == 1


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("parse.folded", "parse"),
        ("parse.12.folded.gz", "parse"),
        ("json.loads.3.prof", "json.loads"),
        ("sort-1000.speedscope.json", "sort-1000"),
        ("upload:results/sort.1.pb.gz", "sort"),
    ],
)
def test_the_name_of_a_file_names_the_benchmark(name: str, named: str) -> None:
    assert benchmark_of(ResultsFile(name, b"")) == named


def test_a_profile_of_no_benchmark_is_refused_with_the_remedy(lab: Lab) -> None:
    lab.take(lab.skia("a.json", A, parse=1))
    found = lab.take(lab.write("noname", STACKS), revision=A).files[0]
    assert found.state is ImportState.REFUSED
    assert "--param benchmark=NAME" in found.problems[0].remedy


def test_a_benchmark_without_results_is_warned_of(lab: Lab) -> None:
    lab.take(lab.skia("a.json", A, parse=1))
    found = lab.take(lab.write("pasre.folded", STACKS), revision=A).files[0]
    assert [problem.message for problem in found.problems] == ["no results of the benchmark 'pasre' yet"]


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("parse.folded", 4 * folded([(["main", "parse"], 3)]) + b"main;parse -7\n", "line 5"),
        ("parse.cpuprofile", json.dumps({"nodes": [{"id": 1}], "startTime": 0, "endTime": 1}).encode(), ""),
        ("parse.pb", gzip.compress(b"\x0a\x04\x08\x01\x10\x02\x12\xff", mtime=0), "damaged"),
        ("parse.knick", b"\x89knick-profile 1\n\x02\x00\x00\x00{}", "damaged"),
        ("parse.prof", b"\x80\x00of another program", "not a profile in a known format"),
    ],
)
def test_a_broken_profile_is_refused_and_kept_in_quarantine(lab: Lab, name: str, content: bytes, place: str) -> None:
    lab.take(lab.skia("a.json", A, parse=1))
    found = lab.take(lab.write(name, content), revision=A).files[0]
    assert found.state is ImportState.REFUSED
    assert place in found.problems[0].sentence
    assert profiles(lab) == []
    assert len(retry_refused(lab.instance).files) == 1


def test_text_that_ends_with_numbers_is_not_a_profile(lab: Lab) -> None:
    lab.take(lab.skia("a.json", A, parse=1))
    log = lab.write("log.txt", "Built the docs 12\nRan the tests 900\n")
    assert "no format fits" in lab.take(log, revision=A).files[0].problems[0].message
    assert lab.take(log, revision=A, format="profile").files[0].state is ImportState.IMPORTED


def test_large_files_of_other_kinds_in_a_folder_are_left_alone(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knickpoint.profiles.reading.MOST_BYTES", 10)
    lab.skia("results/a.json", A, parse=1)
    lab.write("results/other.json", {"coverage": list(range(20))})
    lab.write("results/parse.folded", STACKS)
    lab.write("results/parse.folded.sidecar.json", {"commit": A})
    found = lab.take(lab.directory / "results")
    assert [file.state for file in found.files] == [ImportState.IMPORTED, ImportState.REFUSED]
    assert [Path(name).name for name in found.ignored] == ["other.json"]


def test_a_dry_run_keeps_nothing(lab: Lab) -> None:
    lab.take(lab.skia("a.json", A, parse=1))
    assert lab.take(lab.write("parse.folded", STACKS), revision=A, dry_run=True).files[0].profile == "parse"
    assert profiles(lab) == []


def test_a_profile_waits_for_its_commit(lab: Lab, new_repository: Callable[[str], GitRepository]) -> None:
    repository = new_repository("code")
    repository.commit("first")
    lab.configure(f'[repositories.main]\nlocation = "{repository.directory}"\n')
    found = lab.take(lab.write("parse.folded", STACKS), revision="f" * 40).files[0]
    assert found.state is ImportState.WAITING


def test_uploads_name_the_benchmark_in_a_param(lab: Lab) -> None:
    lab.take(lab.skia("a.json", A, parse=1))
    stated = Sidecar(commit=A, params={"benchmark": "BM_parse/64"})
    import_data(lab.instance, STACKS, source="upload:p.folded", stated=stated)
    assert [each.benchmark for each in profiles(lab)] == ["BM_parse/64"]


def test_a_watched_folder_takes_profiles_after_results(lab: Lab) -> None:
    lab.configure('[ingest.sources.nightly]\nlocation = "../results"\n')
    lab.write("results/a.folded", STACKS)
    lab.write("results/a.folded.sidecar.json", {"commit": A})
    lab.skia("results/b.json", A, a=1)
    for path in Path(lab.directory, "results").iterdir():
        os.utime(path, (1_700_000_000, 1_700_000_000))
    source = WatchedSource(lab.instance, "nightly", lab.instance.ingest.sources["nightly"])
    assert [file.state for file in source.poll().files] == [ImportState.IMPORTED] * 2
    assert [each.benchmark for each in profiles(lab)] == ["a"]
