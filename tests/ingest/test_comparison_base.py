"""The base of new results: where their commit left the line, in real git repositories."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.repositories import GitRepository

from knickpoint.ingest.comparison_base import Base, find_base
from knickpoint.ingest.new_results import read_new_results
from knickpoint.instance import create_instance
from knickpoint.model.errors import HistoryError

from .conftest import Lab


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Lab, GitRepository]:
    """Make a repository whose eight commits on main are measured, with a branch off the fourth one."""
    place = tmp_path_factory.mktemp("measured")
    made, lab = GitRepository.make(place / "project"), Lab(place, create_instance(place / "instance"))
    hashes = made.commits(8)
    lab.configure('[repositories.project]\nlocation = "../project"\n')
    lab.take(*(lab.skia(f"{number}.json", name, parse=20.0 + number) for number, name in enumerate(hashes)))
    lab.instance.close()
    made.git("switch", "--quiet", "--create", "patch", hashes[3])
    made.commits(2)
    return lab, made


@pytest.fixture
def project(lab: Lab, tmp_path: Path, template: tuple[Lab, GitRepository]) -> GitRepository:
    """Copy the measured repository and its instance."""
    measured, made = template
    lab.begin_as(measured)
    return GitRepository(tmp_path / "project", made.minutes)


def base_of(lab: Lab, *commits: str, asked: str = "", line: str = "") -> Base:
    """Find the base of results that name ``commits``, "" for results that name none."""
    paths: Sequence[Path] = [lab.skia(f"new-{number}.json", name, parse=20.0) for number, name in enumerate(commits)]
    for path, name in zip(paths, commits, strict=True):
        if not name:
            path.write_text("benchmark,unit,value\nparse,ms,20\n", encoding="utf-8")
    read = read_new_results(lab.instance, paths)
    repository = lab.instance.store.commits.repository(read.repository)
    return find_base(lab.instance, repository, read, requested=asked, line=line)


def at(base: Base) -> str:
    assert base.commit is not None
    return base.commit.commit.hash


def test_results_of_a_branch_are_compared_with_the_merge_base(lab: Lab, project: GitRepository) -> None:
    base = base_of(lab, project.git("rev-parse", "patch"))
    assert at(base) == project.git("merge-base", "patch", "main")
    assert base.reason == f"the merge base of {project.git('rev-parse', 'patch')[:12]} with main"


def test_results_of_a_commit_on_the_line_are_compared_with_the_one_before(lab: Lab, project: GitRepository) -> None:
    assert at(base_of(lab, project.git("rev-parse", "main"))) == project.git("rev-parse", "main~1")
    assert at(base_of(lab, project.git("rev-parse", "main~2"))) == project.git("rev-parse", "main~3")


def test_a_commit_of_the_line_that_was_never_imported_is_compared_with_the_newest_one_that_was(
    lab: Lab, project: GitRepository
) -> None:
    newest = project.git("rev-parse", "main")
    project.switch("main")
    pushed = project.commits(3)[-1]
    assert at(base_of(lab, pushed)) == newest


def test_the_first_commit_of_the_line_has_no_base(lab: Lab, project: GitRepository) -> None:
    base = base_of(lab, project.git("rev-list", "--max-parents=0", "main"))
    assert (base.commit, base.reason) == (None, "main has no commit before what was measured")


def test_a_branch_that_merged_main_is_compared_with_what_it_merged(lab: Lab, project: GitRepository) -> None:
    merged = project.git("rev-parse", "main~1")
    project.git("merge", "--quiet", "--no-ff", "-m", "Merge main", merged)
    assert at(base_of(lab, project.commit())) == merged


def test_of_results_of_several_commits_the_oldest_base_counts(lab: Lab, project: GitRepository) -> None:
    base = base_of(lab, project.git("rev-parse", "main"), project.git("rev-parse", "patch"))
    assert at(base) == project.git("merge-base", "patch", "main")


def test_nothing_is_written_to_find_the_base(lab: Lab, project: GitRepository) -> None:
    before = lab.instance.store.commits.lines(lab.instance.store.commits.repository("project"))
    patch = project.git("rev-parse", "patch")
    base_of(lab, patch)
    repository = lab.instance.store.commits.repository("project")
    assert lab.instance.store.commits.lines(repository) == before
    assert lab.instance.store.commits.find(repository, patch) is None


@pytest.mark.parametrize("reference", ["v1", "patch~2", "main~4", "HEAD~2"])
def test_any_reference_of_git_can_be_the_base(lab: Lab, project: GitRepository, reference: str) -> None:
    project.git("tag", "v1", "main~4")
    base = base_of(lab, project.git("rev-parse", "patch"), asked=reference)
    assert (at(base), base.reason) == (project.git("rev-parse", "main~4"), f"--base {reference}")


def test_an_abbreviated_hash_can_be_the_base(lab: Lab, project: GitRepository) -> None:
    wanted = project.git("rev-parse", "main~1")
    assert at(base_of(lab, project.git("rev-parse", "patch"), asked=wanted[:8])) == wanted


def test_a_base_off_the_line_means_where_it_left_the_line(lab: Lab, project: GitRepository) -> None:
    base = base_of(lab, project.git("rev-parse", "main"), asked="patch")
    assert at(base) == project.git("merge-base", "patch", "main")
    assert base.reason == "the newest commit of main that --base patch contains"


@pytest.mark.parametrize("reference", ["nothing", "0123456789ab", "--output=x", "-1"])
def test_a_base_that_is_no_commit_is_refused_by_name(lab: Lab, project: GitRepository, reference: str) -> None:
    with pytest.raises(HistoryError) as raised:
        base_of(lab, project.git("rev-parse", "patch"), asked=reference)
    assert repr(reference) in raised.value.message


def test_a_base_that_shares_nothing_with_the_line_is_refused(lab: Lab, project: GitRepository) -> None:
    project.git("switch", "--quiet", "--orphan", "island")
    island = project.commit()
    with pytest.raises(HistoryError, match="have no commit in common"):
        base_of(lab, island)
    with pytest.raises(HistoryError, match="have no commit in common"):
        base_of(lab, project.git("rev-parse", "main"), asked="island")


def test_a_commit_that_the_repository_lacks_is_refused(lab: Lab, project: GitRepository) -> None:
    assert project.directory.is_dir()
    with pytest.raises(HistoryError, match="has no commit '1111111"):
        base_of(lab, "1" * 40)


def shallow(lab: Lab, project: GitRepository, *, depth: int) -> GitRepository:
    """Give the instance a shallow clone of the branch instead of the project."""
    clone = GitRepository(lab.directory / "clone", minutes=90)
    place = project.directory.as_uri()
    project.git("clone", "--quiet", f"--depth={depth}", "--branch=patch", place, str(clone.directory))
    lab.configure('[repositories.project]\nlocation = "../clone"\n')
    return clone


def test_a_shallow_clone_that_lacks_the_merge_base_is_an_error_with_its_remedy(
    lab: Lab, project: GitRepository
) -> None:
    clone = shallow(lab, project, depth=1)
    with pytest.raises(HistoryError, match="shallow") as raised:
        base_of(lab, clone.git("rev-parse", "HEAD"))
    assert "fetch-depth: 0" in raised.value.remedy
    assert "git fetch --unshallow" in raised.value.remedy
    clone.git("fetch", "--quiet", "--unshallow")
    assert at(base_of(lab, clone.git("rev-parse", "HEAD"))) == project.git("merge-base", "patch", "main")


def test_a_shallow_clone_that_lacks_the_measured_commit_is_an_error_with_its_remedy(
    lab: Lab, project: GitRepository
) -> None:
    shallow(lab, project, depth=1)
    with pytest.raises(HistoryError) as raised:
        base_of(lab, project.git("rev-parse", "patch~1"))
    assert "The clone is shallow" in raised.value.remedy


def test_a_shallow_clone_that_holds_the_merge_base_is_enough(lab: Lab, project: GitRepository) -> None:
    clone = shallow(lab, project, depth=5)
    assert at(base_of(lab, clone.git("rev-parse", "HEAD"))) == project.git("merge-base", "patch", "main")


def test_a_clone_of_a_url_is_fetched_for_the_commit_of_the_results(lab: Lab, project: GitRepository) -> None:
    lab.configure(f'[repositories.project]\nlocation = "{project.directory.as_uri()}"\n')
    base_of(lab, project.git("rev-parse", "main"))
    assert at(base_of(lab, project.commit())) == project.git("merge-base", "patch", "main")


def pull_request(
    lab: Lab, project: GitRepository, monkeypatch: pytest.MonkeyPatch, *, checkout: str
) -> tuple[str, str]:
    """Set the variables of a pull request of GitHub and check something out; return the hashes of merge and head."""
    head = project.git("rev-parse", "patch")
    project.git("switch", "--quiet", "--detach", "main")
    merge = project.merge("patch")
    project.git("update-ref", "refs/pull/7/merge", merge)
    project.git("switch", "--quiet", "--detach", {"merge": merge, "head": head}[checkout])
    event = lab.write("event.json", json.dumps({"pull_request": {"head": {"sha": head}}}))
    for name, value in {
        "GITHUB_ACTIONS": "true",
        "GITHUB_SHA": merge,
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_HEAD_REF": "patch",
    }.items():
        monkeypatch.setenv(name, value)
    return merge, head


def test_the_head_of_a_pull_request_is_compared_with_its_merge_base(
    lab: Lab, project: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, head = pull_request(lab, project, monkeypatch, checkout="head")
    base = base_of(lab, "")
    assert (at(base), head[:12] in base.reason) == (project.git("merge-base", head, "main"), True)


def test_the_merge_of_a_pull_request_is_compared_with_the_commit_of_main_that_it_contains(
    lab: Lab, project: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    merge, _ = pull_request(lab, project, monkeypatch, checkout="merge")
    assert at(base_of(lab, "")) == project.git("rev-parse", "main")
    assert at(base_of(lab, merge)) == project.git("rev-parse", "main")


def test_the_commit_of_a_merge_request_comes_from_the_variables_of_gitlab(
    lab: Lab, project: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITLAB_CI", "true")
    monkeypatch.setenv("CI_COMMIT_SHA", project.git("rev-parse", "patch"))
    assert at(base_of(lab, "")) == project.git("merge-base", "patch", "main")


def test_results_that_name_no_commit_are_those_of_head(
    lab: Lab, project: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.directory)
    assert at(base_of(lab, "")) == project.git("merge-base", "patch", "main")
    project.switch("main")
    assert at(base_of(lab, "")) == project.git("rev-parse", "main~1")


def test_results_of_changes_on_the_line_are_compared_with_the_commit_that_they_are_on(
    lab: Lab, project: GitRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.directory)
    project.switch("main")
    (project.directory / "code.py").write_text("slow = True\n", encoding="utf-8")
    project.git("add", "code.py")
    base = base_of(lab, "")
    assert at(base) == project.git("rev-parse", "main")
    assert base.reason == "the commit of main that the work tree had changes on"


def test_results_older_than_head_are_compared_with_the_newest_commit_which_is_said(
    lab: Lab, project: GitRepository
) -> None:
    project.commit(date="2000000000 +0000")
    base = base_of(lab, "")
    assert at(base) == project.git("rev-parse", "main")
    assert base.reason.startswith("the newest commit of main: the results do not say which commit they belong to, and")
    assert "is older than HEAD" in base.reason


def test_of_a_url_head_is_that_of_the_work_tree_that_we_are_in(
    lab: Lab, project: GitRepository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lab.configure(f'[repositories.project]\nlocation = "{project.directory.as_uri()}"\n')
    clone = GitRepository(tmp_path / "clone", minutes=50)
    project.git("clone", "--quiet", "--branch=patch", str(project.directory), str(clone.directory))
    unpublished = clone.commit()
    monkeypatch.chdir(clone.directory)
    assert at(base_of(lab, unpublished)) == project.git("merge-base", "patch", "main")
    assert at(base_of(lab, unpublished, asked="HEAD~4")) == project.git("rev-parse", "main~5")


def series(lab: Lab, name: str, commits: Sequence[str], branch: str, first: int) -> None:
    rows = [
        f"{commit},{branch},2026-01-{first + place:02}T00:00:00Z,parse,ms,20" for place, commit in enumerate(commits)
    ]
    lab.take(lab.write(name, "\n".join(["commit,branch,time,benchmark,unit,value", *rows, ""])))


def test_without_git_the_line_of_the_branch_says_where_it_left(lab: Lab) -> None:
    series(lab, "main.csv", [f"{number:040x}" for number in range(1, 6)], "main", 1)
    series(lab, "patch.csv", ["a" * 40], "patch", 3)
    base = base_of(lab, "a" * 40)
    assert (at(base), base.reason) == (f"{3:040x}", f"the merge base of {'a' * 12} with main")
    assert at(base_of(lab, f"{4:040x}")) == f"{3:040x}"
    assert at(base_of(lab, "", asked=f"{4:040x}")) == f"{4:040x}"
    assert at(base_of(lab, "", asked="patch")) == f"{3:040x}"


def test_without_git_a_full_hash_is_the_commit_that_the_store_has_abbreviated(lab: Lab) -> None:
    lab.take(lab.skia("1.json", "abcdef1", parse=20.0), lab.skia("2.json", "abcdef2", parse=20.0))
    assert at(base_of(lab, "abcdef2" + "0" * 33)) == "abcdef1"


def test_without_git_an_unknown_commit_is_compared_with_the_newest_one_which_is_said(lab: Lab) -> None:
    series(lab, "main.csv", [f"{number:040x}" for number in range(1, 6)], "main", 1)
    base = base_of(lab, "b" * 40)
    assert at(base) == f"{5:040x}"
    assert base.reason.startswith(
        "the newest commit of main: without a git repository, nothing says where bbbbbbbbbbbb"
    )
