"""The guide page of a method names every parameter, preset and kind that it has."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import pytest

from knickpoint.calc import FOLDS, FUNCTIONS
from knickpoint.detect import judge, parameters_of, presets_of
from knickpoint.detect.methods.cluster.method import PRESETS, detect_cluster
from knickpoint.detect.parameters import describe
from knickpoint.detect.window_fits.fit import KINDS

_GUIDE = Path(__file__).parents[2] / "docs" / "guide"
_METHODS = ("catapult", "modes", "step_fit", "t_test", "threshold")


def _missing(page: str, names: set[str]) -> set[str]:
    text = (_GUIDE / page).read_text(encoding="utf-8")
    return {name for name in names if f"`{name}`" not in text and f"`{name}(" not in text and f"{name}=" not in text}


@pytest.mark.parametrize("method", _METHODS)
def test_a_page_names_every_parameter_of_its_method(method: str) -> None:
    assert _missing(f"detect/{method}.md", set(parameters_of(method))) == set()


@pytest.mark.parametrize("method", _METHODS)
def test_a_page_names_every_preset_of_its_method(method: str) -> None:
    text = (_GUIDE / "detect" / f"{method}.md").read_text(encoding="utf-8")
    assert {name for name in presets_of(method) if f"preset={name}" not in text} - {"exact"} == set()


def test_the_page_of_step_fit_names_every_kind() -> None:
    assert _missing("detect/step_fit.md", set(KINDS)) == set()


def test_the_page_of_e_divisive_names_every_parameter_and_preset() -> None:
    names = {*parameters_of("e_divisive"), *presets_of("e_divisive"), *parameters_of("e_divisive_joint")}
    assert _missing("detect/e_divisive.md", names) == set()


def test_the_page_of_verdicts_names_every_parameter() -> None:
    assert _missing("detect/judge.md", set(signature(judge).parameters) - {"history", "new"}) == set()


def test_the_page_of_clusters_names_every_parameter_and_preset() -> None:
    assert _missing("detect/cluster.md", set(describe(detect_cluster))) == set()
    assert all(f"preset={name}" in (_GUIDE / "detect" / "cluster.md").read_text(encoding="utf-8") for name in PRESETS)


def test_the_page_of_formulas_names_every_function_and_operation() -> None:
    assert _missing("formulas.md", {*FUNCTIONS, *FOLDS}) == set()
