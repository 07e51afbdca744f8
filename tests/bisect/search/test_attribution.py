"""Which of two repositories made a change: the answer is sure when it says so, and rarely wrong."""

from __future__ import annotations

import numpy as np
import pytest

from knickpoint.bisect.search.attribution import Attribution, CellValue, attribute, attribution_of, next_cell
from knickpoint.bisect.search.problem import Level

LEVELS = {
    Attribution.MAIN: (0, 1, 0, 1),
    Attribution.OTHER: (0, 0, 1, 1),
    Attribution.BOTH: (0, 1, 1, 2),
    Attribution.INTERACTION: (0, 0, 0, 1),
    Attribution.NEITHER: (0, 0, 0, 0),
}
ANSWERS = pytest.mark.parametrize("answer", list(Attribution), ids=lambda answer: answer.value)


def played(
    answer: Attribution, delta: float, random: np.random.Generator, *, history: bool, most: int = 48
) -> tuple[Attribution | None, int]:
    """Measure until the answer is sure; return it and the number of measurements. The noise is 1."""
    top = delta * LEVELS[answer][3] or delta
    before, after = (Level(100.0, 1.0, 30), Level(100.0 + top, 1.0, 5)) if history else (Level(), Level())
    values: list[CellValue] = []
    while len(values) < most:
        cell = next_cell([value.cell for value in values])
        assert cell is not None
        level = 100.0 + delta * LEVELS[answer][cell]
        values.append(CellValue(bool(cell & 1), bool(cell & 2), level + random.normal()))
        found = attribution_of(values, before=before, after=after)
        if found is not None:
            return found[0], len(values)
    return None, most


@ANSWERS
@pytest.mark.parametrize("history", [True, False], ids=["with history", "without"])
def test_a_stated_answer_is_rarely_wrong(answer: Attribution, history: bool) -> None:  # noqa: FBT001
    random = np.random.default_rng(7)
    found = [played(answer, 4.0, random, history=history)[0] for _ in range(15)]
    stated = [each for each in found if each is not None]
    assert sum(each is not answer for each in stated) <= 2
    assert len(stated) >= 11


def test_a_large_change_needs_two_measurements_of_each_combination() -> None:
    random = np.random.default_rng(1)
    counts = [played(Attribution.MAIN, 20.0, random, history=True)[1] for _ in range(10)]
    assert max(counts) == 8


@ANSWERS
def test_exact_answers_need_one_measurement_of_each_combination(answer: Attribution) -> None:
    fails = [level > 0 for level in LEVELS[answer]]
    values = [CellValue(bool(cell & 1), bool(cell & 2), passed=not fails[cell]) for cell in range(4)]
    assert attribution_of(values[:3]) is None
    found = attribution_of(values)
    assert found is not None
    assert found[0] is answer


def test_what_always_fails_is_no_change() -> None:
    found = attribution_of([CellValue(bool(cell & 1), bool(cell & 2), passed=False) for cell in range(4)])
    assert found is not None
    assert found[0] is Attribution.NEITHER


def test_answers_with_errors_need_more() -> None:
    values = [CellValue(bool(cell & 1), bool(cell & 2), passed=not cell & 1) for cell in range(4)]
    assert attribution_of(values, error=0.2) is None
    found = attribution_of(values * 4, error=0.2)
    assert found is not None
    assert found[0] is Attribution.MAIN


def test_the_repositories_are_treated_alike() -> None:
    random = np.random.default_rng(3)
    values = [CellValue(bool(c & 1), bool(c & 2), 10 + 2 * (c & 1) + random.normal() * 0.1) for c in range(4)] * 2
    swapped = [CellValue(each.other_new, each.main_new, each.value) for each in values]
    first, second = attribute(values), attribute(swapped)
    assert first[Attribution.MAIN] == pytest.approx(second[Attribution.OTHER])
    assert first[Attribution.BOTH] == pytest.approx(second[Attribution.BOTH])


@pytest.mark.parametrize(("factor", "shift"), [(1e-6, 0.0), (1e6, 0.0), (-1.0, 0.0), (1.0, 50.0)])
def test_units_and_direction_do_not_matter(factor: float, shift: float) -> None:
    values = [CellValue(bool(c & 1), bool(c & 2), 10 + 2 * (c & 1) + 0.1 * n) for c in range(4) for n in range(3)]
    moved = [CellValue(each.main_new, each.other_new, factor * each.value + shift) for each in values]
    assert attribute(moved) == pytest.approx(attribute(values), rel=1e-3, abs=1e-6)


def test_values_without_noise_are_decided() -> None:
    values = [CellValue(bool(c & 1), bool(c & 2), 10.0 + 2 * (c & 1)) for c in range(4)] * 2
    found = attribution_of(values)
    assert found is not None
    assert found[0] is Attribution.MAIN


def test_the_ends_are_measured_first() -> None:
    order: list[int] = []
    for _ in range(6):
        cell = next_cell(order)
        assert cell is not None
        order.append(cell)
    assert order == [0, 3, 1, 2, 0, 3]


def test_what_cannot_be_measured_is_left_out() -> None:
    assert next_cell([], frozenset({0, 3})) == 1
    assert next_cell([], frozenset(range(4))) is None
