from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from knickpoint.detect import METHODS, MethodKind, find_steps, judges_groups, load_method, package_of, registry
from knickpoint.model.errors import InputError, PluginError

_MODULE = """
from knickpoint.detect import Method, MethodKind
from knickpoint.detect.steps import build_steps
from knickpoint.model.step import Detection

def detect_middle(values, *, every: int = 2) -> Detection:
    return Detection("middle", {}, build_steps(values, [values.size // every], method="middle"), (), {})

METHOD = Method("middle", MethodKind.SERIES, detect_middle)
NO_METHOD = 3
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install packages with a module and entry points, as a package manager does."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "middle_package.py").write_text(_MODULE, encoding="utf-8")

    def forget() -> None:
        registry._plugins.cache_clear()
        load_method.cache_clear()

    def add(package: str, **entry_points: str) -> None:
        place = tmp_path / f"{package}-1.2.dist-info"
        place.mkdir()
        (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n", encoding="utf-8")
        lines = [f"{name.replace('_', '-')} = {value}" for name, value in entry_points.items()]
        (place / "entry_points.txt").write_text("\n".join(["[knickpoint.methods]", *lines, ""]), encoding="utf-8")
        forget()

    yield add
    forget()


def test_every_built_in_method_has_the_name_that_it_is_found_by() -> None:
    assert {name: method.name for name, method in METHODS.items()} == {name: name for name in METHODS}


def test_methods_say_their_kind() -> None:
    kinds = {name: method.kind for name, method in METHODS.items() if method.kind is not MethodKind.SERIES}
    assert kinds == {
        "cluster": MethodKind.GROUP,
        "e_divisive_joint": MethodKind.JOINT,
        "siblings": MethodKind.JOINT,
    }


def test_a_method_of_another_kind_is_refused_with_those_that_fit() -> None:
    with pytest.raises(InputError, match="takes groups of traces, not one series") as caught:
        find_steps([1.0, 2.0], method="cluster")
    assert "catapult, default" in caught.value.remedy


def test_a_name_without_a_method_judges_no_groups() -> None:
    assert judges_groups("cluster")
    assert not judges_groups("uninstalled")


def test_the_method_of_another_package_works_like_any_other(install: Install) -> None:
    install("middle-package", middle="middle_package:METHOD")
    (step,) = find_steps([1.0, 1.0, 5.0, 5.0], method="middle", every="2")
    assert (package_of("middle"), package_of("t_test")) == ("middle-package 1.2", "")
    assert (step.index, "middle" in METHODS, METHODS["middle"].parameters) == (2, True, {"every": 2})


@pytest.mark.parametrize(
    ("entry_point", "reason"),
    [
        ("absent_package:METHOD", "cannot be imported: No module named 'absent_package'"),
        ("middle_package:OTHER", "cannot be imported: .*OTHER"),
        ("middle_package:NO_METHOD", "is int, not knickpoint.detect.Method"),
    ],
)
def test_a_broken_plugin_is_named(install: Install, entry_point: str, reason: str) -> None:
    install("middle-package", middle=entry_point)
    with pytest.raises(PluginError, match=f"package middle-package 1.2, entry point 'middle' .*{reason}") as caught:
        find_steps([1.0, 2.0], method="middle")
    assert caught.value.remedy == "Update or uninstall middle-package."


def test_a_plugin_under_another_name_is_refused(install: Install) -> None:
    install("middle-package", centre="middle_package:METHOD")
    with pytest.raises(PluginError, match="is the method 'middle', not 'centre'"):
        load_method("centre")


def test_a_plugin_cannot_take_the_name_of_a_method(install: Install) -> None:
    install("middle-package", t_test="middle_package:METHOD")
    assert load_method("t_test").detect.__module__ == "knickpoint.detect.methods.t_test.method"
    with pytest.raises(PluginError, match="the name 't_test' is taken by a part of Knickpoint itself"):
        list(METHODS)


def test_two_packages_cannot_take_one_name(install: Install) -> None:
    install("middle-package", middle="middle_package:METHOD")
    install("other-package", middle="other_package:METHOD")
    with pytest.raises(PluginError, match=r"the name 'middle' is taken by the package (middle|other)-package 1.2"):
        load_method("middle")
