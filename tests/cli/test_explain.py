"""``knick explain``: five sentences about a change, about a place that is none, and about too few values."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from .conftest import Knick


def sentences(text: str) -> list[str]:
    """Return the lines about the first alert."""
    return [line.strip() for line in text.split("alert default:\n")[1].split("\n\n", maxsplit=1)[0].splitlines()]


@pytest.mark.usefixtures("judged")
def test_five_sentences_explain_a_finding(knick: Knick) -> None:
    what, noise, compared, why, otherwise = sentences(knick("explain", "benchmark=parse_csv").output)
    assert what.startswith("parse_csv is 29 % slower since 55af290088 (Allow commas inside quoted fields): ")
    assert "so the change is 8 times the noise; its 95 % interval is +26 % to +33 %" in noise
    assert compared.startswith("The method default compared the 17 values before")
    assert why.startswith("It is the change point P")
    assert "log-odds of a change" in why
    assert otherwise.startswith("Values near 58.84 µs again would mark it as recovered")


def test_a_change_that_recovered_is_said_to_have_recovered(knick: Knick, instance: Path) -> None:
    noise = np.random.default_rng(1).normal(0.0, 0.05, 40)
    values = np.repeat([10.0, 12.0, 10.0], [14, 13, 13]) + noise
    rows = [
        f"{place + 1:040x},2026-01-{1 + place // 2:02}T{place % 2:02}:00:00Z,parse,ms,{value:.4f}"
        for place, value in enumerate(values)
    ]
    (instance / "history.csv").write_text("\n".join(["commit,time,benchmark,unit,value", *rows, ""]), encoding="utf-8")
    assert (knick("import", "history.csv").code, knick("run").code) == (0, 0)
    *_, otherwise = sentences(knick("explain", "P1").output)
    assert otherwise.startswith("It has recovered: values are near 10")


def test_levels_that_are_of_fewer_values_than_were_compared_say_so(knick: Knick, instance: Path) -> None:
    values = np.repeat([10.0, 12.0], [30, 12]) + np.random.default_rng(3).normal(0.0, 0.05, 42)
    rows = (f"{number + 16:040x},parse,{value:.3f},ms\n" for number, value in enumerate(values))
    (instance / "history.csv").write_text("commit,benchmark,value,unit\n" + "".join(rows))
    assert knick("import", "history.csv", "--order", "given").code == 0
    assert knick("run").code == 0
    _, _, compared, *_ = sentences(knick("explain", "benchmark=parse").output)
    assert "compared the 30 values before" in compared
    assert compared.endswith(
        "The levels are medians of the 20 values nearest to the change on each side, or of fewer where there are fewer."
    )


def test_a_change_to_a_time_of_exactly_0_is_doubted(knick: Knick, instance: Path) -> None:
    values = np.repeat([10.0, 0.0], [15, 12]) * (1 + np.random.default_rng(3).normal(0.0, 0.01, 27))
    rows = (f"{number + 16:040x},parse,{value:.3f},ms\n" for number, value in enumerate(values))
    (instance / "history.csv").write_text("commit,benchmark,value,unit\n" + "".join(rows))
    assert knick("import", "history.csv", "--order", "given").code == 0
    assert knick("run").code == 0
    _, doubt, *_ = sentences(knick("explain", "benchmark=parse").output)
    assert doubt.startswith("A time of exactly 0 may mean that the benchmark no longer does its work")


@pytest.mark.parametrize(
    ("levels", "unit", "said"),
    [
        ((-0.4, 3.0), "ms", "parse is 3.4 ms slower since"),
        ((95.0, 92.0), "%", ": 95 % → 92 % (−3 percentage points, −3.2 %)."),
        ((0.0, 3.0), "errors", ": 0 errors → 3 errors."),
    ],
)
def test_a_change_near_0_or_of_percents_says_by_how_much(
    knick: Knick, instance: Path, levels: tuple[float, float], unit: str, said: str
) -> None:
    values = np.repeat(levels, 12)
    rows = (f"{number + 16:040x},parse,{value},{unit},lower\n" for number, value in enumerate(values))
    (instance / "history.csv").write_text("commit,benchmark,value,unit,better\n" + "".join(rows))
    assert knick("import", "history.csv", "--order", "given").code == 0
    assert knick("run").code == 0
    what, *_ = sentences(knick("explain", "benchmark=parse").output)
    assert said in what
    assert "∞" not in what


@pytest.mark.usefixtures("judged")
def test_a_rejected_place_is_explained_by_the_check_that_it_failed(knick: Knick) -> None:
    found = sentences(knick("explain", "benchmark=parse_csv", "--at", "2228a6b49f").output)
    assert found[0] == (
        "No change was found in parse_csv; the most likely place is 2228a6b49f (Draw how the words share their "
        "beginnings)."
    )
    assert found[3].startswith("It rejected this one: the chance of a change is ")
    assert found[4].startswith("It would be accepted if: log-odds of a change is at least −0.3059 (it is ")
    assert len(found) == 5


@pytest.mark.usefixtures("judged")
def test_a_commit_beside_a_change_is_told_from_it(knick: Knick) -> None:
    rows = json.loads(knick("query", "benchmark=parse_csv", "--format", "json").output)
    commits = [row["commit"] for row in rows]
    (place,) = [number for number, commit in enumerate(commits) if commit.startswith("55af290088")]
    beside, what, *_ = sentences(knick("explain", "benchmark=parse_csv", "--at", commits[place - 2]).output)
    assert beside.startswith(f"At {commits[place - 2][:10]} (")
    assert "there is no change" in beside
    assert beside.endswith(
        "The nearest one is 2 measured commits away, at 55af290088 (Allow commas inside quoted fields)."
    )
    assert what.startswith("parse_csv is 29 % slower since 55af290088")


@pytest.mark.usefixtures("judged")
def test_a_step_that_the_alert_refuses_is_no_finding(knick: Knick, judged: Path) -> None:
    with (judged / "knickpoint.toml").open("a") as file:
        file.write("\n[alerts.default]\nminimum_effect = 0.5\n")
    found = sentences(knick("explain", "benchmark=parse_csv").output)
    assert found[3].startswith("It is not a change point, because the alert rejected it: ")
    assert found[4].startswith("Other settings of the alert would report it: minimum_effect is 0.5,")


def test_a_drift_is_explained_by_its_slope(knick: Knick, instance: Path) -> None:
    values = 100 * 1.001 ** np.arange(200) * (1 + 0.005 * np.random.default_rng(4).standard_normal(200))
    rows = (f"{number + 16:040x},parse,{value:.3f},ms\n" for number, value in enumerate(values))
    (instance / "slow.csv").write_text("commit,benchmark,value,unit\n" + "".join(rows))
    assert knick("import", "slow.csv", "--order", "given").code == 0
    assert knick("run").code == 0
    what, _, compared, why, _ = sentences(knick("explain", "benchmark=parse").output)
    assert "parse has drifted and is 2" in what
    assert re.search(
        r"fitted a slope to the \d+ values from there on, .*: they rise by 1\d\d\.\d µs from one to the next", compared
    )
    assert "because twice the log-odds of a slope against steps alone is" in why


def test_a_changed_distribution_is_explained_by_its_levels(knick: Knick, instance: Path) -> None:
    rng = np.random.default_rng([7, 1])
    noise, upper = rng.normal(size=200), rng.random(200) < 0.5
    values = 100 + np.where(np.arange(200) < 100, noise, (noise + 8 * upper - 4) / 17**0.5)
    rows = (f"{number + 16:040x},parse,{value:.3f},ms\n" for number, value in enumerate(values))
    (instance / "split.csv").write_text("commit,benchmark,value,unit\n" + "".join(rows))
    with (instance / "knickpoint.toml").open("a") as file:
        file.write("\n[alerts.default]\nparameters = { noise = true }\n")
    assert knick("import", "split.csv", "--order", "given").code == 0
    assert knick("run").code == 0
    what, where, spread, moved, _, why = sentences(knick("explain", "benchmark=parse").output)
    assert re.fullmatch(
        r"Values from 10 to 90 %: 9\d[.\d]*–10\d[.\d]* → 9\d[.\d]*–10\d[.\d]* ms; two modes where one was: 9\d[.\d]* ms \(\d+ %\), 10\d[.\d]* ms \(\d+ %\)\.",
        where,
    )
    assert what.startswith("The distribution of parse changed at ")
    assert re.search(
        r": one level before, two levels \(9\d\.\d+ ms \(\d+ %\), 10\d[.\d]* ms \(\d+ %\)\) since\.$", what
    )
    assert spread.startswith("The values scatter by ")
    assert moved.startswith("Up to ")
    assert why.startswith("It is the change point P")


def test_more_noise_is_explained_by_both_spreads(knick: Knick, instance: Path) -> None:
    values = 100 + np.random.default_rng([7, 1]).normal(size=200) * np.where(np.arange(200) < 100, 1, 3)
    rows = (f"{number + 16:040x},parse,{value:.3f},ms\n" for number, value in enumerate(values))
    (instance / "noisy.csv").write_text("commit,benchmark,value,unit\n" + "".join(rows))
    with (instance / "knickpoint.toml").open("a") as file:
        file.write("\n[alerts.default]\nparameters = { noise = true }\n")
    assert knick("import", "noisy.csv", "--order", "given").code == 0
    assert knick("run").code == 0
    what = sentences(knick("explain", "benchmark=parse").output)[0]
    assert re.match(r"The values of parse scatter by \d\.\d+ ms around their level since .*, by .* before", what)


def test_too_few_values_are_counted(knick: Knick, instance: Path) -> None:
    (instance / "few.csv").write_text(
        "commit,benchmark,value\n" + "".join(f"{number + 16:040x},parse,1\n" for number in range(3))
    )
    assert knick("import", "few.csv", "--order", "given").code == 0
    assert sentences(knick("explain", "benchmark=parse").output) == [
        "There are too few values: 3; the method default needs at least 6 to find a change."
    ]


@pytest.mark.usefixtures("judged")
def test_verbose_prints_every_check(knick: Knick) -> None:
    assert "values of the shorter level that agree" in knick("explain", "benchmark=parse_csv", "-v").output
    assert "values of the shorter level that agree" not in knick("explain", "benchmark=parse_csv").output


@pytest.mark.usefixtures("judged")
def test_a_change_and_a_finding_are_explained_by_their_ids(knick: Knick) -> None:
    by_trace = knick("explain", "benchmark=parse_csv").output
    finding = re.search(r"the change point (P[0-9]+) of (R[0-9]+)", by_trace)
    assert finding is not None
    assert sentences(knick("explain", finding[1]).output) == sentences(by_trace)
    assert f"of {finding[2]} (" in knick("explain", finding[2]).output


@pytest.mark.usefixtures("judged")
def test_an_id_that_does_not_exist_is_named(knick: Knick) -> None:
    assert "there is no change point P999. Take it from knick changes" in knick("explain", "P999").errors
    assert "there is no change 999." in knick("explain", "R999").errors
