"""What C and Python both know is the same in both."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

import knickpoint.native
from knickpoint.model.distribution import MAD
from knickpoint.native import COMPILED
from knickpoint.native.kmeans import BLOCK
from knickpoint.native.modes import FEWEST_RETURNS, LEAVING, MOST_LEVELS, SHARE, STAYING
from knickpoint.native.q_hat import TIED
from knickpoint.native.ranks import LARGEST_TIED
from knickpoint.native.segmentation import BARS, FEATURE_NAMES, constants
from knickpoint.native.segmentation.search import PROOFS
from knickpoint.native.trend.reference import GRID, NEAR, SHORTEST
from knickpoint.native.windows import NoteKind

pytestmark = pytest.mark.skipif(not COMPILED, reason="the kernels are not compiled")

MODULES = [info.name for info in pkgutil.walk_packages(knickpoint.native.__path__, "knickpoint.native.")]
KERNELS = [name for name in MODULES if not name.endswith("._kernels")]


def _twins() -> dict[str, tuple[Callable[..., Any], Callable[..., Any]]]:
    """Return the functions in C and in NumPy by the name that both have."""
    functions = {name: each for module in KERNELS for name, each in vars(import_module(module)).items()}
    names = {name.removesuffix("_in_c") for name in functions if name.endswith("_in_c")}
    return {name: (functions[f"{name}_in_c"], functions[f"{name}_in_numpy"]) for name in sorted(names)}


def _parameters(function: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    parameters = inspect.signature(function).parameters.values()
    return [(parameter.name, parameter.kind, parameter.default) for parameter in parameters]


def test_a_kernel_has_twins_of_the_same_signature() -> None:
    pairs = _twins()
    assert {"compare_ranks", "segment", "take_parts"} <= set(pairs)
    assert [name for name, (compiled, numpy) in pairs.items() if _parameters(compiled) != _parameters(numpy)] == []


def test_features_have_the_same_names_in_the_same_order() -> None:
    from knickpoint.native.extension import lib

    names = [lib.kp_segment_feature_name(i) for i in range(lib.kp_segment_features())]
    assert tuple(names) == FEATURE_NAMES
    assert lib.kp_segment_proofs() == PROOFS


def test_the_constants_of_the_search_are_the_same() -> None:
    from knickpoint.native.extension import lib

    here = {name: value for name, value in vars(constants).items() if name.isupper() and name != "BARS"} | {"MAD": MAD}
    assert here == {name: getattr(lib, f"KP_{name}") for name in here}


def test_the_other_constants_are_the_same() -> None:
    from knickpoint.native.extension import lib
    from knickpoint.native.points import LOST, WILD

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
