"""``knick detect`` on files and pipes."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Knick, Ran


class Detect:
    """Run ``knick detect`` with something on standard input."""

    def __init__(self, knick: Knick, monkeypatch: pytest.MonkeyPatch) -> None:
        self._knick, self._monkeypatch = knick, monkeypatch

    def run(self, *arguments: str, given: str | bytes = "") -> Ran:
        """Return what the command leaves behind."""
        content = given.encode() if isinstance(given, str) else given
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
        return self._knick("detect", *arguments)

    def found(self, *arguments: str, given: str) -> list[dict[str, Any]]:
        """Return the rows of its answer in JSON."""
        ran = self.run(*arguments, "--format", "json", given=given)
        assert ran.code == 0, ran.errors
        rows: list[dict[str, Any]] = json.loads(ran.output)
        return rows


@pytest.fixture
def detect(knick: Knick, monkeypatch: pytest.MonkeyPatch) -> Detect:
    """Give the command."""
    return Detect(knick, monkeypatch)


def test_rows_of_one_position_are_samples_where_the_t_test_is_told_so(detect: Detect) -> None:
    rows = [
        f"{commit}{'.0' * (sample % 2)},{10 + (commit >= 15) * 5 + sample / 10}"
        for commit in range(30)
        for sample in range(4)
    ]
    given = "\n".join(["pos,value", *rows])
    (step,) = detect.found("--method", "t_test", "--set", "commits=pos", given=given)
    assert (step["index"], step["pos"]) == (60, "15")


def test_clusters_line_their_series_up_by_date(detect: Detect) -> None:
    days = [f"2026-01-{day:02d}" for day in range(1, 31)]
    left = [f"a,{day},{1 + (place >= 15)}" for place, day in enumerate(days) if place % 2 == 0]
    right = [f"b,{day}T00:00:00,{5 + 5 * (place >= 15)}" for place, day in enumerate(days)]
    given = "\n".join(["id,pos,value", *right, *left])
    (found,) = detect.found("--method", "cluster", "--set", "k=1", given=given)
    assert (found["index"], found["pos"][:10], found["size"]) == (15, "2026-01-16", 2)


def test_clusters_of_numbers_and_dates_are_refused(detect: Detect) -> None:
    result = detect.run("--method", "cluster", given="id,pos,value\na,1,1\nb,2026-01-01,1\n")
    assert result.code == 2
    assert "some series have numbers for positions and others dates" in result.errors


def test_a_rule_decides_about_clusters(detect: Detect) -> None:
    given = "\n".join(
        ["a,b", *(f"{place % 3 + 20 * (place >= 20)},{place % 2 + 9 * (place >= 20)}" for place in range(40))]
    )
    for bound, interesting in ((3, True), (3000, False)):
        found = detect.found("--method", "cluster", "--set", f"rule=cohen >= {bound}", given=given)
        assert found[0]["interesting"] is interesting


@pytest.mark.parametrize("name", ["values", "method", "frame", "keys", "threads"])
@pytest.mark.parametrize("method", ["default", "cluster"])
def test_what_is_no_parameter_is_refused_by_name(detect: Detect, method: str, name: str) -> None:
    ran = detect.run("--method", method, "--set", f"{name}=1", given="a,b\n1,2\n")
    assert ran.code == 2
    assert f"--set: '{name}' is not a parameter of a method. Choose the method with --method" in ran.errors


def test_series_of_several_lengths_keep_their_order(detect: Detect) -> None:
    rows = [
        f"{name},{value}" for name, size in (("c", 20), ("a", 30), ("b", 20)) for value in [1] * 10 + [9] * (size - 10)
    ]
    found = detect.found("--method", "threshold", given="\n".join(["id,value", *rows]))
    assert [(row["id"], row["index"], row["after_last"]) for row in found] == [
        ("c", 10, 19),
        ("a", 10, 29),
        ("b", 10, 19),
    ]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (b"\xff\xfe1\n", "standard input, byte 0: this is not text in UTF-8. Give CSV in UTF-8."),
        (b"pos;value\n1;2\n", "standard input, line 1: the columns are separated by ';'."),
        (b"value\n1\ninf\n", "standard input, line 3: 'inf' is not a finite number."),
    ],
)
def test_bad_input_is_refused_with_its_place(detect: Detect, given: bytes, says: str) -> None:
    result = detect.run(given=given)
    assert result.code == 2
    assert says in result.errors


def test_a_file_that_cannot_be_read_is_named(detect: Detect, tmp_path: Path) -> None:
    result = detect.run(str(tmp_path / "none.csv"))
    assert "none.csv: it cannot be read: No such file or directory. Give a CSV file" in result.errors
