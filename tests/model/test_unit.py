"""Units: what converts into what, and which direction is better."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knickpoint.model.unit import Better, convert, read_unit


@pytest.mark.parametrize(
    ("text", "dimension", "factor", "better"),
    [
        ("ns/iter", "time", 1e-9, Better.LOWER),
        ("ms/op", "time", 1e-3, Better.LOWER),
        ("µs", "time", 1e-6, Better.LOWER),
        ("μs", "time", 1e-6, Better.LOWER),
        ("usec", "time", 1e-6, Better.LOWER),
        ("seconds", "time", 1.0, Better.LOWER),
        ("MiB", "bytes", 2.0**20, Better.LOWER),
        ("KB", "bytes", 1e3, Better.LOWER),
        ("B/op", "bytes", 1.0, Better.LOWER),
        ("MB/s", "bytes/time", 1e6, Better.HIGHER),
        ("ops/s", "ops/time", 1.0, Better.HIGHER),
        ("op/us", "ops/time", 1e6, Better.HIGHER),
        ("operations/second", "ops/time", 1.0, Better.HIGHER),
        ("iter/sec", "iter/time", 1.0, Better.HIGHER),
        ("i/s", "iter/time", 1.0, Better.HIGHER),
        ("Kops/s", "ops/time", 1e3, Better.HIGHER),
        ("rps", "req/time", 1.0, Better.HIGHER),
        ("docs/sec", "docs/time", 1.0, Better.HIGHER),
        ("allocs/op", "allocs", 1.0, Better.LOWER),
        ("instructions", "instructions", 1.0, Better.LOWER),
        ("kHz", "frequency", 1e3, Better.HIGHER),
        ("score", "?score", 1.0, Better.UNKNOWN),
        ("docs/op", "?docs/op", 1.0, Better.UNKNOWN),
        ("", "?", 1.0, Better.UNKNOWN),
    ],
)
def test_a_unit_is_known_by_its_dimension_factor_and_direction(
    text: str, dimension: str, factor: float, better: Better
) -> None:
    unit = read_unit(text)
    assert (unit.dimension, unit.better) == (dimension, better)
    assert unit.factor == pytest.approx(factor, rel=1e-12)
    assert unit.text == text


def test_the_two_letters_for_micro_mean_the_same() -> None:
    assert convert(3.5, read_unit("µs"), read_unit("μs/iter")) == 3.5


def test_a_value_converts_within_its_dimension() -> None:
    assert convert(1500.0, read_unit("ns/iter"), read_unit("us")) == pytest.approx(1.5)
    assert convert(2.0, read_unit("ops/ms"), read_unit("ops/s")) == pytest.approx(2000.0)


def test_a_value_does_not_convert_into_another_dimension() -> None:
    with pytest.raises(ValueError, match=r"'ms' \(time\) does not convert into 'MB' \(bytes\)"):
        convert(1.0, read_unit("ms"), read_unit("MB"))


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["ns/iter", "s", "KiB", "ops/s", "score"]))
def test_the_same_unit_leaves_a_value_untouched(value: float, text: str) -> None:
    assert convert(value, read_unit(text), read_unit(f" {text} ")) == value


@given(st.text(max_size=12))
def test_any_text_is_a_unit(text: str) -> None:
    unit = read_unit(text)
    assert unit.text == text.strip()
    assert unit.factor > 0
