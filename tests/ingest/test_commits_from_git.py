from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.ingest.conftest import Lab
from tests.repositories import GitRepository

from knickpoint.cli.program import knick
from knickpoint.ingest import ImportState, ingest_status
from knickpoint.model.errors import HistoryError

NewRepository = Callable[[str], GitRepository]


@pytest.fixture
def made(lab: Lab, new_repository: NewRepository) -> GitRepository:
    repository = new_repository("lib")
    lab.configure('[repositories.lib]\nlocation = "../lib"\n')
    return repository


def test_results_stand_where_git_says(lab: Lab, made: GitRepository) -> None:
    hashes = made.commits(4)
    lab.take(lab.skia("b.json", hashes[2], sort=2), lab.skia("a.json", hashes[0], sort=1))
    assert lab.line("lib") == hashes
    assert lab.values("lib")[hashes[2]] == {"sort": 2}


def test_a_prefix_names_a_commit(lab: Lab, made: GitRepository) -> None:
    (only,) = made.commits(1)
    lab.take(lab.skia("a.json", only[:10], sort=1))
    assert lab.values("lib") == {only: {"sort": 1}}


def test_a_number_in_messages_names_a_commit(lab: Lab, made: GitRepository) -> None:
    lab.configure("[repositories.lib]\nlocation = \"../lib\"\nnumber = 'Position: (\\d+)'\n")
    made.commit("One\n\nPosition: 101")
    second = made.commit("Two\n\nPosition: 102")
    lab.take(lab.skia("a.json", "CP:102", sort=1))
    assert lab.values("lib")[second] == {"sort": 1}


def test_new_commits_lengthen_the_line(lab: Lab, made: GitRepository) -> None:
    hashes = made.commits(2)
    lab.take(lab.skia("a.json", hashes[0], sort=1))
    hashes += made.commits(2)
    lab.take(lab.skia("b.json", hashes[3], sort=2))
    assert lab.line("lib") == hashes


def test_a_force_push_rewrites_the_line_and_keeps_every_slot(lab: Lab, made: GitRepository) -> None:
    hashes = made.commits(3)
    lab.take(lab.skia("a.json", hashes[2], sort=1))
    before = lab.instance.store.commits.find(lab.instance.store.commits.repository("lib"), hashes[2])
    made.git("reset", "--quiet", "--hard", hashes[0])
    other = made.commit("Another way")
    lab.take(lab.skia("b.json", other, sort=2))
    after = lab.instance.store.commits.find(lab.instance.store.commits.repository("lib"), hashes[2])
    assert lab.line("lib") == [hashes[0], other]
    assert before is not None
    assert before == after


def test_a_branch_that_was_reset_loses_its_end(lab: Lab, made: GitRepository) -> None:
    hashes = made.commits(3)
    lab.take(lab.skia("a.json", hashes[2], sort=1))
    made.git("reset", "--quiet", "--hard", hashes[1])
    lab.take(lab.skia("b.json", hashes[0], sort=2))
    assert lab.line("lib") == hashes[:2]


def test_inserted_commits_take_their_place(lab: Lab, made: GitRepository) -> None:
    first = made.commit("First")
    second = made.commit("Second")
    lab.take(lab.skia("a.json", first, sort=1), lab.skia("b.json", second, sort=2))
    made.git("switch", "--quiet", "--orphan", "rewritten")
    made.git("branch", "--quiet", "-D", "main")
    zeroth = made.commit("Before all")
    made.git("replace", "--graft", first, zeroth)
    made.git("branch", "main", second)
    made.switch("main")
    third = made.commit("Third")
    lab.take(lab.skia("c.json", third, sort=3))
    assert lab.line("lib") == [zeroth, first, second, third]
    assert lab.values("lib") == {zeroth: {}, first: {"sort": 1}, second: {"sort": 2}, third: {"sort": 3}}


def test_a_merge_that_swaps_parents_moves_the_line(lab: Lab, made: GitRepository) -> None:
    start = made.commit("Start")
    made.switch("side", new=True)
    side = made.commit("Side")
    made.switch("main")
    main = made.commit("Main")
    lab.take(lab.skia("a.json", main, sort=1))
    made.switch("side")
    swapped = made.merge("main")
    made.git("branch", "--force", "main", swapped)
    lab.take(lab.skia("b.json", swapped, sort=2))
    assert lab.line("lib") == [start, side, swapped]


def test_a_branch_has_its_own_line_from_its_merge_base_on(lab: Lab, made: GitRepository) -> None:
    base = made.commits(2)
    made.switch("feature", new=True)
    branched = made.commits(2)
    made.switch("main")
    made.commit("Later")
    lab.take(lab.skia("a.json", branched[1], sort=1), branch="feature")
    commits = lab.instance.store.commits
    line = commits.line(commits.repository("lib"), "feature")
    assert (lab.line("lib", "feature"), line.base, line.merge_base) == ([*base, *branched], "main", 1)
    assert branched[1] not in lab.line("lib")


def test_results_of_a_branch_find_it_by_themselves(lab: Lab, made: GitRepository) -> None:
    made.commit()
    made.switch("feature", new=True)
    branched = made.commit("Own")
    made.switch("main")
    lab.take(lab.skia("a.json", branched, sort=1))
    assert lab.line("lib", "feature")[-1] == branched


def test_a_branch_that_is_gone_keeps_its_line(lab: Lab, made: GitRepository) -> None:
    base = made.commit()
    made.switch("feature", new=True)
    branched = made.commit("Own")
    made.switch("main")
    made.git("branch", "--quiet", "-D", "feature")
    lab.take(lab.skia("a.json", branched, sort=1), branch="feature")
    assert lab.line("lib", "feature") == [base, branched]


def test_a_merged_branch_keeps_its_own_commits(lab: Lab, made: GitRepository) -> None:
    base = made.commit()
    made.switch("feature", new=True)
    branched = made.commit("Own")
    made.switch("main")
    made.commit("Main")
    made.merge("feature")
    lab.take(lab.skia("a.json", branched, sort=1), branch="feature")
    assert lab.line("lib", "feature") == [base, branched]


@pytest.mark.parametrize("branch", ["", "release"])
def test_a_commit_that_a_branch_merged_leaves_the_line_of_that_branch_as_it_is(
    lab: Lab, made: GitRepository, branch: str
) -> None:
    base = made.commit()
    made.switch("release", new=True)
    first = made.commit("Release")
    made.switch("side", new=True)
    side = made.commit("Side")
    made.switch("release")
    second = made.commit("Release again")
    merged = made.merge("side")
    made.git("branch", "--quiet", "-D", "side")
    lab.take(lab.skia("a.json", merged, sort=1), branch="release")
    summary = lab.take(lab.skia("b.json", side, sort=2), branch=branch)
    assert lab.line("lib", "release") == [base, first, second, merged]
    assert "came into release by a merge" in summary.lines()[1]


def test_a_commit_on_no_branch_comes_in_with_a_warning(lab: Lab, made: GitRepository) -> None:
    made.commit()
    made.switch("feature", new=True)
    branched = made.commit("Own")
    made.switch("main")
    made.git("branch", "--quiet", "-D", "feature")
    summary = lab.take(lab.skia("a.json", branched, sort=1))
    assert summary.files[0].state is ImportState.IMPORTED
    assert "is not on main" in summary.lines()[1]


def test_a_commit_that_main_merged_is_said_to_be_so(lab: Lab, made: GitRepository) -> None:
    first = made.commit()
    made.switch("side", new=True)
    side = made.commit("Side")
    made.switch("main")
    second = made.commit("Main")
    merged = made.merge("side")
    made.git("branch", "--quiet", "-D", "side")
    summary = lab.take(lab.skia("a.json", side, sort=1))
    assert lab.line("lib") == [first, second, merged]
    assert f"commit {side[:12]} came into main by a merge and is not on its line" in summary.lines()[1]
    checked = CliRunner().invoke(knick, ["doctor", "--instance", str(lab.instance.directory), "--format", "json"])
    (row,) = (row for row in json.loads(checked.output) if row["about"] == "lines of lib")
    assert row["observed"].startswith("the points of 1 commit appear on no line: ")


def test_an_import_names_the_line_that_shows_commits_beside_the_default_one(lab: Lab, made: GitRepository) -> None:
    first = made.commit()
    made.switch("side", new=True)
    sides = [made.commit("Side"), made.commit("Side again")]
    made.switch("main")
    merged = made.merge("side")
    rows = "".join(f"{commit},sort,1\n" for commit in (first, *sides, merged))
    summary = lab.take(lab.write("r.csv", f"commit,benchmark,value\n{rows}"))
    assert lab.line("lib", "side") == [first, *sides]
    assert "2 commits off the line of main: the points show on the line of side (--line)" in summary.lines()[1]
    stated = lab.take(lab.skia("b.json", sides[0], sort=2), branch="side")
    assert "off the line" not in "".join(stated.lines())


def test_a_commit_of_another_remote_names_the_branch_that_has_it(
    lab: Lab, made: GitRepository, new_repository: NewRepository
) -> None:
    first = made.commit()
    upstream = new_repository("upstream")
    upstream.git("pull", "--quiet", str(made.directory), "main")
    later = upstream.commit("Later")
    made.git("remote", "add", "upstream", str(upstream.directory))
    made.git("fetch", "--quiet", "upstream")
    summary = lab.take(lab.skia("a.json", later, sort=1))
    assert lab.line("lib") == [first]
    assert f"commit {later[:12]} is on upstream/main, and not on main" in summary.lines()[1]
    assert summary.lines()[1].endswith("its points show on no line until main has it")


def test_branches_are_kept_by_pattern(lab: Lab, made: GitRepository) -> None:
    lab.configure('[repositories.lib]\nlocation = "../lib"\nbranches = ["release-*"]\n')
    first = made.commit()
    for name in ("release-1", "topic"):
        made.git("branch", name)
    lab.take(lab.skia("a.json", first, sort=1))
    commits = lab.instance.store.commits
    assert commits.lines(commits.repository("lib")) == ("main", "release-1")


def test_another_default_branch_becomes_the_default_line(lab: Lab, made: GitRepository) -> None:
    first = made.commit()
    lab.take(lab.skia("a.json", first, sort=1))
    made.git("branch", "--move", "main", "trunk")
    lab.take(lab.skia("b.json", first, sort=2))
    commits = lab.instance.store.commits
    assert commits.line(commits.repository("lib")).name == "trunk"


def test_an_unknown_commit_waits_and_is_one_clear_line(lab: Lab, made: GitRepository) -> None:
    made.commit()
    summary = lab.take(lab.skia("a.json", "f" * 40, sort=1))
    assert (summary.failed, summary.files[0].state) == (True, ImportState.WAITING)
    assert summary.lines()[0].endswith("1 run waiting: lib has no commit ffffffffffff; they are imported once it does")


def test_the_command_says_so_in_one_line_and_with_its_exit_code(lab: Lab, made: GitRepository) -> None:
    made.commit()
    path = lab.skia("a.json", "f" * 40, sort=1)
    result = CliRunner().invoke(knick, ["import", "--instance", str(lab.directory / "instance"), str(path)])
    assert (result.exit_code, len(result.output.splitlines())) == (2, 1)
    assert [waiting.unknown for waiting in ingest_status(lab.instance).waiting] == [("f" * 40,)]


def test_a_commit_of_another_repository_creates_nothing(lab: Lab, made: GitRepository) -> None:
    made.commit()
    lab.take(lab.skia("a.json", "f" * 40, sort=1))
    assert [repository.name for repository in lab.instance.store.commits.repositories()] == ["lib"]


def test_a_url_is_cloned_inside_the_instance(lab: Lab, new_repository: NewRepository) -> None:
    made = new_repository("far")
    hashes = made.commits(2)
    lab.configure(f'[repositories."o/far"]\nlocation = "{made.directory.as_uri()}"\n')
    lab.take(lab.skia("a.json", hashes[1], sort=1))
    assert lab.line("o/far") == hashes
    assert (lab.directory / "instance" / "repositories" / "o%2Ffar.git").is_dir()


def test_a_url_is_fetched_when_results_name_what_is_unknown(lab: Lab, new_repository: NewRepository) -> None:
    made = new_repository("far")
    hashes = made.commits(1)
    lab.configure(f'[repositories.far]\nlocation = "{made.directory.as_uri()}"\n')
    lab.take(lab.skia("a.json", hashes[0], sort=1))
    hashes += made.commits(2)
    lab.take(lab.skia("b.json", hashes[1], sort=2))
    assert lab.line("far") == hashes


def test_a_shallow_checkout_does_not_shorten_the_line(lab: Lab, made: GitRepository, tmp_path: Path) -> None:
    hashes = made.commits(4)
    lab.take(lab.skia("a.json", hashes[0], sort=1))
    hashes.append(made.commit("Newest"))
    made.git("clone", "--quiet", "--depth=3", made.directory.as_uri(), str(tmp_path / "cut"))
    lab.configure('[repositories.lib]\nlocation = "../cut"\n')
    lab.take(lab.skia("b.json", hashes[4], sort=2))
    assert lab.line("lib") == hashes


def test_the_branch_that_a_ci_cloned_does_not_become_the_default_one(
    lab: Lab, made: GitRepository, tmp_path: Path
) -> None:
    hashes = made.commits(3)
    lab.take(lab.skia("a.json", hashes[2], sort=1))
    made.switch("feature", new=True)
    new = made.commit()
    made.switch("main")
    url = made.directory.as_uri()
    made.git("clone", "--quiet", "--depth", "1", "--branch", "feature", url, str(tmp_path / "cut"))
    lab.configure('[repositories.lib]\nlocation = "../cut"\n')
    with pytest.raises(HistoryError, match="does not have the default branch 'main'") as raised:
        lab.take(lab.skia("b.json", new, sort=2))
    assert "fetch-depth: 0" in raised.value.remedy
    assert lab.line("lib") == hashes


def test_results_of_a_commit_that_a_shallow_clone_lacks_are_told_how_to_get_it(
    lab: Lab, made: GitRepository, tmp_path: Path
) -> None:
    hashes = made.commits(4)
    made.git("clone", "--quiet", "--depth", "1", made.directory.as_uri(), str(tmp_path / "cut"))
    lab.configure(f'[repositories.lib]\nlocation = "{tmp_path / "cut"}"\n')
    summary = lab.take(lab.skia("old.json", hashes[0], sort=1), lab.skia("older.json", hashes[1], sort=1))
    assert [each.state for each in summary.files] == [ImportState.WAITING] * 2
    assert (
        sum("is shallow and lacks older commits: git fetch --unshallow brings them" in line for line in summary.lines())
        == 1
    )


def test_a_checkout_that_was_shallow_gets_its_past(lab: Lab, made: GitRepository, tmp_path: Path) -> None:
    hashes = made.commits(4)
    made.git("clone", "--quiet", "--depth=2", made.directory.as_uri(), str(tmp_path / "cut"))
    lab.configure('[repositories.lib]\nlocation = "../cut"\n')
    lab.take(lab.skia("a.json", hashes[3], sort=1))
    short = lab.line("lib")
    GitRepository(tmp_path / "cut").git("fetch", "--quiet", "--unshallow")
    lab.take(lab.skia("b.json", hashes[1], sort=2))
    assert (short, lab.line("lib")) == (hashes[2:], hashes)


@pytest.mark.usefixtures("made")
def test_a_repository_that_no_section_names_is_pointed_out_when_it_is_made(lab: Lab) -> None:
    rows = "commit,commit_time,benchmark,value\n{},2026-01-0{}T00:00:00Z,sort,1\n"
    first = lab.take(lab.write("a.csv", rows.format("abcdef12", 1)), repository="lbi")
    again = lab.take(lab.write("b.csv", rows.format("abcdef34", 2)), repository="lbi")
    assert [line for line in first.lines() if line.startswith("made the repository")] == [
        (
            "made the repository 'lbi', which has no section in knickpoint.toml, as lib has: its commits come from its "
            "results"
        )
    ]
    assert not any("made the repository" in line for line in again.lines())


def test_several_repositories_share_an_instance(lab: Lab, new_repository: NewRepository) -> None:
    one, two = new_repository("one"), new_repository("two")
    first, second = one.commit("In one"), two.commit("In two")
    lab.configure('[repositories.one]\nlocation = "../one"\n[repositories.two]\nlocation = "../two"\n')
    summary = lab.take(lab.skia("a.json", first, sort=1))
    assert "--repository" in summary.lines()[0]
    lab.take(lab.skia("a.json", first, sort=1), repository="one")
    lab.take(lab.skia("b.json", second, sort=2), repository="two")
    assert (lab.values("one"), lab.values("two")) == ({first: {"sort": 1}}, {second: {"sort": 2}})


def test_results_find_their_repository_by_its_address(lab: Lab, new_repository: NewRepository) -> None:
    from tests.ingest.test_file_import import history

    one = new_repository("one")
    first = one.commit()
    new_repository("two").commit()
    lab.configure(
        '[repositories.one]\nlocation = "../one"\naddresses = ["git@github.com:O/R.git"]\n'
        '[repositories.two]\nlocation = "../two"\n'
    )
    summary = lab.take(lab.write("data.js", history((first, 1, 10))))
    assert summary.files[0].repository == "one"


def test_a_location_without_repository_stops_the_import(lab: Lab) -> None:
    lab.configure('[repositories.lib]\nlocation = "../nowhere"\n')
    with pytest.raises(HistoryError, match="no such directory"):
        lab.take(lab.skia("a.json", "a" * 40, sort=1))


def test_a_missing_branch_lists_those_that_there_are(lab: Lab, made: GitRepository) -> None:
    made.commit()
    lab.configure('[repositories.lib]\nlocation = "../lib"\nbranch = "mian"\n')
    with pytest.raises(HistoryError, match=r"no branch 'mian'.* Its branches are main"):
        lab.take(lab.skia("a.json", "a" * 40, sort=1))
