"""What a slow machine adds to a sample is taken out again; what a commit adds stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from knickpoint.demo.history import plan
from knickpoint.demo.measurement import calibrate, measure
from knickpoint.demo.textmill import BENCHMARKS


def test_a_machine_at_half_its_speed_makes_no_difference() -> None:
    runs = {"a": [{"parse": (4e-4 * slow, 4e-5 * slow)} for slow in (1.0, 2.0, 1.0, 1.5)]}
    samples = calibrate(runs)["a"]["parse"]
    assert samples == pytest.approx(samples[:1] * 4)


def test_a_slower_commit_stays_slower() -> None:
    samples = calibrate({"a": [{"parse": (4e-4, 4e-5)}], "b": [{"parse": (5e-4, 4e-5)}]})
    assert samples["b"]["parse"][0] / samples["a"]["parse"][0] == pytest.approx(1.25)


def test_on_an_even_machine_samples_stay_as_they_were_measured() -> None:
    runs = {
        "a": [{"parse": (4e-4, 4e-5), "render": (2e-4, 4e-5)}],
        "b": [{"parse": (5e-4, 4e-5), "render": (2e-4, 4e-5)}],
    }
    assert calibrate(runs) == {
        "a": {"parse": pytest.approx([4e-4]), "render": pytest.approx([2e-4])},
        "b": {"parse": pytest.approx([5e-4]), "render": pytest.approx([2e-4])},
    }


def test_every_process_gives_each_benchmark_a_sample(tmp_path: Path) -> None:
    for path, text in next(plan()).files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    samples = measure({"first": tmp_path}, rounds=2)["first"]
    assert {benchmark: len(values) for benchmark, values in samples.items()} == dict.fromkeys(BENCHMARKS, 2)
