"""``knick detect`` on files and pipes."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.conftest import Knick, Ran
from tests.detect.flipping import flip

from knickpoint.cli.output import percent
from knickpoint.detect import METHODS


class Terminal(io.TextIOWrapper):
    """Standard input from a keyboard."""

    def isatty(self) -> bool:
        return True


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


def _repeated(header: str) -> str:
    rows = [f"{commit},{10 + (commit >= 15) + 3 * (run == 2)}" for commit in range(30) for run in (0, 1, 2)]
    return "\n".join([header, *rows])


def test_rows_of_one_position_are_samples_of_one_commit(detect: Detect) -> None:
    (step,) = detect.found(given=_repeated("pos,value"))
    assert (step["index"], step["pos"], step["before_count"]) == (15, "15", 15)
    assert step["before_mean"] == 10.75


def test_rows_of_one_position_and_one_run_are_samples_of_that_run(detect: Detect) -> None:
    rows = [f"{commit},{run},{10 + 2 * (commit >= 15) + 4 * (run == 'b')}" for commit in range(30) for run in "aaab"]
    (step,) = detect.found(given="\n".join(["pos,run,value", *rows]))
    assert (step["index"], step["before_mean"], step["after_mean"]) == (15, 12, 14)


def test_the_explanation_of_samples_names_their_noise(detect: Detect) -> None:
    explained = detect.run("--explain", given=_repeated("pos,value")).output
    assert "noise within runs" in explained
    assert "samples of the level before" in explained


def _latencies(count: int) -> str:
    slow = count // 20
    rows = [
        f"{commit},{10 + sample % 7 / 10 + (sample < slow) * (10 + 5 * (commit >= 15))}"
        for commit in range(30)
        for sample in range(count)
    ]
    return "\n".join(["pos,value", *rows])


def test_a_percentile_of_the_samples_has_a_step_that_their_level_hides(detect: Detect) -> None:
    assert detect.found(given=_latencies(100)) == []
    (step,) = detect.found("--summary", "p99", given=_latencies(100))
    assert (step["pos"], step["relative_size"]) == ("15", pytest.approx(0.25, abs=0.05))


def test_the_newest_position_is_judged_by_a_percentile_of_its_samples(detect: Detect) -> None:
    given = "\n".join(_latencies(100).splitlines()[: 1 + 16 * 100])
    (verdict,) = detect.found("--summary", "p99", "--newest", "1", given=given)
    assert (verdict["verdict"], verdict["pos"]) == ("regressed", "15")


def test_a_percentile_of_too_few_samples_ends_with_what_it_needs(detect: Detect) -> None:
    ran = detect.run("--summary", "p99", given=_latencies(20))
    assert ran.code == 3
    assert "p99 needs 100 samples of a run, and there are at most 20; of 30 positions, 30 have too few" in ran.errors


def test_a_summary_that_does_not_exist_is_refused_with_those_that_do(detect: Detect) -> None:
    ran = detect.run("--summary", "p100", given=_latencies(20))
    assert ran.code == 2
    assert "p99.9" in ran.errors


def test_rows_of_one_position_are_samples_where_the_t_test_is_told_so(detect: Detect) -> None:
    rows = [
        f"{commit}{'.0' * (sample % 2)},{10 + (commit >= 15) * 5 + sample / 10}"
        for commit in range(30)
        for sample in range(4)
    ]
    given = "\n".join(["pos,value", *rows])
    (step,) = detect.found("--method", "t_test", "--set", "commits=pos", given=given)
    assert (step["index"], step["pos"]) == (60, "15")


_DATED = "pos,value\n" + "\n".join(f"2026-01-{day:02d},{100 + day // 5 * 3}" for day in range(1, 20, 2))


def test_a_threshold_compares_with_a_run_of_a_week_ago_by_date(detect: Detect) -> None:
    week = ["--set", "times=pos", "--set", "age=7", "--set", "previous=no"]
    found = detect.found("--method", "threshold", *week, given=_DATED)
    assert [row["pos"] for row in found] == ["2026-01-11", "2026-01-15"]


def test_a_threshold_compares_with_the_last_release_by_position(detect: Detect) -> None:
    releases = ["--set", "releases=pos:2026-01-04,2026-01-12T10:00", "--set", "previous=no"]
    found = detect.found("--method", "threshold", *releases, given=_DATED)
    assert [row["pos"] for row in found] == ["2026-01-11"]


def test_no_value_of_a_series_is_compared_with_a_release_before_it(detect: Detect) -> None:
    releases = ["--set", "releases=pos:2020-01-01", "--set", "previous=no", "--set", "change=0.01"]
    assert detect.found("--method", "threshold", *releases, given=_DATED) == []
    empty = detect.run("--method", "threshold", *releases, "--format", "json", given="pos,value\n")
    assert (empty.code, empty.output) == (3, "[]\n")


@pytest.mark.parametrize("releases", ["pos:", "pos:5", "pos:soon"])
def test_releases_that_are_no_positions_are_refused(detect: Detect, releases: str) -> None:
    ran = detect.run("--method", "threshold", "--set", f"releases={releases}", given=_DATED)
    assert ran.code == 2
    assert "--set releases" in ran.errors
    assert "Give" in ran.errors


def test_every_method_is_listed_with_its_parameters(detect: Detect) -> None:
    found = {row["method"]: row for row in detect.found("--methods", given="")}
    assert set(found) == set(METHODS)
    assert "perfherder" in found["t_test"]["presets"]
    assert "k=0" in found["cluster"]["parameters"]
    assert "scale=noise" in found["e_divisive_joint"]["parameters"]
    assert found["e_divisive_joint"]["presets"] == ["ecp", "mongodb"]
    assert not any(each.startswith("threads=") for each in found["cluster"]["parameters"])


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
    assert "some series have numeric positions and others dates" in result.errors


def test_a_rule_decides_about_clusters(detect: Detect) -> None:
    given = "\n".join(
        ["a,b", *(f"{place % 3 + 20 * (place >= 20)},{place % 2 + 9 * (place >= 20)}" for place in range(40))]
    )
    for bound, interesting in ((3, True), (3000, False)):
        found = detect.found("--method", "cluster", "--set", f"rule=cohen >= {bound}", given=given)
        assert found[0]["interesting"] is interesting


def test_clusters_say_what_their_series_share_and_what_decides(detect: Detect) -> None:
    names = ['"test=a,arch=x86"', '",arch=x86,test=b,"', '"plain"']
    rows = (f"{place % 3 + 20 * (place >= 20)},{place % 2 + 9 * (place >= 20)},{place % 4}" for place in range(40))
    given = "\n".join([",".join(names), *rows])
    moved, still = detect.found("--method", "cluster", "--set", "k=2", given=given)
    assert (moved["shared"], still["shared"]) == (["arch=x86"], [])
    assert moved["params"][0] == {"name": "arch", "value": "x86", "count": 2, "percent": 100}
    assert (moved["step"]["index"], len(moved["centroid"]), len(moved["distances"])) == (20, 40, 2)
    assert [check["passed"] for check in moved["evidence"]] == [True, True]
    columns = detect.run("--method", "cluster", "--format", "csv", given=given).output.splitlines()[0]
    assert columns == "cluster,index,pos,size,regression,interesting,members,shared"


_METRICS = "\n".join(
    [
        "pos,time,memory",
        *(f"{place},{place % 3 + 4 * (place >= 20)},{9e6 + place % 4 - 5 * (place >= 20)}" for place in range(40)),
    ]
)


def test_series_of_a_file_step_together(detect: Detect) -> None:
    found = detect.found("--method", "e-divisive-joint", given=_METRICS)
    assert [(row["id"], row["index"], row["movement"]) for row in found] == [("time", 20, "up"), ("memory", 20, "down")]
    assert found[0]["p_value"] == found[1]["p_value"] == 1 / 200


def test_what_was_decided_about_series_together_is_said_for_each(detect: Detect) -> None:
    explained = detect.found("--method", "e_divisive_joint", "--explain", given=_METRICS)
    assert [item["id"] for item in explained] == ["time", "memory"]
    for item in explained:
        assert item["facts"]["traces together"] == 2
        assert [step["index"] for step in item["steps"]] == [20]
    text = detect.run("--method", "e_divisive_joint", "--explain", given=_METRICS).output
    assert text.count("size in the noise of the trace") == 2


@pytest.mark.parametrize("name", ["values", "method", "frame", "keys", "threads"])
@pytest.mark.parametrize("method", ["default", "cluster", "e_divisive_joint"])
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


def test_series_that_are_judged_in_parts_keep_their_order(detect: Detect, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"{name},{value}" for name in range(7) for value in [1] * (10 + name % 2) + [9] * (10 - name % 2)]
    given = "\n".join(["id,value", *rows])
    whole = detect.found("--method", "threshold", given=given)
    monkeypatch.setattr("knickpoint.cli.commands.detect.steps._VALUES_AT_ONCE", 45)
    assert detect.found("--method", "threshold", given=given) == whole
    assert [(row["id"], row["index"]) for row in whole] == [(str(name), 10 + name % 2) for name in range(7)]


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (b"\xff1\n", "standard input: byte 0 (line 1) is not UTF-8"),
        (b"pos;value\n1;2 ms\n", "standard input, line 2: '2 ms' in column 'value' is a number with its unit."),
        (b"value\n1\ninf\n", "standard input, line 3: 'inf' is not a finite number."),
    ],
)
def test_bad_input_is_refused_with_its_place(detect: Detect, given: bytes, says: str) -> None:
    result = detect.run(given=given)
    assert result.code == 2
    assert says in result.errors


def test_who_types_values_is_told_how_to_end(knick: Knick, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(io.BytesIO(b"1\n")))
    assert "end with Ctrl-D" in knick("detect").errors


def test_a_file_that_cannot_be_read_is_named(detect: Detect, tmp_path: Path) -> None:
    result = detect.run(str(tmp_path / "none.csv"))
    assert "none.csv: it cannot be read: No such file or directory. Give a CSV file" in result.errors


_STEP = "id,pos,value\n" + "\n".join(f"a,{place},{10 + (place >= 20) * 3 + place % 3 / 10}" for place in range(40))


def test_every_place_is_explained_with_its_numbers(detect: Detect) -> None:
    text = detect.run("--method", "t_test", "--explain", given=_STEP).output
    assert "series 'a': 40 measured values, method t_test" in text
    assert "  parameters: fore=12, back=12" in text
    assert "    step at 20 (pos 20): +29." in text
    assert "    at 20 (pos 20): accepted\n      values before: 12 >= 12: passes" in text
    assert "    at 21 (pos 21): rejected: t is larger at a neighbour" in text


def test_explanations_are_the_same_in_every_form(detect: Detect) -> None:
    arguments = ("--method", "threshold", "--set", "times=pos", "--explain")
    (found,) = detect.found(*arguments, given=_STEP)
    assert [(step["index"], step["pos"]) for step in found["steps"]] == [(20, "20")]
    rows = list(csv.DictReader(io.StringIO(detect.run(*arguments, "--format", "csv", given=_STEP).output)))
    checks = [(each["pos"], check["name"]) for each in found["candidates"] for check in each["checks"]]
    assert [(row["pos"], row["check"]) for row in rows] == checks
    assert list(rows[0])[:3] == ["id", "index", "pos"]


@pytest.mark.parametrize("method", ["default", "modes", "t_test", "e_divisive"])
def test_a_step_has_one_size_in_the_table_and_in_its_explanation(detect: Detect, method: str) -> None:
    draw = np.random.default_rng(3)
    values = np.where(np.arange(80) < 40, 100.0, 112.0) + draw.normal(size=80) + 5.0 * (draw.random(80) < 0.2)
    given = "value\n" + "\n".join(f"{value:.3f}" for value in values)
    steps = detect.found("--method", method, given=given)
    (explained,) = detect.found("--method", method, "--explain", given=given)
    names = ("index", "before_level", "after_level", "size", "relative_size")
    assert [[step[name] for name in names] for step in explained["steps"]] == [
        [step[name] for name in names] for step in steps
    ]
    text = detect.run("--method", method, "--explain", given=given).output
    for step in steps:
        assert f"step at {step['index']} (pos {step['index']}): {percent(step['relative_size'])}" in text


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--explain", "--newest", "1"), "--explain: a verdict on the newest rows always includes its reason"),
        (("--explain", "--method", "cluster"), "--explain: clusters are explained in JSON only"),
        (("--newest", "1", "--method", "t_test"), "--newest: the newest rows are judged by the default method"),
        (("--newest", "1", "--set", "speed=1"), "better=unknown"),
    ],
)
def test_options_that_do_not_go_together_are_refused(detect: Detect, arguments: tuple[str, ...], says: str) -> None:
    ran = detect.run(*arguments, given=_STEP)
    assert ran.code == 2
    assert says in ran.errors


def test_the_newest_rows_are_judged_by_those_before(detect: Detect) -> None:
    given = _STEP + "\na,40,15\na,41,15.1\nb,0,1\n"
    worse, unknown = detect.found("--newest", "2", "--set", "better=lower", given=given)
    assert (worse["id"], worse["index"], worse["pos"]) == ("a", 40, "40")
    assert (worse["verdict"], worse["samples"], worse["conditional"]) == ("regressed", 2, False)
    assert (unknown["id"], unknown["verdict"]) == ("b", "no data")
    (better, _) = detect.found("--newest", "2", "--set", "better=higher", given=given)
    assert better["verdict"] == "improved"


def test_names_that_speak_to_the_terminal_are_printed_without_it(detect: Detect) -> None:
    given = 'id,value\n"a\x1b[31m\nb",1\n"a\x1b[31m\nb",2\n'
    title, line = detect.run("--method", "threshold", given=given).output.splitlines()
    assert line.startswith("a�[31m�b ")
    assert len(title) == len(line)


def test_a_series_that_flips_says_between_which_levels(detect: Detect) -> None:
    ran = detect.run(given="\n".join(str(value) for value in flip(3)))
    assert ran.output.startswith("No steps.")
    assert "the series flips between 2 levels: 99.95 (48 % of the time) and 105.1 (52 %)" in ran.output
    assert ran.output.rstrip().endswith("from pos 0 to 299")


_GROWING = "\n".join(["value", *(str(100 + 0.1 * max(0, row - 60) + (row * 7 % 11 - 5) / 10) for row in range(200))])


def test_a_drift_says_its_kind_and_where_it_ends(detect: Detect) -> None:
    (found,) = detect.found(given=_GROWING)
    assert found["kind"] == "drift"
    assert found["until"] == "199"
    assert found["low"] < 14 < found["high"]


def test_an_explained_drift_has_both_ends(detect: Detect) -> None:
    ran = detect.run("--explain", given=_GROWING)
    assert "drift from 6" in ran.output
    assert "to 199 (pos 199): +13.9 %" in ran.output


def test_columns_begin_with_series_place_and_kind(detect: Detect) -> None:
    ran = detect.run("--format", "csv", given=_GROWING)
    assert ran.output.startswith("id,index,pos,kind,")


def test_siblings_learn_from_the_params_in_the_names_of_series(detect: Detect) -> None:
    random = np.random.default_rng(5)
    values = 100 + random.normal(size=(8, 200))
    for number in range(4):
        values[4 * (number % 2) : 4 * (number % 2) + 4, 30 * (number + 1) :] += 6.0
    values[:4, 160:] += 2.0
    names = [f'"benchmark={row % 4},machine={row // 4}"' for row in range(8)]
    given = "\n".join([",".join(names), *(",".join(f"{value:.4f}" for value in column) for column in values.T)])
    explained = detect.found("--method", "siblings", "--explain", given=given)
    last = [step for step in explained[0]["steps"] if abs(step["index"] - 160) <= 5]
    assert "past changes that machine was learnt from" in {check["name"] for step in last for check in step["evidence"]}


def _dated(rows: list[int], title: str = "date") -> str:
    return "\n".join(
        [
            f"commit,{title},value",
            *(f"{row:07x},2025-{1 + row // 28:02}-{1 + row % 28:02},{5 + (row > 20)}" for row in rows),
        ]
    )


def test_rows_that_go_backwards_in_time_are_refused_before_a_change_is_found_upside_down(detect: Detect) -> None:
    ran = detect.run(given=_dated(list(range(40))[::-1]))
    assert ran.code == 2
    assert (
        "line 2: the rows go backwards in time: 'date' falls from '2025-02-12' to '2025-01-01' (line 41)" in ran.errors
    )
    assert "Name that column pos, which sorts the rows" in ran.errors
    (step,) = detect.found(given=_dated(list(range(40))[::-1], "pos"))
    assert (step["index"], step["movement"]) == (21, "up")


def test_rows_in_another_order_than_their_dates_are_judged_with_a_warning(detect: Detect) -> None:
    ran = detect.run(given=_dated([1, 0, *range(2, 40)]))
    assert ran.code == 0
    assert "which is not that of their column 'date'; name the column pos if it orders them" in ran.errors
    assert detect.run(given=_dated(list(range(40)))).errors == ""


def test_a_falling_column_of_durations_is_no_order_of_time(detect: Detect) -> None:
    rows = [f"{100 - row},{5 + (row > 20)}" for row in range(40)]
    assert detect.run(given="\n".join(["time,value", *rows])).code == 0


def test_a_column_of_moments_is_no_series(detect: Detect) -> None:
    ran = detect.run(given="timestamp\n" + "\n".join(f"2026-08-{1 + row:02}" for row in range(20)))
    assert ran.code == 2
    assert "the column 'timestamp' contains times, and no column contains values." in ran.errors


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"SQLite format 3\0\x10\0", "an SQLite database"),
        (b"PAR1\x15\x04", "Parquet"),
    ],
)
def test_what_is_no_csv_is_called_by_its_name(detect: Detect, content: bytes, kind: str) -> None:
    ran = detect.run(given=content)
    assert ran.code == 2
    assert f"this is {kind}, not CSV. Write CSV, such as" in ran.errors
