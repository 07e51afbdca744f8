"""Clusters of two runs are joined as Skia Perf joined them in 2015."""

from __future__ import annotations

import json
from pathlib import Path

from tests.reference_data import skip_without_reference
from tests.watch.test_cluster_fingerprints import cluster

from knickpoint.watch.alert_run.kept_clusters import coalesce

skip_without_reference()


def test_clusters_without_a_common_commit_are_those_that_skia_kept_in_2015(reference: Path) -> None:
    case = json.loads((reference / "vectors" / "skia_misc.json").read_text())["coalesce_2015"]
    by_commit = {"match", "opposite", "nonsense"}  # these it joined, or not, by the commit of the step, too
    known, fresh = (
        [
            cluster(*map(int, one["keys"]), regression=one["regression"], id=place * (side == "old"))
            for place, one in enumerate(case[side], 1)
            if one["hash"] not in by_commit
        ]
        for side in ("old", "new")
    )
    found = {one.keys[0]: one.regression for one in coalesce(known, fresh)}
    left_out = {key for side in ("old", "new") for one in case[side] if one["hash"] in by_commit for key in one["keys"]}
    assert found == {f",test={key},": regression for key, regression, *_ in case["expected"] if key not in left_out}
