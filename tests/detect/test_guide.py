"""The guide page of a method names every parameter, preset and kind that it has, and the figures of the code."""

from __future__ import annotations

from inspect import signature
from pathlib import Path

import pytest

from knickpoint.calc import FOLDS, FUNCTIONS
from knickpoint.detect import judge, parameters_of, presets_of
from knickpoint.detect.judgement import FEWEST, NEWEST
from knickpoint.detect.method import describe
from knickpoint.detect.methods.cluster.method import PRESETS, detect_cluster
from knickpoint.detect.methods.default.model import FALSE_ALARMS, load_model
from knickpoint.detect.region_noise import RARE
from knickpoint.detect.window_fits.fit import DEFAULT_BOUNDS, KINDS
from knickpoint.native.segmentation import BARS, CERTAIN

_GUIDE = Path(__file__).parents[2] / "docs" / "guide"
_METHODS = ("catapult", "modes", "step_fit", "t_test", "threshold")


def _missing(page: str, names: set[str]) -> set[str]:
    text = (_GUIDE / page).read_text(encoding="utf-8")
    return {name for name in names if f"`{name}`" not in text and f"`{name}(" not in text and f"{name}=" not in text}


def _text(page: str) -> str:
    """Return a page with single spaces, so that a sentence is found across lines."""
    return " ".join((_GUIDE / page).read_text(encoding="utf-8").split())


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


def test_the_page_of_the_default_method_has_the_figures_of_its_model() -> None:
    text = _text("detect/default.md")
    (jump, chance), (larger_jump, larger_chance) = BARS
    assert f"| `false_alarms` | {FALSE_ALARMS:g} |" in text
    assert f"described by {len(load_model().features)} numbers" in text
    assert f"lie {jump:g} deviations of the noise around it apart and chance makes at most {chance:g} such runs" in text
    assert f"or {larger_jump:g} deviations and {larger_chance:g}" in text
    assert f"**Certainty** adds {CERTAIN:g} to the log-odds" in text


def test_the_page_of_verdicts_has_the_bounds_of_the_code() -> None:
    text = _text("detect/judge.md")
    assert f"fewer than {FEWEST} values in the region" in text
    assert f"a region of more than {NEWEST:,} values the newest {NEWEST:,} count" in text
    assert f"at most {RARE * 100:g} % of the runs" in text


@pytest.mark.parametrize("kind", DEFAULT_BOUNDS)
def test_the_page_of_step_fit_has_the_default_bound_of_each_kind(kind: str) -> None:
    row = next(
        line
        for line in (_GUIDE / "detect/step_fit.md").read_text(encoding="utf-8").splitlines()
        if f"| `{kind}` |" in line
    )
    assert f"| {DEFAULT_BOUNDS[kind]:g} |" in row  # type: ignore[index]
