"""Chosen traces are clustered over a stretch of commits, on generated values with known groups."""

from __future__ import annotations

import numpy as np
import pytest
from tests.watch.clustered import FLAT, LATE, LATER, SOON, SOONER, generated

from knickpoint.instance import Instance
from knickpoint.model.commit import Line
from knickpoint.model.errors import InputError
from knickpoint.model.query import parse_query
from knickpoint.watch.trace_clustering import Clustering, ClusteringRules, cluster_traces


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    return generated(tmp_path_factory.mktemp("clustered"))


def line_of(opened: Instance) -> Line:
    return opened.store.commits.line(opened.store.commits.repository("made"))


def clustered(opened: Instance, rules: ClusteringRules | None = None, **stretch: int) -> Clustering:
    line, query = line_of(opened), parse_query("")
    ids = opened.store.traces.select(line.repository, query)
    facets = opened.store.traces.facets(line.repository, query)
    return cluster_traces(opened.store, line, ids, facets, rules or ClusteringRules(k=3), **stretch)


def test_traces_that_move_together_are_a_cluster_at_their_commit(instance: Instance) -> None:
    found = clustered(instance)
    moved = {each.position: each for each in found.clusters if each.cluster.interesting}
    assert set(moved) == {SOON, LATE}
    assert {moved[SOON].cluster.size, moved[LATE].cluster.size} == {SOONER, LATER}
    assert moved[SOON].cluster.regression > 0 > moved[LATE].cluster.regression
    assert sum(each.cluster.size for each in found.clusters) + found.left_out == SOONER + LATER + FLAT


def test_what_the_traces_of_a_cluster_share_stands_first(instance: Instance) -> None:
    cluster = next(each for each in clustered(instance).clusters if each.position == SOON)
    first = cluster.breakdown[0]
    assert (first.name, first.values[0].value, first.values[0].members) == ("arch", "arm", SOONER)
    assert not first.even


def test_a_stretch_without_the_step_has_no_interesting_cluster_there(instance: Instance) -> None:
    found = clustered(instance, first=SOON + 8, last=LATE - 8)
    assert not any(each.cluster.interesting for each in found.clusters)
    assert found.positions == tuple(range(SOON + 8, LATE - 7))


def test_the_same_values_give_the_same_clusters(instance: Instance) -> None:
    both = [[each.ids for each in clustered(instance, ClusteringRules()).clusters] for _ in range(2)]
    assert both[0] == both[1]


def test_the_rules_of_skia_are_a_choice(instance: Instance) -> None:
    line = line_of(instance)
    middle = clustered(instance, ClusteringRules(k=3, skia=True, interesting=1.0), first=SOON - 15, last=SOON + 15)
    assert SOON in {each.position for each in middle.clusters if each.cluster.interesting}
    assert line.slots


def test_too_many_values_are_refused_with_their_number(instance: Instance) -> None:
    line = line_of(instance)
    with pytest.raises(InputError, match=r"100,000 traces x 80 commits are 8,000,000 values"):
        cluster_traces(instance.store, line, np.arange(100_000), {}, ClusteringRules())


def test_no_traces_have_no_clusters(instance: Instance) -> None:
    found = cluster_traces(instance.store, line_of(instance), np.empty(0, dtype=np.int64), {}, ClusteringRules())
    assert found == Clustering((), (), 0)
