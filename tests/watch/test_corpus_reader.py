"""A corpus that is read back: the labels of one instance judge a method elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from knickpoint.model.change_point import Status
from knickpoint.model.errors import InputError
from knickpoint.watch.alert_run.run import run_alerts
from knickpoint.watch.backtest.backtest import Backtest, backtest, backtest_history
from knickpoint.watch.backtest.history import read_corpus
from knickpoint.watch.backtest.replay import Outcome
from knickpoint.watch.quality.corpus import corpus_rows
from knickpoint.watch.triage.decisions import Targets, decide

from .conftest import QUICK, World, levels

ALERT = replace(QUICK, settle_share=0, settle_least=3, settle_most=3)

ROW: dict[str, Any] = {
    "repository": "r",
    "line": "main",
    "trace": ",benchmark=parse,",
    "unit": "ms",
    "better": "lower",
    "label": "real",
    "direction": "regression",
    "movement": 1,
    "previous": 0,
    "position": 1,
    "previous_commit": "a",
    "commit": "b",
    "values": [1.0, 2.0],
}


def written(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return [json.dumps(row) for row in rows]


def counts(result: Backtest) -> dict[Outcome, int]:
    return {outcome: result.score.count(outcome) for outcome in Outcome}


@pytest.mark.long
def test_a_backtest_of_the_corpus_is_that_of_the_instance_that_wrote_it(world: World) -> None:
    world.measure({"parse": levels((12, 10.0), (6, 12.0)), "load": levels((10, 5.0), (8, 6.0))})
    run_alerts(world.store, [ALERT], as_work=True)
    decide(world.store, Targets(points=(world.points("parse")[0].id,)), who="ada", status=Status.ACKNOWLEDGED)
    decide(world.store, Targets(points=(world.points("load")[0].id,)), who="ada", status=Status.HIDDEN)
    corpus = written(corpus_rows(world.store, world.repository, values=True))
    (part,) = read_corpus(corpus, "corpus.jsonl")
    read_back = backtest_history(part.history, ALERT, part.labels)
    assert counts(read_back) == counts(backtest(world.store, world.repository, ALERT))
    assert counts(read_back)[Outcome.FOUND] == counts(read_back)[Outcome.NOISE] == 1


def test_the_query_of_the_alert_chooses_the_traces() -> None:
    other = {**ROW, "trace": ",benchmark=load,", "label": "noise"}
    (part,) = read_corpus(written([ROW, other]), "c")
    result = backtest_history(part.history, replace(ALERT, query="benchmark=load"), part.labels)
    assert (result.watched, counts(result)[Outcome.LOST], counts(result)[Outcome.AVOIDED]) == (1, 0, 1)


def test_each_line_is_a_history_of_its_own_with_missing_values_and_unnamed_commits() -> None:
    rows = [{**ROW, "values": [1.0, 2.0, None]}, {**ROW, "line": "other"}]
    main, other = read_corpus(written(rows), "c")
    np.testing.assert_array_equal(main.history.values, [[1.0, 2.0, np.nan]])
    assert [commit.hash for commit in main.history.commits] == ["a", "b", "position-2"]
    assert other.history.values.shape == (1, 2)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "no rows"),
        (["{"], "not JSON"),
        (["[]"], "not an object"),
        (written([{**ROW, "position": "1"}]), "position is '1'"),
        (written([{**ROW, "label": "perhaps"}]), "'perhaps' is not a valid"),
        (written([{**ROW, "position": 2}]), "not a place"),
        (written([{**ROW, "values": [1.0, "2"]}]), "not a list of numbers"),
        (written([{key: ROW[key] for key in ROW if key != "values"}]), "has no values"),
        (written([ROW, {**ROW, "trace": ",benchmark=load,", "values": [1.0, 2.0, 3.0]}]), "the series has 3 values"),
    ],
)
def test_what_is_no_corpus_is_refused_with_its_line(lines: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        read_corpus(lines, "c.jsonl")
    assert refused.value.where.startswith("c.jsonl")
