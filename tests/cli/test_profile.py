"""``knick profile diff``: files and directories, a table, JSON, CSV and a page."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import pytest
from tests.cli.conftest import Knick
from tests.profiles.made import pprof

_BEFORE = "main 10\nmain;read 300\nmain;parse;row 400\n"
_AFTER = _BEFORE.replace("row 400", "row 900")


@pytest.fixture
def sides(tmp_path: Path) -> tuple[str, str]:
    for name, text in (("a", _BEFORE), ("b", _AFTER)):
        (tmp_path / name).mkdir()
        for place in range(3):
            (tmp_path / name / f"{place}.folded").write_text(text)
    return str(tmp_path / "a"), str(tmp_path / "b")


def test_the_sentence_stands_above_the_functions_that_changed(knick: Knick, sides: tuple[str, str]) -> None:
    ran = knick("profile", "diff", *sides)
    lines = ran.output.splitlines()
    assert lines[0] == "+500 samples of +500 samples in row."
    assert lines[1].split() == ["function", "own", "change", "explains", "at", "least", "at", "most", "with", "calls", "what", "it", "is"]  # fmt: skip
    assert lines[2].startswith("row")
    assert lines[-1] == "3 other functions: --all lists them."
    assert len(knick("profile", "diff", *sides, "--all").output.splitlines()) == 6


def test_json_has_the_answer_and_every_function(knick: Knick, sides: tuple[str, str]) -> None:
    ran = knick("profile", "diff", *sides, "--format", "json", "--measured", "480", "450", "510", "samples")
    found = json.loads(ran.output)
    assert (found["causes"], found["shows"], found["profiles"], found["unit"]) == (["row"], True, [3, 3], "samples")
    assert found["total"]["difference"] == math.fsum(each["own_difference"] for each in found["functions"]) == 500
    rows = list(csv.DictReader(io.StringIO(knick("profile", "diff", *sides, "--format", "csv").output)))
    assert [row["function"] for row in rows] == [each["function"] for each in found["functions"]]


def test_a_change_that_the_profiles_do_not_show_is_said(knick: Knick, sides: tuple[str, str]) -> None:
    ran = knick("profile", "diff", *sides, "--measured", "5000", "4900", "5100", "samples")
    assert ran.output.startswith(
        "The profile does not show the measured change of +5,000 samples: its total changed by +500"
    )


def test_the_page_is_one_file(knick: Knick, sides: tuple[str, str], tmp_path: Path) -> None:
    ran = knick("profile", "diff", *sides, "--html", str(tmp_path / "page.html"))
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "+500 samples of +500 samples in row." in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert f"Wrote {tmp_path / 'page.html'}." in ran.errors
    refused = knick("profile", "diff", *sides, "--html", str(tmp_path / "missing" / "page.html"))
    assert "cannot be written: No such file or directory. Give a place" in refused.errors


def test_what_cannot_be_compared_is_refused_with_its_name(knick: Knick, sides: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "expected 1 to 100 profiles, found 0" in knick("profile", "diff", str(tmp_path / "empty"), sides[1]).errors
    (tmp_path / "c").write_bytes(pprof([(["main"], 5)]))
    assert "different values" in knick("profile", "diff", str(tmp_path / "c"), sides[1]).errors
    (tmp_path / "d.txt").write_text("hello")
    refused = knick("profile", "diff", str(tmp_path / "d.txt"), sides[1])
    assert f"{tmp_path / 'd.txt'}: not a profile in a known format" in refused.errors
