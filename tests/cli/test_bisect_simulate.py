"""``knick bisect --simulate``: how many devices to buy."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.cli.conftest import Knick

_EXACT = ("bisect", "--simulate", "--error", 0, "--probe-minutes", 60, "--bisections", 4)


def test_the_formats_hold_the_same_figures(knick: Knick) -> None:
    text, data, table = (knick(*_EXACT, "--format", name) for name in ("text", "json", "csv"))
    assert text.code == data.code == table.code == 0
    rows = json.loads(data.output)
    assert [row["figure"] for row in rows] == [row["figure"] for row in csv.DictReader(table.output.splitlines())]
    figures = {row["figure"]: row["value"] for row in rows}
    assert figures["time from the finding to its name"] == 2.0
    assert figures["probes of a bisection"] == 6.0
    assert figures["the pool keeps up"] is True
    assert "the pool keeps up                                  yes" in text.output


def test_a_target_finds_the_smallest_pool(knick: Knick) -> None:
    rows = json.loads(knick(*_EXACT, "--target-hours", 2, "--format", "json").output)
    assert rows[0] == {"figure": "devices", "value": 3, "p90": None, "unit": ""}


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--devices", 0), "knick: --devices: 0 cannot be simulated. State 1 to 1,024."),
        (("--commits-per-hour", -2), "knick: --commits-per-hour: -2.0 cannot be simulated. State 0 or more."),
        (("--target-hours", 0), "knick: --target-hours: 0.0 is not a time. State more than 0."),
        (("--delta", 2), "knick: --error: probes measure values, or they pass or fail. Give --error or --delta."),
        (("--bursts", 0.1), "knick: --error: probes measure values, or they pass or fail. Give --error or --delta."),
        (
            ("--target-hours", 0.5),
            (
                "knick: --target-hours: no pool names 90 % of the culprits within 0.5 hours. State a longer time, shorter "
                "probes, or a schedule that waits less."
            ),
        ),
    ],
)
def test_bad_input_is_one_clear_line(knick: Knick, options: tuple[object, ...], line: str) -> None:
    ran = knick(*_EXACT, *options)
    assert (ran.code, ran.output, ran.errors.strip()) == (2, "", line)


def test_the_flag_after_two_dashes_belongs_to_the_command_that_measures(knick: Knick) -> None:
    ran = knick("bisect", "--devices", 3, "--", "bench", "--simulate")
    assert ran.code == 2
    assert "--devices" in ran.errors


def test_size_and_history_come_from_the_newest_change_of_a_trace(
    knick: Knick, example_instance: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(example_instance)
    few = ("bisect", "--simulate", "--devices", 1, "--bisections", 2, "--most-probes", 40)
    ran = knick(*few, "--trace", "benchmark=parse_csv", "--format", "json")
    assert ran.code == 0, ran.errors
    assert json.loads(ran.output)[-4]["value"] == 2
    refused = knick(*few, "--trace", "benchmark=parse_csv", "--delta", 1)
    assert refused.errors.strip() == "knick: --delta: the trace states the size. Give --trace or --delta."
    assert "no trace matches" in knick(*few, "--trace", "benchmark=no_such").errors


@pytest.mark.long
@pytest.mark.parametrize(
    "noise", [("--bursts", 0.2), ("--second-mode", 0.4, "--sticky", 0.8)], ids=["bursts", "second mode"]
)
def test_bursts_and_a_second_mode_take_more_probes_and_name_no_wrong_commit(
    knick: Knick, noise: tuple[object, ...]
) -> None:
    few = ("bisect", "--simulate", "--devices", 1, "--bisections", 6, "--delta", 10, "--format", "json")
    calm, noisy = (
        {row["figure"]: row["value"] for row in json.loads(knick(*few, *each).output)} for each in ((), noise)
    )
    assert noisy["bisections that name a wrong commit"] == noisy["bisections that name no commit"] == 0
    assert noisy["probes of a bisection"] > calm["probes of a bisection"]
