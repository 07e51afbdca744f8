"""What C and Python both know is the same in both."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import knickpoint.native
from knickpoint.model.distribution import MAD
from knickpoint.native import COMPILED
from knickpoint.native.kmeans.lloyd import BLOCK
from knickpoint.native.modes.reference import FEWEST_RETURNS, LEAVING, MOST_LEVELS, SHARE, STAYING
from knickpoint.native.q_hat import TIED
from knickpoint.native.ranks import LARGEST_TIED
from knickpoint.native.segmentation import BARS, FEATURE_NAMES, constants
from knickpoint.native.trend.reference import GRID, NEAR, SHORTEST
from knickpoint.native.windows import NoteKind

pytestmark = pytest.mark.skipif(not COMPILED, reason="the kernels are not compiled")

KERNELS = sorted(path.parent.name for path in Path(knickpoint.native.__file__).parent.glob("*/compiled.py"))


def _twins(kernel: str) -> list[tuple[Callable[..., Any], Callable[..., Any]]]:
    """Return the pairs of functions of one name in the two modules of a kernel."""
    compiled, reference = (import_module(f"knickpoint.native.{kernel}.{name}") for name in ("compiled", "reference"))
    own = [
        {
            name
            for name, each in vars(module).items()
            if inspect.isfunction(each) and each.__module__ == module.__name__ and not name.startswith("_")
        }
        for module in (compiled, reference)
    ]
    return [(getattr(compiled, name), getattr(reference, name)) for name in sorted(own[0] & own[1])]


def _parameters(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    parameters = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.kind, parameter.default) for parameter in parameters]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_has_twins_of_the_same_signature(kernel: str) -> None:
    pairs = _twins(kernel)
    assert pairs
    for compiled, reference in pairs:
        assert _parameters(compiled) == _parameters(reference)


def test_features_have_the_same_names_in_the_same_order() -> None:
    from knickpoint.native.binding import lib

    names = [lib.kp_segment_feature_name(i) for i in range(lib.kp_segment_features())]
    assert tuple(names) == FEATURE_NAMES


def test_the_constants_of_the_search_are_the_same() -> None:
    from knickpoint.native.binding import lib

    here = {name: value for name, value in vars(constants).items() if name.isupper() and name != "BARS"} | {"MAD": MAD}
    assert here == {name: getattr(lib, f"KP_{name}") for name in here}


def test_the_other_constants_are_the_same() -> None:
    from knickpoint.native.binding import lib
    from knickpoint.native.points.compiled import LOST, WILD

    assert ((lib.KP_JUMP, lib.KP_CHANCE), (lib.KP_WIDE_JUMP, lib.KP_WIDE_CHANCE)) == BARS
    assert lib.KP_TIED == TIED
    assert lib.KP_MOST_LEVELS == MOST_LEVELS
    assert (lib.KP_LEAVING, lib.KP_STAYING, lib.KP_SHARE) == (2 * LEAVING, 2 * STAYING, 2 * SHARE)
    assert lib.KP_FEWEST_RETURNS == FEWEST_RETURNS
    assert (lib.KP_SLOPE, lib.KP_GRID, lib.KP_NEARBY) == (SHORTEST, GRID, NEAR)
    assert lib.KP_LARGEST_TIED == LARGEST_TIED
    assert list(NoteKind) == [lib.KP_SPLIT, lib.KP_REFUSED, lib.KP_INSIGNIFICANT, lib.KP_TOO_SMALL, lib.KP_STAYS]
    assert (lib.KP_LOST, lib.KP_WILD) == (LOST, WILD)
    assert BLOCK % lib.kp_pack_rows() == 0
