"""The methods by name. Their modules are imported when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from typing import Any, Final

from knickpoint.detect.parameters import CANDIDATES, Value, describe
from knickpoint.model.errors import InputError
from knickpoint.model.step import Detection, Step

__all__ = ["METHODS", "TOGETHER", "Method", "describe_method", "load_method"]

METHODS: Final[Mapping[str, str]] = {
    "catapult": "knickpoint.detect.methods.catapult.method",
    "default": "knickpoint.detect.methods.default.method",
    "e_divisive": "knickpoint.detect.methods.e_divisive.method",
    "modes": "knickpoint.detect.methods.modes.method",
    "step_fit": "knickpoint.detect.methods.step_fit.method",
    "t_test": "knickpoint.detect.methods.t_test.method",
    "threshold": "knickpoint.detect.methods.threshold.method",
}
"""Method name to module. The module defines ``detect_NAME``, and may define ``PRESETS`` (name of a preset
to parameters), ``THREADS`` (True when nearly all its time is spent in kernels, which let other threads run), and
``detect_NAME_many``, which takes some rows of a frame at once and returns the steps of each."""

TOGETHER: Final[Mapping[str, str]] = {
    "cluster": "knickpoint.detect.methods.cluster.method",
    "e_divisive_joint": "knickpoint.detect.methods.e_divisive.joint",
}
"""What looks at many series at once: name to module, which defines a function of this name and ``PRESETS``."""


@dataclass(frozen=True, slots=True)
class Method:
    """Hold a method's function, its presets, and whether threads share the work of many series.

    ``lean`` are the arguments that leave out what only ``explain`` wants. ``detect_many`` gives the same steps for
    many rows in less time than one by one.
    """

    name: str
    detect: Callable[..., Detection]
    presets: Mapping[str, Mapping[str, Value]]
    threads: bool
    lean: Mapping[str, bool]
    detect_many: Callable[..., Sequence[Sequence[Step]]] | None


def _canonical(name: object) -> str:
    return str(name).strip().replace("-", "_")


@cache
def load_method(name: str) -> Method:
    """Import the method ``name``; hyphens count as underscores.

    Raises:
        InputError: there is no such method.
    """
    canonical = _canonical(name)
    if canonical not in METHODS:
        raise InputError(
            f"there is no method {name!r}",
            remedy=f"The methods for one series are: {', '.join(sorted(METHODS))}; for many: {', '.join(sorted(TOGETHER))}.",
        )
    module: Any = import_module(METHODS[canonical])
    detect: Callable[..., Detection] = getattr(module, f"detect_{canonical}")
    return Method(
        name=canonical,
        detect=detect,
        presets=getattr(module, "PRESETS", {}),
        threads=getattr(module, "THREADS", False),
        lean={CANDIDATES: False} if CANDIDATES in signature(detect).parameters else {},
        detect_many=getattr(module, f"detect_{canonical}_many", None),
    )


def describe_method(name: str) -> tuple[dict[str, Value], Mapping[str, Mapping[str, Value]]]:
    """Return the parameters of a method with their defaults, and its presets; of what looks at many series, too.

    Raises:
        InputError: there is no such method.
    """
    canonical = _canonical(name)
    if canonical in TOGETHER:
        module: Any = import_module(TOGETHER[canonical])
        return describe(getattr(module, canonical)), module.PRESETS
    method = load_method(name)
    return describe(method.detect), method.presets
