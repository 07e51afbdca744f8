"""An import takes steps in proportion to its file: four times the file is about four times the lines of code that run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.ingest.conftest import Lab
from tests.repositories import GitRepository
from tests.steps import MOST, TIMES, steps

from knickpoint.ingest import import_data

Rows = Callable[[int], str]


def table(header: str, row: Rows, size: int) -> bytes:
    return "\n".join([header, *map(row, range(size)), ""]).encode()


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("commit,time,name,unit,value", lambda n: f"abcdef12,2026-01-01,a,u{n},1"),
        ("commit,time,name,unit,value", lambda n: f"abcdef12,2026-01-01,a{n},ms,1"),
        ("commit,time,name,unit,value", lambda n: f"abcdef12,2026-01-01,a,ms,{n}"),
        (
            "commit,time,name,unit,value",
            lambda n: f"abcdef12,2026-01-01,{f'a{n:b}'.translate({48: '-', 49: '_'})},ms,1",
        ),
        ("commit,commit_time,name,value", lambda n: f"{n:08x},2026-01-01T{n // 60:02}:{n % 60:02}Z,a,1"),
        ("commit,time,run,name,value", lambda n: f"abcdef12,2026-01-01,r{n},a,1"),
        ("commit,time,name,value,status", lambda n: f"abcdef12,2026-01-01,a{n},,failed"),
    ],
    ids=["units", "names", "samples", "spellings", "commits", "runs", "failures"],
)
def test_an_import_four_times_as_long_takes_about_four_times_the_steps(lab: Lab, header: str, row: Rows) -> None:
    import_data(lab.instance, table(header, row, 2), source="first")
    small, large = (
        steps(lambda size=size: import_data(lab.instance, table(header, row, size), source=f"of {size}", dry_run=True))  # type: ignore[misc]
        for size in (200, TIMES * 200)
    )
    assert large < MOST * small


def test_an_import_of_a_commit_reads_no_others_whose_hashes_begin_alike(lab: Lab) -> None:
    counts = []
    for number, size in enumerate((100, TIMES * 100)):
        others = table("commit,commit_time,name,value", lambda n: f"{n:040x},2026-01-01T00:{n % 60:02},a,1", size)
        import_data(lab.instance, others, source=f"of {size}")
        new = f"commit,commit_time,name,value\n{10**6 + number:040x},2026-01-02T00:0{number},a,1\n".encode()
        counts.append(steps(lambda: import_data(lab.instance, new, source=f"new {number}")))  # noqa: B023
    assert counts[1] < 2 * counts[0]


def test_a_file_arrives_with_other_commits_than_it_waits_for_in_proportion(
    lab: Lab, new_repository: Callable[[str], GitRepository]
) -> None:
    repository = new_repository("engine")
    repository.commit("first")
    lab.configure(f'[repositories.main]\nlocation = "{repository.directory}"\n')
    counts = []
    for size in (100, TIMES * 100):
        data = table("commit,name,value", lambda n: f"{n:08x}{'c' * 32},a,1", size)
        import_data(lab.instance, data, source=f"of {size}")
        others = data.replace(b"c" * 32, b"d" * 32)
        counts.append(steps(lambda: import_data(lab.instance, others, source=f"of {size}")))  # noqa: B023
    assert counts[1] < MOST * counts[0]
