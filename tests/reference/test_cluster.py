"""Clusters against vectors that the code of Skia Perf made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.reference_data import skip_without_reference

from knickpoint.detect import cluster
from knickpoint.detect.methods.cluster.kmeans import normalise, skia_iterations
from knickpoint.model.cluster import count_params
from knickpoint.native.kmeans import lloyd

skip_without_reference()


@pytest.fixture(scope="module")
def vectors(reference: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((reference / "vectors" / "skia_ctrace_kmeans.json").read_text())
    return found


def test_traces_are_normalised_as_skia_does(vectors: dict[str, Any]) -> None:
    for case in vectors["new_full_trace"]:
        values = np.array([case["in"]], dtype=np.float64)
        values[values > 1e31] = np.nan
        shape = normalise(values, floor=case["min_stddev"], compatible=True)[0]
        assert shape.tolist() == pytest.approx(case["out"], rel=1e-6, abs=1e-7)


def test_iterations_are_those_of_skia(vectors: dict[str, Any]) -> None:
    for case in vectors["kmeans"]:
        rows = np.array(case["observations"], dtype=np.float32)
        found = skia_iterations(rows, np.array(case["start_centroids"], dtype=np.float32))
        for iteration, expected in zip(found, case["iterations"], strict=False):
            np.testing.assert_allclose(iteration.centroids, expected["centroids"], rtol=1e-5, atol=1e-6)
            assert iteration.total_error == pytest.approx(expected["total_error"], rel=1e-5)
        if case["stopped_at_iteration_index"] >= 0:
            assert len(found) == case["stopped_at_iteration_index"] + 1
        last = found[len(case["iterations"]) - 1].centroids
        labels = np.square(rows[:, None, :] - last[None, :, :]).sum(axis=2).argmin(axis=1)
        members = [[str(row) for row in np.flatnonzero(labels == label)] for label in range(len(last))]
        assert sorted(members) == sorted(case["final_members"])


def test_params_are_counted_as_skia_does(vectors: dict[str, Any]) -> None:
    for case in vectors["param_summaries"]:
        found = [{"value": f"{each.name}={each.value}", "percent": each.percent} for each in count_params(case["keys"])]
        assert found == case["expected"]


@pytest.mark.parametrize("seed", range(4))
def test_two_shapes_are_the_two_clusters_of_skia(vectors: dict[str, Any], seed: int) -> None:
    case = vectors["cluster_summaries_two_shapes"]
    frame = np.array(list(case["traceset"].values()), dtype=np.float64)
    parameters = {"preset": "skia", "floor": case["stddev_threshold"], "k": case["k"]}
    found = cluster(frame, list(case["traceset"]), seed=seed, **parameters)
    expected = case["expected_clusters_in_order"]
    if len(found) < len(expected):
        pytest.skip("the random start with replacement drew one shape only")
    for one, other in zip(found, expected, strict=True):
        assert sorted(one.keys) == other["keys_sorted"]
        assert one.centroid.tolist() == pytest.approx(other["centroid"], rel=1e-6)
        assert -one.regression == pytest.approx(other["step_fit"]["regression"], rel=1e-5, abs=1e-6)
        assert one.step is not None
        assert one.step.index == other["step_fit"]["turning_point"]
        assert one.interesting == (other["step_fit"]["status"] != "Uninteresting")


def test_centroids_and_distances_are_those_of_skia(vectors: dict[str, Any]) -> None:
    for case in vectors["distance"]:
        rows = np.array([case["a"], case["b"]], dtype=np.float32)
        start = np.ascontiguousarray(rows[1:])
        assert lloyd(rows, start, iterations=0).distances[0] == pytest.approx(case["distance"], rel=1e-5)
    for case in vectors["centroid"]:
        rows = np.array(case["members"], dtype=np.float32)
        assert lloyd(rows, rows[:1]).centroids[0].tolist() == pytest.approx(case["centroid"], rel=1e-5)
