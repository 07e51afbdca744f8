from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from knickpoint.model.change_point import Status
from knickpoint.model.cluster import FINGERPRINT
from knickpoint.watch.alert_run.kept_clusters import KnownCluster, coalesce


def cluster(*keys: int, regression: float = 200, status: Status = Status.NEW, id: int = 0) -> KnownCluster:  # noqa: A002
    return KnownCluster(tuple(f",test={key}," for key in keys), regression, 7, status, id=id)


def test_the_example_of_the_design_document() -> None:
    known = [cluster(1, id=1), cluster(2, id=2), cluster(3, 4, id=3)]
    fresh = [cluster(1), cluster(3), cluster(4), cluster(5)]
    found = coalesce(known, fresh)
    assert [entry.id for entry in found] == [1, 2, 3, 0]
    assert found[3] == cluster(5)


def test_of_all_appearances_the_one_of_largest_regression_is_kept() -> None:
    known = [cluster(3, 4, regression=300, id=3)]
    found = coalesce(known, [cluster(3, regression=-400), cluster(4, regression=350)])
    assert [(entry.id, entry.keys, entry.regression) for entry in found] == [(3, (",test=3,",), -400)]


def test_a_worse_appearance_changes_nothing() -> None:
    known = [cluster(1, regression=-300, id=1)]
    assert coalesce(known, [cluster(1, 2, regression=250)]) == known


def test_a_better_appearance_keeps_what_was_decided() -> None:
    found = coalesce([cluster(1, status=Status.HIDDEN, id=9)], [cluster(1, 2, regression=900)])
    assert [(entry.id, entry.status, entry.regression) for entry in found] == [(9, Status.HIDDEN, 900)]


def test_a_cluster_belongs_to_the_known_one_with_most_matches() -> None:
    known = [cluster(1, 9, id=1), cluster(2, 3, 4, id=2)]
    found = coalesce(known, [cluster(1, 2, 3, regression=500)])
    assert [entry.regression for entry in found] == [200, 500]


def test_only_the_nearest_members_are_the_fingerprint() -> None:
    known = [cluster(*range(FINGERPRINT + 1), id=1)]
    assert len(coalesce(known, [cluster(FINGERPRINT)])) == 2
    assert len(coalesce(known, [cluster(FINGERPRINT - 1)])) == 1


clusters = st.lists(
    st.builds(
        lambda keys, regression: cluster(*keys, regression=regression),
        st.lists(st.integers(0, 12), unique=True, min_size=1, max_size=4),
        st.integers(-900, 900),
    ),
    max_size=5,
)


@given(clusters)
def test_the_same_clusters_again_are_nothing_new(found: list[KnownCluster]) -> None:
    known = coalesce([], found)
    assert len(coalesce(known, found)) == len(known)


@given(clusters, clusters)
def test_no_known_cluster_is_ever_lost(known: list[KnownCluster], fresh: list[KnownCluster]) -> None:
    numbered = [cluster(*(int(key[6:-1]) for key in entry.keys), id=k) for k, entry in enumerate(known, 1)]
    assert [entry.id for entry in coalesce(numbered, fresh)][: len(numbered)] == list(range(1, len(numbered) + 1))
