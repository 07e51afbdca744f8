"""Every level of instructions computes the same bits."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import pytest

from knickpoint.native import COMPILED

_PROGRAM = """
import hashlib
import numpy as np
from knickpoint.native.permutation import permute
from knickpoint.native.q_hat import q_hat, scan_both
from knickpoint.native.windows import split_windows
draw = np.random.default_rng(5)
digest = hashlib.sha256()
for count in (3, 17, 160, 161, 350, 1500, 5000):
    values = draw.normal(size=count).round(2) + 1e6
    ordered = np.sort(values)
    for v_form in (False, True):
        digest.update(q_hat(values, 1.0, v_form=v_form).tobytes())
        digest.update(q_hat(values[:200], 0.7, v_form=v_form).tobytes())
        for both in (False, True):
            if not both or count <= 350:
                tops = np.empty(9)
                permute(ordered, np.array([0, count]), 1.0, v_form=v_form, both=both, least=1, seed=1, turn=0,
                               count=9, tops=tops)
                digest.update(tops.tobytes())
    if count <= 1500:
        digest.update(repr(scan_both(values, 1.0, 2, v_form=False)).encode())
        digest.update(repr(split_windows(values, 1.0, v_form=False, least=1, window=50, stride=25, first_p=0.1,
                                          max_p=0.01, least_magnitude=0.0, population=True, stale=True)).encode())
print(digest.hexdigest())
"""

_K_MEANS = """
import numpy as np
from knickpoint.native.kmeans import lloyd
rows = np.random.default_rng(5).normal(size=(3000, 31)).astype(np.float32) + np.arange(3000)[:, np.newaxis] % 7 * 3
rows = rows.astype(np.float32)
print(np.bincount(lloyd(rows, rows[:7].copy()).labels).tolist())
"""

_CHOICE = """
import numpy as np
from knickpoint.native.kmeans import choose_start
from knickpoint.native.partition import extend_partition
rows = np.random.default_rng(6).normal(size=(700, 61)).astype(np.float32)
print(choose_start(rows, 40, np.random.default_rng(2)))
value = np.random.default_rng(7).normal(size=300).round(1)
distinct, counts = np.unique(value, return_counts=True)
sums = [np.r_[0.0, np.cumsum(each)] for each in (counts * 1.0, counts * distinct, counts * distinct**2)]
cost = np.r_[0.0, (sums[2][1:] - sums[1][1:] ** 2 / sums[0][1:])[1:]]
print([(part.tobytes().hex()) for part in extend_partition(cost, *sums)])
"""


@cache
def _run(program: str, level: str) -> str:
    answer = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "KNICKPOINT_KERNELS": level},
    )
    return answer.stdout


@pytest.mark.long
@pytest.mark.skipif(not COMPILED, reason="the kernels are not compiled")
@pytest.mark.parametrize("level", ["plain", "avx2"])
def test_a_machine_with_fewer_instructions_finds_the_same_bits(level: str) -> None:
    assert _run(_PROGRAM, level) == _run(_PROGRAM, "")


@pytest.mark.skipif(not COMPILED, reason="the kernels are not compiled")
@pytest.mark.parametrize("level", ["plain", "avx2", "numpy"])
def test_clusters_that_stand_apart_are_the_same_everywhere(level: str) -> None:
    assert _run(_K_MEANS, level) == _run(_K_MEANS, "")


@pytest.mark.skipif(not COMPILED, reason="the kernels are not compiled")
@pytest.mark.parametrize("level", ["plain", "avx2", "numpy"])
def test_rows_chosen_and_divisions_are_the_same_bits_everywhere(level: str) -> None:
    assert _run(_CHOICE, level) == _run(_CHOICE, "")
