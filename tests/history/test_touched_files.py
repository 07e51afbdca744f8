"""The touched files of commits, read from real repositories."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.repositories import GitRepository

from knickpoint.history import Git, lookups, read_touched_files
from knickpoint.model.errors import HistoryError
from knickpoint.model.suspects import CommitFiles, TouchedFile

NewRepository = Callable[[str], GitRepository]


def write(made: GitRepository, files: dict[str, str | bytes]) -> str:
    """Commit files with these contents, and return the hash."""
    for name, content in files.items():
        path = made.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    made.git("add", "--all")
    return made.commit()


def read(made: GitRepository, *hashes: str) -> dict[str, CommitFiles]:
    return read_touched_files(Git.at(made.directory), hashes)


def test_paths_and_lines_of_commits_are_read_the_first_one_included(new_repository: NewRepository) -> None:
    made = new_repository("made")
    first = write(made, {"a.py": "1\n2\n", "deep/b.py": "1\n"})
    second = write(made, {"a.py": "1\n3\n4\n"})
    assert read(made, first, second) == {
        first: CommitFiles((TouchedFile("a.py", 2, 0), TouchedFile("deep/b.py", 1, 0))),
        second: CommitFiles((TouchedFile("a.py", 2, 1),)),
    }


def test_a_renamed_file_is_one_file_with_its_former_path(new_repository: NewRepository) -> None:
    made = new_repository("made")
    write(made, {"old.py": "".join(f"{k}\n" for k in range(30))})
    made.git("mv", "old.py", "new.py")
    renamed = made.commit()
    assert read(made, renamed)[renamed].files == (TouchedFile("new.py", 0, 0, "old.py"),)


def test_a_binary_file_has_no_lines(new_repository: NewRepository) -> None:
    made = new_repository("made")
    binary = write(made, {"image.png": b"\0\1\2"})
    assert read(made, binary)[binary].files == (TouchedFile("image.png", None, None),)


def test_a_commit_that_touches_nothing_has_no_files(new_repository: NewRepository) -> None:
    made = new_repository("made")
    write(made, {"a.py": "1\n"})
    empty = made.commit()
    assert read(made, empty) == {empty: CommitFiles()}


def test_a_merge_has_what_it_brings_to_its_first_parent(new_repository: NewRepository) -> None:
    made = new_repository("made")
    write(made, {"a.py": "1\n"})
    made.switch("side", new=True)
    write(made, {"side.py": "1\n"})
    made.switch("main")
    write(made, {"main.py": "1\n"})
    merge = made.merge("side")
    assert [file.path for file in read(made, merge)[merge].files] == ["side.py"]


def test_a_hostile_path_is_one_printable_line_and_never_a_commit(new_repository: NewRepository) -> None:
    made = new_repository("made")
    first = write(made, {"a.py": "1\n"})
    os.close(os.open(os.fsencode(made.directory) + b"/\n" + first.encode() + b"\xff\x1b[31m", os.O_CREAT | os.O_WRONLY))
    os.close(os.open(os.fsencode(made.directory) + b"/1\t2\tx", os.O_CREAT | os.O_WRONLY))
    second = write(made, {})
    found = read(made, second)
    assert list(found) == [second]
    paths = {file.path for file in found[second].files}
    assert paths == {rf"\n{first}�\x1b[31m", r"1\t2\tx"}


def test_what_is_no_commit_here_is_left_out(new_repository: NewRepository) -> None:
    made = new_repository("made")
    commit = write(made, {"a.py": "1\n"})
    assert list(read(made, "f" * 40, "--output=x", "17", commit)) == [commit]


def test_the_oldest_commit_of_a_shallow_clone_is_left_out(new_repository: NewRepository, tmp_path: Path) -> None:
    made = new_repository("made")
    write(made, {"a.py": "1\n"})
    hashes = [write(made, {"a.py": f"{k}\n"}) for k in range(3)]
    made.git("clone", "--quiet", "--depth=2", f"file://{made.directory}", str(tmp_path / "shallow"))
    assert list(read_touched_files(Git.at(tmp_path / "shallow"), hashes)) == [hashes[2]]


def test_a_clone_without_contents_gives_paths_without_lines(new_repository: NewRepository, tmp_path: Path) -> None:
    made = new_repository("made")
    made.git("config", "uploadpack.allowFilter", "true")
    write(made, {"a.py": "1\n"})
    commit = write(made, {"a.py": "2\n", "b.py": "1\n"})
    git = Git.clone(f"file://{made.directory}", tmp_path / "clone.git")
    assert git.partial
    assert read_touched_files(git, [commit])[commit].files == (TouchedFile("a.py"), TouchedFile("b.py"))


def test_a_commit_of_many_files_keeps_some_and_counts_the_others(
    new_repository: NewRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookups, "MOST_FILES", 3)
    made = new_repository("made")
    large = write(made, {f"{k}.py": "1\n" for k in range(5)})
    assert read(made, large)[large] == CommitFiles(tuple(TouchedFile(f"{k}.py", 1, 0) for k in range(3)), 2)


def test_commits_after_the_most_bytes_are_left_out(
    new_repository: NewRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = new_repository("made")
    hashes = [write(made, {f"{k}.py": "1\n"}) for k in range(5)]
    monkeypatch.setattr(lookups, "_MOST_BYTES", 250)
    assert 0 < len(read(made, *hashes)) < 5


def test_settings_of_a_user_do_not_change_the_answer(new_repository: NewRepository) -> None:
    made = new_repository("made")
    commit = write(made, {"a.py": "1\n"})
    for name, value in (("diff.external", "false"), ("diff.noprefix", "true"), ("log.showRoot", "false")):
        made.git("config", name, value)
    assert read(made, commit)[commit].files == (TouchedFile("a.py", 1, 0),)


def test_a_repository_that_vanished_raises_an_error_with_its_place(new_repository: NewRepository) -> None:
    made = new_repository("made")
    commit = write(made, {"a.py": "1\n"})
    git = Git.at(made.directory)
    made.directory.rename(made.directory.with_name("moved"))
    with pytest.raises(HistoryError, match="made"):
        read_touched_files(git, [commit])
