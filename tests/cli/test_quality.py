"""``knick quality`` and ``knick backtest``: the alerts, measured by what people decided."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Knick, change_points


@pytest.mark.usefixtures("judged")
def test_decisions_are_counted_by_alert_with_intervals(knick: Knick) -> None:
    knick("triage", "1", "2", "--as", "hidden")
    knick("triage", "4", "5", "--as", "acknowledged")
    rows = json.loads(knick("quality", "alerts", "--format", "json").output)
    assert [row["alert"] for row in rows] == ["default", ""]
    assert rows[0]["acknowledged"] + rows[0]["hidden"] + rows[0]["undecided"] == rows[0]["findings"]
    assert "%–" in knick("quality", "alerts").output


@pytest.mark.usefixtures("judged")
def test_doubtful_labels_are_counted_and_listed(knick: Knick) -> None:
    knick("triage", "4", "--as", "acknowledged")
    assert "acknowledged-without-ticket" in knick("quality", "audit").output
    rows = json.loads(knick("quality", "audit", "acknowledged-without-ticket", "--format", "json").output)
    assert {row["change"] for row in rows} == {"R4"}
    refused = knick("quality", "audit", "everything")
    assert refused.code == 2
    assert "there is no list 'everything'" in refused.errors


@pytest.mark.usefixtures("judged")
def test_the_noisiest_traces_are_listed(knick: Knick) -> None:
    assert "No finding was hidden" in knick("quality", "traces").output
    knick("triage", "1", "--as", "hidden")
    (row,) = json.loads(knick("quality", "traces", "--format", "json").output)
    assert (row["hidden"], row["share"]) == (1, 1.0)
    assert 0 < row["smallest_change"] < 1


@pytest.mark.long
@pytest.mark.usefixtures("judged")
def test_a_backtest_compares_a_change_with_the_alert_as_it_is(knick: Knick) -> None:
    knick("triage", "1", "--as", "hidden")
    knick("triage", "4", "5", "--as", "acknowledged")
    ran = knick("backtest", "--set", "minimum_effect=0.5", "--compare", "--format", "json")
    assert ran.code == 0, ran.errors
    before, after = json.loads(ran.output)
    assert (before["alert"], after["alert"]) == ("default", "default (changed)")
    assert (before["found"], before["noise"], before["lost"]) == (2, 1, 0)
    assert (after["found"], after["lost"], after["noise"]) == (1, 1, 1)


@pytest.mark.usefixtures("judged")
def test_an_unknown_alert_is_refused(knick: Knick) -> None:
    refused = knick("backtest", "--alert", "other")
    assert refused.code == 2
    assert "there is no alert 'other'" in refused.errors


@pytest.mark.usefixtures("judged")
def test_the_corpus_is_json_lines_or_csv(knick: Knick) -> None:
    knick("triage", "4", "--as", "acknowledged")
    (row,) = [json.loads(line) for line in knick("quality", "corpus", "--values").output.splitlines()]
    assert (row["label"], row["status"], len(row["values"])) == ("real", "acknowledged", 71)
    header, line = knick("quality", "corpus", "--format", "csv").output.splitlines()
    assert header.startswith("repository,line,trace,")
    assert ",real,acknowledged," in line
    assert knick("quality", "corpus", "--values", "--format", "csv").code == 2


@pytest.mark.long
@pytest.mark.usefixtures("judged")
def test_a_proposal_is_accepted_and_taken_back(knick: Knick) -> None:
    rows = change_points(knick)
    for row in rows:
        small = abs(row["relative_size"]) < 0.35
        knick("triage", row["id"], "--as", "hidden" if small else "acknowledged")
    (proposal,) = [
        each
        for each in json.loads(knick("quality", "proposals", "--backtest", "--format", "json").output)
        if each["name"] == "default:raise"
    ]
    # What is smaller today may have looked larger when it was announced: not all of it is avoided.
    assert proposal["after"]["noise"] < proposal["before"]["noise"] == proposal["hidden"]
    assert proposal["after"]["found"] == proposal["before"]["found"]
    accepted = knick("quality", "accept", "default:raise")
    assert accepted.code == 0, accepted.errors
    assert "knick quality undo 1" in accepted.output
    assert json.loads(knick("alerts", "list", "--format", "json").output)[0]["minimum_effect"] > 0
    assert knick("quality", "undo", "1").code == 0
    assert json.loads(knick("alerts", "list", "--format", "json").output)[0]["minimum_effect"] == 0
    assert knick("quality", "accept", "default:magic").code == 2


_LABELLED = {
    "repository": "elsewhere",
    "line": "main",
    "trace": ",benchmark=parse,",
    "unit": "ms",
    "better": "lower",
    "label": "real",
    "direction": "regression",
    "movement": 1,
    "previous": 11,
    "position": 12,
    "previous_commit": "a",
    "commit": "b",
    "values": [10.0, 10.1] * 6 + [14.0, 14.1] * 3,
}


def test_an_alert_is_measured_against_a_corpus_without_an_instance(
    knick: Knick, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corpus.jsonl").write_text(json.dumps(_LABELLED))
    ran = knick("backtest", "--corpus", "corpus.jsonl", "--set", "settle_most=3", "--format", "json")
    assert ran.code == 0, ran.errors
    (row,) = json.loads(ran.output)
    assert (row["alert"], row["repository"], row["found"]) == ("default", "elsewhere", 1)
    refused = knick("backtest", "--corpus", "corpus.jsonl", "--since", "2026-01-01")
    assert refused.code == 2
    assert "a corpus is always replayed in full" in refused.errors
