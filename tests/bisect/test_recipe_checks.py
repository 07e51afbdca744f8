"""A recipe that cannot work is refused when the configuration is read, with the section and the setting."""

from __future__ import annotations

from pathlib import Path

import pytest

from knickpoint.bisect.settings import RecipeSettings
from knickpoint.instance import read_config
from knickpoint.model.errors import ConfigError


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('build = ["make"]', "'measure' is missing"),
        ('measure = [""]', "measure is not a command"),
        ('measure = ["a"]\nbuild_seconds = -1', "build_seconds is -1"),
        ('measure = ["a"]\nmeasure_seconds = nan', "measure_seconds is nan"),
        ('measure = ["a"]\nprobability = 0.5', "probability is 0.5"),
        ('measure = ["a"]\nprobability = 1.0', "probability is 1"),
        ('measure = ["a"]\nrepeats = 0', "repeats is 0"),
        ('measure = ["a"]\nmost_probes = -3', "most_probes is -3"),
        ('measure = ["a"]\nresults = ["/etc/passwd"]', "results is '/etc/passwd'"),
        ('measure = ["a"]\nresults = ["out/../../x"]', "results is 'out/../../x'"),
        ('measure = ["a"]\nartefact = [""]', "artefact is ''"),
        ('measure = ["a"]\nalso = { other = "../other" }', "also, 'other', is '../other'"),
        ('measure = ["a"]\nalso = { other = "deps/other" }', "it names the repository 'other'"),
        ('measure = ["a"]\nenvironment = { "A=B" = "x" }', "environment has 'A=B'"),
        ('measure = ["a"]\nvary = { "A B" = "x" }', "vary has 'A B'"),
        ('measure = ["a"]\ntest = [""]', "test is not a command"),
        ('measure = ["a"]\ntest_seconds = 0', "test_seconds is 0"),
        ('measure = ["a"]\nsame_output = ["../x"]', "same_output is '../x'"),
        ('measure = ["a"]\nformat = "nothing"', "no format is called 'nothing'"),
        ('measure = ["a"]\nrepository = "lib"', "it names the repository 'lib'"),
    ],
)
def test_a_recipe_that_cannot_work_is_refused(lines: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "knickpoint.toml"
    file.write_text(f"[bisect.quick]\n{lines}\n")
    with pytest.raises(ConfigError) as refused:
        read_config(file)
    assert refused.value.message.startswith(message)
    assert refused.value.where == f"{file}, [bisect.quick]"


def test_a_search_without_a_bound_of_its_own_has_one_by_the_length_of_its_range() -> None:
    plain = RecipeSettings("quick")
    assert [plain.probes_allowed(commits) for commits in (1, 2, 16, 17, 1024)] == [80, 120, 240, 280, 480]
    assert RecipeSettings("quick", most_probes=7).probes_allowed(1024) == 7


def test_a_recipe_with_all_of_it_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "knickpoint.toml"
    file.write_text('[bisect.quick]\nmeasure = ["a", "b"]\nresults = ["out/**/*.json"]\nprobability = 0.99\n')
    assert read_config(file).bisect["quick"].measure == ("a", "b")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('recipes = ["fast"]', "recipes names 'fast', and there is no section [bisect.fast]"),
        ("most_attempts = 0", "most_attempts is 0"),
        ("budget_hours = 25", "budget_hours is 25"),
        ("error = 0.3", "error is 0.3"),
        ("most_rounds = 5", "5 rounds cannot confirm anything at an error of 1 %"),
        ('protect = ["x"]', "unknown key 'protect'"),
    ],
)
def test_bounds_of_attempts_that_cannot_work_are_refused(lines: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "knickpoint.toml"
    file.write_text(f'[try]\n{lines}\n[bisect.quick]\nmeasure = ["a"]\n')
    with pytest.raises(ConfigError) as refused:
        read_config(file)
    assert (refused.value.message, refused.value.where) == (message, f"{file}, [try]")


def test_what_only_attempts_use_does_not_make_another_probe() -> None:
    plain = RecipeSettings("quick", measure=("a",))
    assert plain.digest == RecipeSettings("quick", measure=("a",), test=("b",), vary={"SIZE": "2"}).digest
