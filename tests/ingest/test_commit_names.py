"""The commit of results that name none, or that are given one by name."""

from __future__ import annotations

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.ingest.conftest import Lab
from tests.ingest.test_context import GITHUB
from tests.ingest.test_file_import import history
from tests.ingest.test_placeholders import pytest_benchmark
from tests.repositories import GitRepository

from knickpoint.ingest import ImportState, Sidecar, import_data, ingest_status, retry_refused
from knickpoint.ingest.file_import import WatchedSource
from knickpoint.model.errors import InputError

GO = "BenchmarkSort 100 {} ns/op\nPASS\n"
A = "a" * 40


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> GitRepository:
    """Make a repository with three commits and a tracked file."""
    repository = GitRepository.make(tmp_path_factory.mktemp("git") / "mylib")
    (repository.directory / "code.c").write_text("one")
    repository.git("add", ".")
    repository.commits(3)
    return repository


@pytest.fixture
def work_tree(lab: Lab, template: GitRepository) -> GitRepository:
    """Copy the repository, the only one of the instance."""
    copied = shutil.copytree(template.directory, lab.directory / "mylib", symlinks=True)
    lab.configure('[repositories.mylib]\nlocation = "../mylib"\n')
    return GitRepository(copied, template.minutes)


def go(lab: Lab, name: str = "mylib/go.txt", value: float = 10) -> Path:
    """Write what `go test -bench` prints, which names neither a commit nor a time."""
    return lab.write(name, GO.format(value))


def head(repository: GitRepository, name: str = "HEAD") -> str:
    return repository.git("rev-parse", name)


def measured(lab: Lab, repository: str = "mylib") -> dict[str, list[float]]:
    """Return commit → values for the commits that have some."""
    return {name: list(found.values()) for name, found in lab.values(repository).items() if found}


def test_results_without_a_commit_take_head_and_the_import_says_so(lab: Lab, work_tree: GitRepository) -> None:
    summary = lab.take(go(lab))
    assert measured(lab) == {head(work_tree): [10]}
    assert f"results without a commit: HEAD {head(work_tree)[:12]} of mylib" in summary.lines()


def test_files_without_a_commit_that_became_re_runs_of_head_are_counted(lab: Lab, work_tree: GitRepository) -> None:
    files = [go(lab, f"mylib/go-{number}.txt", value) for number, value in enumerate((10, 12, 17))]
    summary = lab.take(*files)
    assert measured(lab) == {head(work_tree): [12]}
    (remark,) = [line for line in summary.lines() if "measured benchmarks of HEAD again" in line]
    assert remark.startswith("2 of 3 files without a commit ")
    assert "--commit" in remark


def test_one_more_run_of_head_is_no_reason_for_a_remark(lab: Lab, work_tree: GitRepository) -> None:
    lab.take(go(lab))
    summary = lab.take(go(lab, "mylib/again.txt", 12))
    assert measured(lab) == {head(work_tree): [11]}
    assert not [line for line in summary.lines() if "of HEAD again" in line]


def test_results_from_outside_of_any_work_tree_take_head(
    lab: Lab, work_tree: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work_tree.directory)
    lab.take(go(lab, "elsewhere/go.txt"))
    assert measured(lab) == {head(work_tree): [10]}


@pytest.mark.usefixtures("work_tree")
def test_results_from_outside_that_are_imported_from_another_work_tree_are_not_of_head(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(GitRepository.make(lab.directory / "other").directory)
    assert "is another one" in lab.take(go(lab, "elsewhere/go.txt")).lines()[0]


def test_a_change_of_a_tracked_file_keeps_head_away(lab: Lab, work_tree: GitRepository) -> None:
    (work_tree.directory / "code.c").write_text("two")
    line = lab.take(go(lab)).lines()[0]
    assert ("the work tree has changes (code.c)" in line, "older" in line) == (True, False)


def test_results_that_git_tracks_are_no_change(lab: Lab, work_tree: GitRepository) -> None:
    go(lab, value=9)
    work_tree.git("add", ".")
    work_tree.commit()
    lab.take(go(lab, value=10))
    assert measured(lab) == {head(work_tree): [10]}


@pytest.mark.usefixtures("work_tree")
def test_a_file_older_than_head_is_not_of_head(lab: Lab) -> None:
    path = go(lab)
    os.utime(path, (1_600_000_000, 1_600_000_000))
    line = lab.take(path).lines()[0]
    assert ("the file is older than HEAD" in line, "changes" in line) == (True, False)


def test_both_reasons_are_named(lab: Lab, work_tree: GitRepository) -> None:
    (work_tree.directory / "code.c").write_text("two")
    path = go(lab)
    os.utime(path, (1_600_000_000, 1_600_000_000))
    line = lab.take(path).lines()[0]
    assert ("has changes" in line, "is older than HEAD" in line) == (True, True)


@pytest.mark.usefixtures("work_tree")
def test_a_run_long_before_head_is_not_of_head_although_its_file_is_new(lab: Lab) -> None:
    lab.write("mylib/a.csv", "time,benchmark,value\n2020-01-01T00:00:00Z,sort,1\n")
    assert "the run is older than HEAD" in lab.take(lab.directory / "mylib" / "a.csv").lines()[0]


@pytest.mark.usefixtures("work_tree")
def test_a_run_after_its_file_was_written_is_not_of_head_as_its_time_is_wrong(lab: Lab) -> None:
    lab.write("mylib/a.csv", "time,benchmark,value\n2101-01-01T00:00:00Z,sort,1\n")
    line = lab.take(lab.directory / "mylib" / "a.csv").lines()[0]
    assert "the run is later than its file (2101-01-01 00:00:00+00:00, file 2" in line
    assert "--commit HEAD takes HEAD all the same" in line


def test_a_run_in_the_local_time_of_a_zone_ahead_is_of_head(lab: Lab, work_tree: GitRepository) -> None:
    ahead = datetime.now(UTC) + timedelta(hours=14)
    lab.take(lab.write("mylib/a.csv", f"time,benchmark,value\n{ahead:%Y-%m-%dT%H:%M:%S},sort,1\n"))
    assert measured(lab) == {head(work_tree): [1]}


@pytest.mark.usefixtures("work_tree")
def test_results_measured_with_changes_are_not_of_head(lab: Lab) -> None:
    line = lab.take(lab.write("mylib/a.json", pytest_benchmark("unversioned", dirty=True))).lines()[0]
    assert "the results say that the work tree had changes" in line


@pytest.mark.usefixtures("work_tree")
def test_results_of_another_work_tree_are_not_of_head(lab: Lab) -> None:
    GitRepository.make(lab.directory / "other")
    assert "is another one" in lab.take(go(lab, "other/go.txt")).lines()[0]


def test_what_follows_head_is_a_new_run_though_its_numbers_are_equal(lab: Lab, work_tree: GitRepository) -> None:
    before = head(work_tree)
    lab.take(go(lab))
    work_tree.commit()
    lab.take(go(lab))
    assert measured(lab) == {before: [10], head(work_tree): [10]}


def test_an_old_file_is_in_already_when_head_has_moved(lab: Lab, work_tree: GitRepository) -> None:
    path = go(lab)
    lab.take(path)
    work_tree.commit(date="1900000000 +0000")
    assert lab.take(path).files[0].state is ImportState.UNCHANGED


def test_results_with_a_commit_keep_it(lab: Lab, work_tree: GitRepository) -> None:
    other = head(work_tree, "HEAD~1")
    lab.take(lab.skia("mylib/a.json", other, sort=4))
    assert measured(lab) == {other: [4]}


@pytest.mark.usefixtures("work_tree")
def test_results_with_a_commit_that_the_repository_does_not_have_wait(lab: Lab) -> None:
    assert lab.take(lab.skia("mylib/a.json", A, sort=4)).files[0].state is ImportState.WAITING


def test_the_ci_goes_before_head(lab: Lab, work_tree: GitRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (GITHUB | {"GITHUB_SHA": head(work_tree, "HEAD~1")}).items():
        monkeypatch.setenv(name, value)
    lab.take(go(lab))
    assert list(measured(lab)) == [head(work_tree, "HEAD~1")]


@pytest.mark.parametrize("name", ["HEAD", "HEAD~1", "@", "main", "v1.0", "side"])
def test_a_reference_is_the_commit_that_it_stands_for(lab: Lab, work_tree: GitRepository, name: str) -> None:
    work_tree.git("tag", "v1.0", "HEAD~1")
    work_tree.git("branch", "side", "HEAD~2")
    lab.take(go(lab), revision=name)
    assert list(measured(lab)) == [head(work_tree, name)]


def test_head_by_name_is_taken_with_changes_too(lab: Lab, work_tree: GitRepository) -> None:
    (work_tree.directory / "code.c").write_text("two")
    lab.take(go(lab), revision="HEAD")
    assert list(measured(lab)) == [head(work_tree)]


def test_the_same_file_at_the_next_head_is_another_run(lab: Lab, work_tree: GitRepository) -> None:
    before = head(work_tree)
    lab.take(go(lab), revision="HEAD")
    work_tree.commit()
    lab.take(go(lab), revision="HEAD")
    assert list(measured(lab)) == [before, head(work_tree)]


@pytest.mark.usefixtures("work_tree")
@pytest.mark.parametrize("name", ["nosuch", "--output=x", "-h", "ext::sh -c true", "main\nmain", "HEAD:code.c"])
def test_a_name_that_git_does_not_know_refuses_the_file(lab: Lab, name: str) -> None:
    assert lab.take(go(lab), revision=name).files[0].state is ImportState.REFUSED


@pytest.mark.parametrize("name", ["HEAD", "HEAD~1", "main", "v1.0", "feature/x"])
def test_without_git_a_reference_is_refused(lab: Lab, name: str) -> None:
    line = lab.take(go(lab, "go.txt"), revision=name).lines()[0]
    assert "names no commit without a git repository" in line


@pytest.mark.usefixtures("work_tree")
@pytest.mark.parametrize("name", ["unknown", "0" * 40, "$GIT_COMMIT"])
def test_a_placeholder_as_an_option_is_refused(lab: Lab, name: str) -> None:
    with pytest.raises(InputError, match="placeholder"):
        lab.take(go(lab), revision=name)


def test_without_git_a_plain_name_says_that_it_is_one(lab: Lab) -> None:
    lab.take(lab.write("a.csv", "time,benchmark,value\n2026-01-01,sort,1\n"), revision="name:v1.0")
    assert lab.line() == ["v1.0"]


def test_without_git_a_name_that_results_gave_before_is_known(lab: Lab) -> None:
    lab.take(lab.write("a.csv", "commit,time,benchmark,value\nv1.0,2026-01-01,sort,1\n"))
    assert not lab.take(go(lab, "go.txt"), revision="v1.0").failed


@pytest.mark.usefixtures("work_tree")
def test_an_upload_takes_no_head(lab: Lab) -> None:
    summary = import_data(lab.instance, GO.format(1).encode(), source="upload:go.txt")
    assert summary.files[0].state is ImportState.REFUSED


@pytest.mark.usefixtures("work_tree")
@pytest.mark.parametrize("name", ["HEAD", "main"])
def test_an_upload_names_no_branch(lab: Lab, name: str) -> None:
    summary = import_data(lab.instance, GO.format(1).encode(), source="upload:go.txt", stated=Sidecar(commit=name))
    assert "is not a hash" in summary.lines()[0]


@pytest.mark.usefixtures("work_tree")
def test_a_watched_folder_takes_no_head(lab: Lab) -> None:
    lab.configure('[repositories.mylib]\nlocation = "../mylib"\n[ingest.sources.s]\nlocation = "../watched"\n')
    path = go(lab, "watched/go.txt")
    os.utime(path, (1_800_000_000, 1_800_000_000))
    polled = WatchedSource(lab.instance, "s", lab.instance.ingest.sources["s"]).poll()
    assert [file.state for file in polled.files] == [ImportState.REFUSED]


def test_a_refused_file_takes_no_head_later(lab: Lab, work_tree: GitRepository) -> None:
    (work_tree.directory / "code.c").write_text("two")
    lab.take(go(lab))
    (work_tree.directory / "code.c").write_text("one")
    assert retry_refused(lab.instance).failed


def test_a_refused_file_is_given_its_commit_by_a_reference(lab: Lab, work_tree: GitRepository) -> None:
    (work_tree.directory / "code.c").write_text("two")
    lab.take(go(lab))
    retry_refused(lab.instance, revision="HEAD~1")
    assert (list(measured(lab)), ingest_status(lab.instance).refused) == ([head(work_tree, "HEAD~1")], ())


@pytest.mark.usefixtures("work_tree")
def test_a_file_that_was_refused_with_a_branch_does_not_follow_the_branch(lab: Lab) -> None:
    lab.take(lab.write("mylib/go.txt", "{"), revision="main")
    assert retry_refused(lab.instance).failed


def test_results_without_a_repository_belong_to_the_only_one_that_results_made(lab: Lab) -> None:
    lab.take(lab.write("data.js", history((A, 1, 10))))
    lab.take(go(lab, "go.txt"), revision=A)
    assert [repository.name for repository in lab.instance.store.commits.repositories()] == ["o/r"]


def test_results_without_a_repository_ask_for_one_of_several(lab: Lab) -> None:
    lab.take(lab.write("a.js", history((A, 1, 10))), repository="o/r")
    lab.take(lab.write("b.js", history((A, 1, 11))), repository="o/s")
    assert "--repository: o/r, o/s" in lab.take(go(lab, "go.txt"), revision=A).lines()[0]


@pytest.mark.parametrize("name", ["results/{}.txt", "results/go-{:.9}-linux.txt", "results/{}/go.txt"])
def test_the_commit_in_the_name_of_a_file_goes_before_head(lab: Lab, work_tree: GitRepository, name: str) -> None:
    former = head(work_tree, "HEAD~1")
    summary = lab.take(go(lab, name.format(former)))
    assert measured(lab) == {former: [10]}
    assert "results without a commit: the one in the name of each file or of its directory" in summary.lines()


def test_the_commit_in_the_name_of_a_file_goes_before_the_ci(
    lab: Lab, work_tree: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (GITHUB | {"GITHUB_SHA": head(work_tree)}).items():
        monkeypatch.setenv(name, value)
    former = head(work_tree, "HEAD~1")
    lab.take(go(lab, f"results/{former}.txt"))
    assert measured(lab) == {former: [10]}


def test_equal_numbers_in_files_that_name_two_commits_are_two_runs(lab: Lab, work_tree: GitRepository) -> None:
    names = [head(work_tree, "HEAD~1"), head(work_tree, "HEAD~2")]
    files = [go(lab, f"results/{name}.txt") for name in names]
    for file in files:
        os.utime(file, (1_900_000_000, 1_900_000_000))
        lab.take(file)
    assert measured(lab) == {name: [10] for name in names}


def test_the_commit_that_is_stated_goes_before_the_one_in_the_name(lab: Lab, work_tree: GitRepository) -> None:
    lab.take(go(lab, f"results/{head(work_tree, 'HEAD~1')}.txt"), revision="HEAD")
    assert measured(lab) == {head(work_tree): [10]}


def test_a_file_whose_name_has_two_commits_is_refused(lab: Lab, work_tree: GitRepository) -> None:
    names = [head(work_tree, "HEAD~1")[:12], head(work_tree, "HEAD~2")[:12]]
    summary = lab.take(go(lab, f"results/{'-'.join(names)}.txt"))
    assert f"the name of the file has several: {', '.join(names)}" in summary.lines()[0]
    assert summary.files[0].state is ImportState.REFUSED


def test_what_looks_like_a_hash_and_is_none_of_the_repository_names_no_commit(
    lab: Lab, work_tree: GitRepository
) -> None:
    lab.take(go(lab, "mylib/results/20261124-deadbeef.txt"))
    assert measured(lab) == {head(work_tree): [10]}


def test_the_directory_of_the_work_tree_names_no_commit(lab: Lab, work_tree: GitRepository) -> None:
    former, newest = head(work_tree, "HEAD~1"), head(work_tree)
    work_tree.directory.rename(lab.directory / former[:12])
    lab.configure(f'[repositories.mylib]\nlocation = "../{former[:12]}"\n')
    lab.take(go(lab, f"{former[:12]}/go.txt"))
    assert measured(lab) == {newest: [10]}


def test_an_upload_is_of_the_commit_in_its_name(lab: Lab, work_tree: GitRepository) -> None:
    former = head(work_tree, "HEAD~1")
    import_data(lab.instance, GO.format(10).encode(), source=f"upload:go-{former}.txt")
    assert measured(lab) == {former: [10]}
