"""The newest value of each trace that changed is judged when it arrives."""

from __future__ import annotations

from typing import Final

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from knickpoint.detect import judge
from knickpoint.model.alert import Alert
from knickpoint.model.frame import Trace
from knickpoint.model.judged_benchmark import NewestVerdict
from knickpoint.model.step import Verdict
from knickpoint.model.unit_names import Better
from knickpoint.watch.newest_values import judge_newest, remarkable

from .conftest import World, levels

SLOW: Final = Alert("default")
"""An alert that finds no step in a single value."""

_TRACE: Final = Trace(1, ",benchmark=parse,", "ms", "time", Better.LOWER)


def newest(world: World, name: str = "parse") -> NewestVerdict | None:
    """Return the verdict that is kept with a trace."""
    key = world.trace(name)
    return world.store.findings.newest.get([key]).get(key)


def test_a_value_that_jumps_is_a_first_sign_before_any_finding(world: World) -> None:
    world.measure({"parse": [*levels((40, 10.0)), 13.0]})
    world.run(SLOW)
    verdict = newest(world)
    assert verdict is not None
    assert (verdict.verdict, verdict.slot, verdict.value) == (Verdict.REGRESSED, 40, 13.0)
    assert verdict.low < verdict.centre < verdict.high < 13.0


def test_a_value_that_belongs_to_its_level_has_no_verdict(world: World) -> None:
    world.measure({"parse": levels((40, 10.0))})
    world.run(SLOW)
    assert newest(world) is None


def test_the_verdict_goes_with_the_value_that_it_was_about(world: World) -> None:
    values = [*levels((40, 10.0)), 13.0]
    world.measure({"parse": values})
    world.run(SLOW)
    world.put(41, {"parse": 10.0})
    world.run(SLOW)
    assert newest(world) is None


def test_the_level_begins_at_the_last_finding(world: World) -> None:
    values = levels((30, 10.0), (30, 20.0))
    world.measure({"parse": [*values, 10.0]})
    world.run(SLOW)
    verdict = newest(world)
    assert verdict is not None
    assert verdict.centre > 19
    assert verdict.verdict is Verdict.IMPROVED
    world.measure({"parse": [*values, 20.0]})
    world.run(SLOW)
    assert newest(world) is None


def test_a_trace_without_new_results_keeps_its_verdict(world: World) -> None:
    world.measure({"parse": [*levels((40, 10.0)), 13.0], "render": levels((41, 10.0))})
    world.run(SLOW)
    before = newest(world)
    assert before is not None
    world.put(41, {"render": 10.0})
    world.run(SLOW)
    assert newest(world) == before


@given(
    st.integers(0, 2**32 - 1),
    st.integers(5, 120),
    st.floats(-6, 6),
    st.sampled_from(["normal", "rounded", "outliers", "flat"]),
)
def test_what_sorting_leaves_out_is_never_a_change(seed: int, count: int, distance: float, kind: str) -> None:
    noise = np.random.default_rng(seed).normal(0, 1, count)
    if kind == "outliers":
        noise[:: max(2, count // 4)] *= 8
    values = 100 + {"rounded": np.round(noise), "flat": 0 * noise}.get(kind, noise)
    level = np.append(values, 100 + distance)
    quick = judge_newest(level, _TRACE, 0) if remarkable([level]) else None
    judgement = judge(values, 100 + distance, better=Better.LOWER)
    assume(judgement.region is None or judgement.region.count == count)  # else it looks at a part of the level
    verdict = judgement.verdict
    assert (quick.verdict if quick else None) == (verdict if verdict in {Verdict.REGRESSED, Verdict.IMPROVED} else None)
