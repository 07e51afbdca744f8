"""The learnt trees of the default method."""

from __future__ import annotations

import json
from importlib.resources import files

from knickpoint.native.segmentation import FEATURE_NAMES


def test_the_trees_were_learnt_on_the_features_that_are_computed() -> None:
    learnt = json.loads(files("knickpoint.detect.methods.default").joinpath("forest.json").read_bytes())
    assert tuple(learnt["features"]) == FEATURE_NAMES
