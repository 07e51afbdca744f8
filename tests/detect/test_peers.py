"""The presets beside the packages that they stand for, each in the environment that its pins need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from knickpoint.detect import find_steps

_BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
_PYTHON = (
    "import sys; sys.path.insert(0, sys.argv[1]); from peers import peer_python; print(peer_python(sys.argv[2]) or '')"
)


def _ask(peer: str, values: NDArray[np.float64], place: Path) -> Any:
    """Return what ``peer`` finds in ``values``; its environment is made when it is first asked for."""
    made = subprocess.run(
        [sys.executable, "-c", _PYTHON, _BENCHMARKS, peer], capture_output=True, text=True, check=True
    )
    python = made.stdout.strip()
    if not python:
        pytest.skip(f"{peer} cannot be installed here")
    file = place / "values.npy"
    np.save(file, values)
    command = [python, str(_BENCHMARKS / "detect_peers.py"), peer, str(file), "1"]
    answer = subprocess.run(command, input="\n", capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)["found"]


def _series(seed: int, length: int) -> NDArray[np.float64]:
    """Return noise of one of five laws around up to four levels."""
    draw = np.random.default_rng(seed)
    plain = draw.normal(0, 1, length)
    noise = (
        plain,
        draw.lognormal(0, 0.6, length),
        draw.standard_t(3, length),
        plain.round(),
        plain + 20 * (draw.random(length) < 0.02),
    )
    values: NDArray[np.float64] = 100 + noise[seed % 5]
    for at in draw.integers(1, length, seed % 4):
        values[at:] += draw.normal(0, 3)
    return values


@pytest.mark.long
@pytest.mark.parametrize("length", [20, 49, 51, 120, 365, 500])
def test_otava_finds_the_same_points(length: int, tmp_path: Path) -> None:
    frame = np.array([_series(seed, length) for seed in range(120)])
    ours = [[step.index for step in find_steps(row, method="e_divisive", preset="otava")] for row in frame]
    assert ours == _ask("otava", frame, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10))
def test_mongodbs_package_finds_the_same_points_where_the_draw_does_not_matter(seed: int, tmp_path: Path) -> None:
    levels = np.repeat(np.random.default_rng(seed).permutation([100.0, 112.0, 125.0, 140.0]), [40, 55, 30, 60])
    values = levels + np.random.default_rng(seed + 100).normal(0, 1.5, levels.size)
    steps = find_steps(values, method="e_divisive", preset="mongodb", p=0.05)
    ours = [step.index for step in sorted(steps, key=lambda step: step.order)]
    theirs = _ask("spa", values, tmp_path)
    shorter = min(len(ours), len(theirs))
    assert shorter >= 3
    assert ours[:shorter] == theirs[:shorter]
