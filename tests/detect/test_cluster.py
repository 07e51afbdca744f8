from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.cluster import vq

from knickpoint.detect import cluster
from knickpoint.detect.methods.cluster.kmeans import automatic_k, fill, k_means, normalise, spread_start
from knickpoint.model.commit import Line, Repository
from knickpoint.model.errors import InputError, SeriesError
from knickpoint.model.frame import Frame, Trace
from knickpoint.model.unit_names import Better
from knickpoint.native.kmeans import lloyd


def _frame(seed: int = 1, *, rows: int = 60, columns: int = 80) -> NDArray[np.float64]:
    """Return noise in which the first third of the traces steps up at 50."""
    frame = 100 + np.random.default_rng(seed).normal(0, 1, (rows, columns))
    frame[: rows // 3, 50:] += 4
    return frame


def test_traces_that_move_together_come_first_with_their_step() -> None:
    strongest = cluster(_frame())[0]
    assert set(strongest.members) <= set(range(20))
    assert strongest.interesting
    assert strongest.step is not None
    assert strongest.step.index == 50
    assert strongest.regression > 0


@pytest.mark.parametrize(
    ("rule", "holds"),
    [
        ("cohen >= 3", True),
        ("cohen >= 3 and stepiness >= 0.5", True),
        ("absolute >= 1 or cohen >= 1000", True),
        ("cohen >= 3 and absolute >= 1000", False),
        ('{"complex_rule": {"op": "AND", "rules": [{"simple_rule": {"step": "cohen", "threshold": 3}}]}}', True),
    ],
)
def test_a_rule_decides_about_the_centroid(rule: str, holds: bool) -> None:  # noqa: FBT001
    strongest = cluster(_frame(), rule=rule)[0]
    assert strongest.interesting == holds
    assert strongest.evidence[0].name == ("absolute" if rule.startswith("absolute") else "cohen")
    assert strongest.interesting == (holds and strongest.evidence[-1].passed)
    assert strongest.step is not None
    assert strongest.step.index == 50


@pytest.mark.parametrize("rule", ["", "cohen >= 2", "cohen >= 2 or stepiness >= 0.9", "cohen >= 3 and absolute >= 1"])
def test_every_cluster_says_in_numbers_why_it_is_interesting_or_not(rule: str) -> None:
    for each in cluster(_frame(3), rule=rule, minimum_members=8):
        for check in each.evidence:
            assert check.passed == (not check.relation or check.value >= (check.bound or 0.0))
        deciding = each.evidence[-1:] + each.evidence[: len(each.evidence) - 1][-2 if rule else -1 :]
        assert each.interesting == all(check.passed for check in deciding)


def test_a_compatible_rule_judges_the_middle_and_gives_its_own_number() -> None:
    frame = _frame()
    frame[:20, 40:50] += 4
    strongest = cluster(frame, preset="skia", rule="cohen >= 2", k=4, seed=1)[0]
    assert strongest.interesting
    assert strongest.regression == pytest.approx(strongest.evidence[0].value)
    assert strongest.step is not None
    assert strongest.step.index == 40


def test_compatible_clusters_leave_out_traces_as_skia_does() -> None:
    frame = _frame()
    frame[3, 40] = np.nan
    frame[4, :21] = np.nan
    frame[5, :20] = np.nan
    members = {row for each in cluster(frame, preset="skia", k=3) for row in each.members}
    assert sorted(set(range(60)) - members) == [3, 4]


def test_a_rule_of_percentages_is_refused_for_centroids() -> None:
    with pytest.raises(InputError, match="percent_median divides by a level"):
        cluster(_frame(), rule="cohen >= 2 or percent_median >= 0.1")


@pytest.mark.parametrize("rule", ["", "cohen >= 0"])
def test_a_frame_too_short_for_a_step_has_no_interesting_cluster_and_says_why(rule: str) -> None:
    for each in cluster(np.eye(4), rule=rule, interesting=0):
        assert not each.interesting
        assert [check.name for check in each.evidence if not check.passed] == ["places for a step"]


def test_noise_has_no_interesting_cluster() -> None:
    noise = np.random.default_rng(3).normal(100, 1, (100, 120))
    assert not any(each.interesting for each in cluster(noise))


def test_every_trace_is_in_one_cluster_and_members_come_by_distance() -> None:
    found = cluster(_frame())
    members = sorted(row for each in found for row in each.members)
    assert members == list(range(60))
    for each in found:
        assert list(each.distances) == sorted(each.distances)
        own = normalise(_frame())[list(each.members)]
        np.testing.assert_allclose(each.centroid, own.mean(axis=0), atol=1e-5)
        np.testing.assert_allclose(each.distances, np.linalg.norm(own - each.centroid, axis=1), atol=1e-3)


def test_the_fingerprint_is_the_twenty_nearest_keys() -> None:
    frame = np.tile(np.r_[np.zeros(20), np.ones(20)], (40, 1)) + np.random.default_rng(1).normal(0, 0.05, (40, 40))
    (only,) = cluster(frame, [f",test=t{row}," for row in range(40)], k=1)
    assert len(only.fingerprint) == 20
    assert only.fingerprint == only.keys[:20]
    assert only.params[0].percent == 2


def test_params_say_what_the_members_share() -> None:
    keys = [f",arch={'arm' if row < 20 else 'x86'},test=t{row}," for row in range(60)]
    strongest = cluster(_frame(), keys)[0]
    assert (strongest.params[0].name, strongest.params[0].value, strongest.params[0].percent) == ("arch", "arm", 100)


def test_the_same_seed_and_any_number_of_threads_give_the_same_clusters() -> None:
    runs = [cluster(_frame(), seed=7, threads=threads) for threads in (1, 1, 2)]
    described = [[(each.members, each.distances, each.regression) for each in run] for run in runs]
    assert described[0] == described[1] == described[2]


def test_k_means_ends_where_no_trace_is_nearer_to_another_centroid() -> None:
    frame = _frame()
    found = cluster(frame, k=6)
    centroids = np.array([each.centroid for each in found])
    labels, _ = vq.vq(normalise(frame), centroids)
    for label, each in enumerate(found):
        assert sorted(each.members) == np.flatnonzero(labels == label).tolist()


def test_starting_centroids_are_different_rows() -> None:
    rows = np.repeat(np.eye(4, dtype=np.float32), 5, axis=0)
    start = spread_start(rows, 10, seed=2)
    assert sorted(start.tolist()) == sorted(np.eye(4).tolist())


@pytest.mark.parametrize(("traces", "k"), [(1, 1), (12, 3), (100, 10), (30_000, 50), (40_000, 63), (10**6, 200)])
def test_the_number_of_clusters_grows_with_that_of_the_traces(traces: int, k: int) -> None:
    assert automatic_k(traces) == k


def test_missing_values_take_the_next_one_and_the_end_the_last() -> None:
    frame = np.array([[np.nan, 2, np.nan, 3, np.nan], [np.nan] * 5])
    assert fill(frame).tolist() == [[2, 2, 3, 3, 3], [0] * 5]


@given(
    st.lists(st.lists(st.sampled_from([1.0, 2.0, 3.0, float("nan")]), min_size=6, max_size=6), min_size=1, max_size=5)
)
def test_filling_looks_at_one_trace_at_a_time(rows: list[list[float]]) -> None:
    frame = np.array(rows)
    for row, filled in zip(rows, fill(frame), strict=True):
        measured = [(place, value) for place, value in enumerate(row) if value == value]  # noqa: PLR0124
        for place, value in enumerate(filled):
            after = [own for where, own in measured if where >= place]
            assert value == (after[0] if after else measured[-1][1] if measured else 0.0)


def test_a_frame_of_the_store_brings_its_keys() -> None:
    traces = [Trace(row, f",test=t{row},", "s", "time", Better.LOWER) for row in range(60)]
    line = Line(Repository(1, "r"), "main", tuple(range(80)))
    frame = Frame(traces, line, 0, np.arange(80), _frame().astype(np.float32))
    one, other = cluster(frame), cluster(_frame().astype(np.float32), [trace.key for trace in traces])
    assert [each.keys for each in one] == [each.keys for each in other]
    assert len(one[0].keys) == one[0].size


def test_a_mostly_missing_trace_belongs_to_no_cluster() -> None:
    frame = _frame()
    frame[3, 10:] = np.nan
    assert 3 not in {row for each in cluster(frame) for row in each.members}


def test_a_nearly_constant_trace_is_not_blown_up() -> None:
    frame = 1e6 + np.random.default_rng(0).normal(0, 1e-3, (1, 50))
    assert np.abs(normalise(frame)).max() < 1e-3


def test_the_floor_follows_the_unit() -> None:
    frame = _frame()
    np.testing.assert_allclose(normalise(frame), normalise(frame * 1e-9), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0)])
def test_an_empty_frame_has_no_clusters(shape: tuple[int, int]) -> None:
    assert cluster(np.empty(shape)) == []


def test_a_single_constant_trace_is_a_cluster_without_interest() -> None:
    (only,) = cluster(np.full((1, 30), 5.0))
    assert (only.members, only.interesting) == ((0,), False)


def test_all_missing_is_no_cluster_and_short_frames_have_no_step() -> None:
    assert cluster(np.full((3, 9), np.nan)) == []
    (only,) = cluster(np.array([[1.0, 2.0]]))
    assert (only.step, only.regression) == (None, 0.0)


def test_an_infinity_is_named_by_its_place() -> None:
    frame = np.zeros((3000, 9))
    frame[2500, 7] = np.inf
    with pytest.raises(SeriesError, match="2500, 7"):
        cluster(frame)


def test_parameters_are_checked_as_those_of_other_methods() -> None:
    assert [each.members for each in cluster(_frame(), k="4")] == [each.members for each in cluster(_frame(), k=4)]
    with pytest.raises(InputError, match="no parameter 'colour'"):
        cluster(_frame(), colour=3)
    with pytest.raises(InputError, match="no preset 'moss'"):
        cluster(_frame(), preset="moss")


def test_keys_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="2 keys for 60 traces"):
        cluster(_frame(), [",a=b,", ",a=c,"])


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.sampled_from([2.0**-20, 2.0**10]))
def test_scale_changes_no_cluster(seed: int, scale: float) -> None:
    frame = _frame(seed, rows=30, columns=70)
    one, other = cluster(frame), cluster(frame * scale)
    assert [each.members for each in one] == [each.members for each in other]


@pytest.mark.parametrize("scale", [1e306, 1e150, 1e-150, 1e-200, 1e-310])
def test_values_whose_squares_are_no_floats_have_the_same_clusters(scale: float) -> None:
    frame = _frame(rows=30, columns=70)
    one, other = cluster(frame), cluster(frame * scale)
    assert [each.members for each in one] == [each.members for each in other]
    assert [each.interesting for each in one] == [each.interesting for each in other]


@pytest.mark.parametrize("preset", ["", "skia"])
def test_the_largest_number_of_one_trace_disturbs_no_other(preset: str) -> None:
    frame = _frame()
    frame[59, [7, 8]] = np.finfo(np.float64).max, -np.finfo(np.float64).max
    strongest = cluster(frame, preset=preset, k=2)[0]
    assert np.isfinite(strongest.centroid).all()
    if not preset:
        assert strongest.step is not None
        assert (strongest.step.index, set(strongest.members)) == (50, set(range(20)))


def test_an_infinity_is_refused_by_the_compatible_way_too() -> None:
    frame = _frame()
    frame[2, 3] = -np.inf
    with pytest.raises(SeriesError, match="index 2, 3"):
        cluster(frame, preset="skia")


def test_masked_values_of_a_frame_are_missing() -> None:
    frame = np.ma.masked_array(_frame(), mask=np.zeros((60, 80), dtype=bool))
    frame[7] = np.ma.masked
    members = {row for each in cluster(frame) for row in each.members}
    assert members == set(range(60)) - {7}


def test_keys_may_come_one_by_one() -> None:
    keys = [f",test=t{row}," for row in range(60)]
    assert [each.keys for each in cluster(_frame(), iter(keys))] == [each.keys for each in cluster(_frame(), keys)]


def test_a_sample_of_many_rows_finds_their_shapes_for_any_number_of_threads() -> None:
    draw = np.random.default_rng(3)
    shapes = np.repeat(np.eye(4, 12, dtype=np.float32) * 20, 6_500, axis=0)
    rows = shapes + draw.normal(size=shapes.shape).astype(np.float32)
    one, two = (k_means(rows, 4, 0, threads=threads) for threads in (1, 2))
    assert len(rows) > 8_192
    assert one.labels.tobytes() == two.labels.tobytes()
    assert one.centroids.tobytes() == two.centroids.tobytes()
    assert sorted(one.counts.tolist()) == [6_500] * 4
    for label in range(4):
        assert one.centroids[label] == pytest.approx(rows[one.labels == label].mean(axis=0, dtype=float), abs=1e-4)


def test_up_to_the_size_of_the_sample_all_rows_move_the_centroids() -> None:
    rows = np.random.default_rng(4).normal(size=(3_000, 6)).astype(np.float32)
    whole = lloyd(rows, spread_start(rows, 5, 0))
    assert k_means(rows, 5, 0).labels.tobytes() == whole.labels.tobytes()


def test_a_shape_that_one_row_in_a_hundred_has_is_found_in_a_sample() -> None:
    rows = np.random.default_rng(5).normal(size=(20_000, 40)).astype(np.float32)
    rows[:200, 20:] += 5
    found = k_means(rows, 36, 0)
    assert not set(found.labels[:200].tolist()) & set(found.labels[200:].tolist())
