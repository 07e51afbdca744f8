"""Quantities as people read them: chances, percentages, levels and changes."""

from __future__ import annotations

import pytest

from knickpoint.model.quantity_text import (
    certainty_text,
    chance_text,
    change_text,
    figure_text,
    interval_text,
    levels_text,
    number_text,
    percent_text,
)


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        (0.0, "0 %"),
        (0.5, "50 %"),
        (0.985, "98.5 %"),
        (0.9949, "99.5 %"),
        (0.995, "more than 99 %"),
        (1.0, "more than 99 %"),
    ],
)
def test_the_probability_of_an_answer_never_claims_to_be_certain(probability: float, text: str) -> None:
    assert certainty_text(probability) == text


def test_the_chance_of_a_sign_has_three_digits() -> None:
    assert [chance_text(each) for each in (0.973, 0.9996)] == ["97.3 %", "more than 99.9 %"]


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.124, "12 %"), (0.0124, "1.2 %"), (-0.00124, "0.12 %"), (0.00001234, "0.0012 %"), (0.0, "0 %")],
)
def test_a_percentage_has_as_many_digits_as_say_something(share: float, text: str) -> None:
    assert percent_text(share) == text


def test_two_levels_have_one_scale_and_digits_that_tell_them_apart() -> None:
    assert levels_text(900e-9, 1.2e-6, "s") == "0.9 µs → 1.2 µs"
    assert levels_text(1_000_000.0, 1_000_001.0, "ops") == "1,000,000 ops → 1,000,001 ops"


def test_two_levels_have_one_notation() -> None:
    assert levels_text(9.763e-7, 1.959e-6, "ps") == "9.763e−07 ps → 1.959e−06 ps"
    assert levels_text(0.9e15, 1.2e15, "ops") == "9.000e+14 ops → 1.200e+15 ops"


def test_a_change_has_the_words_of_what_was_measured() -> None:
    assert change_text(1.0, 0.12, "ms") == "12 % slower"
    assert change_text(-1.0, 0.12, "B") == "12 % smaller"
    assert change_text(1.0, 0.7, "ms", noise=True) == "70 % noisier"
    assert change_text(-1.0, -0.4, "ms", noise=True) == "40 % less noisy"
    assert change_text(1.0, 4.0, "ms") == "5× the time"
    assert change_text(1.0, float("inf"), "errors") == "higher, from 0"


def test_a_change_across_0_has_no_share_of_the_level_before() -> None:
    assert change_text(1032.6, 28.76, "us", before=-35.9) == "1.033 ms slower"
    assert change_text(-0.9762, -723.3, "", before=0.00135) == "0.9762 lower"
    assert change_text(-5.0, -0.5, "ms", before=10.0) == "50 % faster"
    assert interval_text(-35.9, 1000.0, 1100.0, "us") == "1 ms to 1.1 ms"


def test_an_interval_has_the_sign_of_each_end() -> None:
    assert interval_text(100.0, -1.0, 14.0, "ms") == "−1 % to +14 %"
    assert interval_text(100.0, float("nan"), 14.0, "ms") == ""


def test_figures_of_any_form_have_one_minus_sign() -> None:
    assert [figure_text(-0.032, "+.1%"), figure_text(-1234.5, "+,.1f"), figure_text(-2e-9, ".3g")] == [
        "−3.2 %",
        "−1,234.5",
        "−2e−09",
    ]


def test_numbers_that_are_none_are_signs() -> None:
    assert [number_text(each) for each in (float("nan"), float("inf"), float("-inf"), 0.0)] == ["–", "∞", "−∞", "0"]
