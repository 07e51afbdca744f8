"""Learn the forest of the default method, and write it to ``src/knickpoint/detect/methods/default/forest.json``.

::

    make train-default    # learns on all, cross-validates by repository, writes

Needs scikit-learn, which the target installs into ``build/train``. Reads the labelled series in
``KNICKPOINT_REFERENCE``; without them it learns on generated noise, which resembles real noise less.

For each example the whole path of the search is described, from all candidates down to none; a candidate is a change
when a true one lies within 5 points and no nearer candidate has it. The first forest learns on the path of a simple
rule, the second on the path of the first. That is done for four draws of examples (``--seeds``), and the forest is
their mean, so that the accidents of one draw count a quarter. One more tree is set by hand: a change that has just
begun needs a higher score, because it is judged again with every new commit. The rate of false alarms for each bound is
measured on real noise without a change, by forests that were not trained on its repository.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small arrays: threads would cost more than they gain

import numpy as np
from numpy.typing import NDArray

from accuracy_noise import INDEPENDENT, noise
from accuracy_series import Labelled, place_of_series, read_labelled
from knickpoint.native.forest import Forest
from knickpoint.native.segmentation import FEATURE_NAMES, segment
from train_series import Example, examples

TARGET: Final = (
    Path(__file__).resolve().parent.parent / "src" / "knickpoint" / "detect" / "methods" / "default" / "forest.json"
)

MARGIN: Final = 5
"""How many points a candidate may lie off a true change."""

MOST: Final = 9
"""The most candidates of a round of pruning from which to learn; earlier rounds are many and easy."""

FOLDS: Final = (
    ("denoland/benchmark_data", "rune-rs/rune", "aws/jsii"),
    ("pydantic/pydantic-core", "risc0/ghpages", "sunpy/sunpy-benchmarks"),
    ("runfinch/finch", "IntersectMBO/cardano-ledger", "safetensors/safetensors"),
)
"""Repositories that are held back together in cross-validation."""

RECENT_WEIGHTS: Final = ((7, 4.0), (14, 6.0), (30, 2.0))
"""Weight of a false change with at most so many values after it: every new commit is another chance of a false alarm.

The first weight is smaller, since a false change there costs only a delay.
"""

PRICES: Final = ((5, 0.4), (12, 0.7))
"""Log-odds that a change loses which reaches the newest value and has at most so many values after it.

The first price is the highest that leaves the median delay at four commits, the second the highest with which as many
changes as before are found within ten.
"""

BUMP_WEIGHT: Final = 1.6
"""Weight of an end of a short bump: there are few of them, and without one end the other makes no sense."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rows:
    """Candidates: their features, whether each is a change, and their weights."""

    features: Array
    truth: NDArray[np.bool_]
    weight: Array


def empty_forest() -> Forest:
    """Return the forest without trees; the search then scores candidates by a simple rule."""
    none = np.zeros(0, np.int32)
    return Forest(0.0, none, none, none, none, np.zeros(0), np.zeros(0))


def matched(indices: Sequence[int], places: Sequence[int]) -> NDArray[np.bool_]:
    """Return which of ``indices`` match one of ``places`` within the margin, one to one, the closest first."""
    pairs = sorted((abs(i - p), row, p) for row, i in enumerate(indices) for p in places if abs(i - p) <= MARGIN)
    truth = np.zeros(len(indices), dtype=bool)
    taken: set[int] = set()
    for _, row, place in pairs:
        if not truth[row] and place not in taken:
            truth[row] = True
            taken.add(place)
    return truth


def describe(series: Sequence[Example], forest: Forest) -> Rows:
    """Describe the candidates of every example along the path on which ``forest`` prunes them."""
    features: list[Array] = []
    truths: list[NDArray[np.bool_]] = []
    weights: list[Array] = []
    for example in series:
        path = segment(np.ascontiguousarray(example.values), forest, np.inf, whole_path=True)
        for number in range(int(path.rounds.max(initial=-1)) + 1):
            rows = np.flatnonzero(path.rounds == number)
            if rows.size > MOST:
                continue
            truth = matched(path.indices[rows].tolist(), example.places)
            found = path.features[rows]
            weight = np.where(truth & (example.kind == "bump"), BUMP_WEIGHT, 1.0)
            recent = ~truth & (found[:, FEATURE_NAMES.index("reaches the newest value")] > 0)
            for most, more in reversed(RECENT_WEIGHTS):
                weight[recent & (found[:, FEATURE_NAMES.index("values after")] <= most)] = more
            features.append(found)
            truths.append(truth)
            weights.append(weight)
    return Rows(np.concatenate(features), np.concatenate(truths), np.concatenate(weights))


def fit(rows: Rows, trees: int) -> Forest:
    """Learn boosted trees of depth 4 on ``rows``.

    A split uses a third of the features, a leaf has at least 200 candidates.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        sys.exit(
            "scikit-learn is missing. Run make train-default, which installs it, or python -m pip install scikit-learn"
        )
    model = HistGradientBoostingClassifier(
        max_depth=4,
        learning_rate=0.06,
        max_iter=trees,
        max_features=0.35,
        l2_regularization=5.0,
        min_samples_leaf=200,
        early_stopping=False,
        random_state=0,
    ).fit(rows.features, rows.truth, sample_weight=rows.weight)
    return flatten(model)


def flatten(model: Any) -> Forest:
    """Return a fitted model as flat arrays; an inner node gets the mean of its leaves."""
    root: list[int] = []
    nodes: list[tuple[int, int, int, float, float]] = []
    for (tree,) in model._predictors:  # noqa: SLF001 - scikit-learn does not publish the trees
        first = len(nodes)
        root.append(first)
        means = [float(node["value"]) for node in tree.nodes]
        for number in range(len(means) - 1, -1, -1):  # children have larger numbers than their parent
            node = tree.nodes[number]
            if not node["is_leaf"]:
                low, high = int(node["left"]), int(node["right"])
                counts = [float(tree.nodes[child]["count"]) for child in (low, high)]
                means[number] = (means[low] * counts[0] + means[high] * counts[1]) / sum(counts)
        for node, mean in zip(tree.nodes, means, strict=True):
            if node["is_leaf"]:
                nodes.append((-1, 0, 0, 0.0, float(f"{mean:.5g}")))
            else:
                bound = float(f"{node['num_threshold']:.6g}")
                children = (first + int(node["left"]), first + int(node["right"]))
                nodes.append((int(node["feature_idx"]), *children, bound, float(f"{mean:.5g}")))
    feature, below, above, bounds, values = zip(*nodes, strict=True)
    return Forest(
        base=round(float(model._baseline_prediction.ravel()[0]), 6),  # noqa: SLF001
        root=np.array(root, np.int32),
        feature=np.array(feature, np.int32),
        below=np.array(below, np.int32),
        above=np.array(above, np.int32),
        bound=np.array(bounds),
        value=np.array(values),
    )


def merge(forests: Sequence[Forest]) -> Forest:
    """Return the forest whose log-odds are the mean of those of all."""
    firsts = np.cumsum([0, *(forest.feature.size for forest in forests)])[:-1].tolist()

    def children(name: str) -> NDArray[np.int32]:
        moved = [
            np.where(forest.feature >= 0, getattr(forest, name) + first, 0)
            for forest, first in zip(forests, firsts, strict=True)
        ]
        return np.concatenate(moved).astype(np.int32)

    values = np.concatenate([forest.value for forest in forests]) / len(forests)
    return Forest(
        base=round(sum(forest.base for forest in forests) / len(forests), 6),
        root=np.concatenate([forest.root + first for forest, first in zip(forests, firsts, strict=True)]).astype(
            np.int32
        ),
        feature=np.concatenate([forest.feature for forest in forests]),
        below=children("below"),
        above=children("above"),
        bound=np.concatenate([forest.bound for forest in forests]),
        value=np.array([float(f"{value:.5g}") for value in values.tolist()]),
    )


def with_prices(forest: Forest) -> Forest:
    """Return the forest with one more tree, which subtracts :data:`PRICES` from changes that have just begun."""
    newest, after = FEATURE_NAMES.index("reaches the newest value"), FEATURE_NAMES.index("values after")
    nodes = [(newest, 0.5, 0.0), (-1, 0.0, 0.0)]
    for most, price in PRICES:
        nodes += [(after, most + 0.5, 0.0), (-1, 0.0, -price)]
    nodes.append((-1, 0.0, 0.0))
    feature, bound, value = (np.array(column) for column in zip(*nodes, strict=True))
    first, inner = forest.feature.size, feature >= 0
    numbers = first + np.arange(feature.size)
    return Forest(
        base=forest.base,
        root=np.append(forest.root, first).astype(np.int32),
        feature=np.append(forest.feature, feature).astype(np.int32),
        below=np.append(forest.below, np.where(inner, numbers + 1, 0)).astype(np.int32),
        above=np.append(forest.above, np.where(inner, numbers + 2, 0)).astype(np.int32),
        bound=np.append(forest.bound, bound),
        value=np.append(forest.value, value),
    )


def learn(series: Sequence[Example], trees: int) -> Forest:
    """Learn on the path of the simple rule, and again on the path of the forest from that."""
    first = fit(describe(series, empty_forest()), trees // 2)
    return fit(describe(series, first), trees)


def cross_validated(series: Sequence[Example], trees: int) -> dict[str, Forest]:
    """Return for every repository a forest that was not trained on its fold."""
    found = {}
    for fold in FOLDS:
        forest = learn([example for example in series if example.source not in fold], trees)
        found.update(dict.fromkeys(fold, forest))
    return found


def scores_without_change(series: Sequence[Labelled], forests: dict[str, Forest]) -> tuple[Array, int]:
    """Return the scores that candidates of series without a change reach along the whole path, and the number of points."""
    scores: list[float] = []
    points = 0
    for item in series:
        if not item.places:
            points += item.values.size
            path = segment(item.values, forests[item.source], np.inf)
            scores += np.maximum.accumulate(path.scores).tolist()
    return np.sort(np.array(scores))[::-1], points


def calibrate(scores: Array, points: int) -> list[tuple[float, float]]:
    """Return pairs of a rate of false alarms per 1,000 points and the bound that gives it, the rate ascending."""
    rates = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
    found = []
    for rate in rates:
        allowed = rate * points / 1000
        place = min(int(allowed), scores.size - 2)
        part = min(allowed - place, 1.0)
        found.append((rate, round(float(scores[place] * (1 - part) + scores[place + 1] * part), 4)))
    return found


def write(forest: Forest, calibration: list[tuple[float, float]], output: Path) -> None:
    """Write the forest and its calibration to ``output``."""
    data = {
        "features": FEATURE_NAMES,
        "calibration": calibration,
        "base": forest.base,
        "root": forest.root.tolist(),
        "nodes": {name: getattr(forest, name).tolist() for name in ("feature", "below", "above", "bound", "value")},
    }
    output.write_text(json.dumps(data, separators=(",", ":")) + "\n")


@dataclass(frozen=True, slots=True)
class Draw:
    """What is learnt from one draw of examples: a forest from all, and for every repository one without its fold."""

    forest: Forest
    held_back: dict[str, Forest]


def learn_draw(place: Path | None, seed: int, count: int, trees: int) -> Draw:
    """Draw examples and learn on them; without reference data nothing is held back."""
    series = examples(place, seed, count)
    return Draw(learn(series, trees), cross_validated(series, trees) if place else {})


def main() -> None:
    """Cross-validate, learn and write, with the options of the command line."""
    parser = argparse.ArgumentParser(description="Learn the forest of the default method.")
    parser.add_argument("--examples", type=int, default=24_000, help="of each draw")
    parser.add_argument("--trees", type=int, default=260, help="of each forest")
    parser.add_argument("--seeds", type=int, nargs="+", default=[11, 12, 21, 22], help="of the draws, a forest each")
    parser.add_argument("--jobs", type=int, default=2, help="draws at a time; they do not change the result")
    parser.add_argument("--output", type=Path, default=TARGET, help="where the trees go; the package unless named")
    parser.add_argument("--forests", type=Path, help="keep the cross-validated forests here, for accuracy.py --forests")
    options = parser.parse_args()
    place = place_of_series()
    noises = "with real noise" if place else "of generated noise"
    print(f"{len(options.seeds)} x {options.examples} examples {noises}", flush=True)
    learn_seed = partial(learn_draw, place, count=options.examples, trees=options.trees)
    with ProcessPoolExecutor(options.jobs) as pool:
        draws = list(pool.map(learn_seed, options.seeds))
    forest = with_prices(merge([draw.forest for draw in draws]))
    if place:
        sources = draws[0].held_back
        forests = {source: with_prices(merge([draw.held_back[source] for draw in draws])) for source in sources}
        scores, points = scores_without_change(read_labelled(place, "injected"), forests)
        if options.forests:
            keep(forests, options.forests)
    else:
        quiet = [noise(family, seed) for family in INDEPENDENT for seed in range(300)]
        unlabelled = [Labelled("zero", "generated", "", 0, known.values, (), (), ()) for known in quiet]
        scores, points = scores_without_change(unlabelled, {"generated": forest})
    write(forest, calibrate(scores, points), options.output)
    print(f"wrote {options.output}")


def keep(forests: dict[str, Forest], path: Path) -> None:
    """Save the cross-validated forests, an archive entry for each array."""
    names = ("root", "feature", "below", "above", "bound", "value")
    arrays: dict[str, Any] = {}
    for source, forest in forests.items():
        arrays |= {f"{source} {name}": getattr(forest, name) for name in names}
        arrays[f"{source} base"] = np.array(forest.base)
    np.savez_compressed(path, **arrays)


if __name__ == "__main__":
    main()
