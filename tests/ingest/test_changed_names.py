from __future__ import annotations

from itertools import count

import pytest
from tests.ingest.conftest import Lab

UNIT, SPELLING = "in another unit than before: ", "in another spelling than before: "
_COMMITS = count(1)


def told(lab: Lab, *rows: str) -> list[str]:
    """Import a table of the columns benchmark, unit and value; return what its warnings say after "than before"."""
    commit = next(_COMMITS)
    lines = [f"{commit},{row}" for row in rows]
    path = lab.write(f"{commit}.csv", "\n".join(["commit,benchmark,unit,value", *lines, ""]))
    problems = lab.take(path).files[0].problems
    return [problem.message.partition("come")[2].partition(" ")[2] for problem in problems]


def test_a_benchmark_in_another_unit_than_before_is_named_once(lab: Lab) -> None:
    assert told(lab, "sort,ms,1", "parse,,1", "new,,1") == []
    assert told(lab, "sort,ops/s,1", "parse,MB,1") == [
        f"{UNIT}sort (ms before, ops/s now), parse (no unit before, MB now)"
    ]
    assert told(lab, "sort,ops/s,1", "parse,MB,1") == []


@pytest.mark.parametrize("unit", ["s", "µs", "Âµs", "ns/op"])
def test_units_that_convert_are_no_other_units(lab: Lab, unit: str) -> None:
    told(lab, "sort,ms,1")
    assert told(lab, f"sort,{unit},1") == []


@pytest.mark.parametrize(
    ("before", "now"),
    [("sort", "Sort"), ("BM_Sort/1/10", "bmSort:1_10"), ("a b", "a-b"), ("a.b", "ab"), ("Straße", "STRASSE")],
)
def test_a_benchmark_in_another_spelling_than_before_is_named_once(lab: Lab, before: str, now: str) -> None:
    told(lab, f"{before},ms,1", "other,ms,1")
    assert told(lab, f"{now},ms,1", "new,ms,1") == [f"{SPELLING}{now} ({before} before)"]
    assert told(lab, f"{now},ms,1") == []


def test_benchmarks_of_one_file_that_differ_in_a_separator_are_two(lab: Lab) -> None:
    told(lab, "a-b,ms,1")
    assert told(lab, "a-b,ms,1", "a_b,ms,1") == []


def test_digits_that_a_separator_joins_are_another_number(lab: Lab) -> None:
    told(lab, "size/1/10,ms,1")
    assert told(lab, "size/110,ms,1", "size/11/0,ms,1") == []


def test_a_spelling_of_another_repository_does_not_count(lab: Lab) -> None:
    told(lab, "other,ms,1")
    lab.take(lab.write("a.csv", "commit,benchmark,unit,value\n1,sort,ms,1\n"), repository="o/r")
    assert told(lab, "Sort,ms,1") == []
