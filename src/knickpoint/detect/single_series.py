"""The door for one series: a method by name, its parameters checked, its answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from knickpoint.detect.measured_series import check_series
from knickpoint.detect.parameters import Value, effective, resolve
from knickpoint.detect.registry import Method, describe_method, load_method
from knickpoint.model.step import Detection, Step

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike

__all__ = ["explain", "find_steps", "parameters_of", "presets_of"]


def _prepare(method: str, parameters: Mapping[str, object]) -> tuple[Method, dict[str, Any]]:
    chosen = load_method(method)
    return chosen, resolve(chosen.detect, chosen.name, chosen.presets, parameters)


def explain(values: ArrayLike, *, method: str = "default", **parameters: object) -> Detection:
    """Return everything that ``method`` decides about one series: steps, candidates, parameters, facts.

    ``values`` is 1-D, in the order of the commits, ``nan`` for missing. ``parameters`` are those of the
    method, and ``preset``; text is converted as :mod:`knickpoint.detect.parameters` says.

    Raises:
        SeriesError: the values are not one series of finite or missing numbers.
        InputError: no such method, preset or parameter, or a value that the parameter cannot take.
    """
    chosen, arguments = _prepare(method, parameters)
    detection = chosen.detect(check_series(values), **arguments)
    kept = {
        name: ",".join(str(item) for item in value) if isinstance(value, tuple) else value
        for name, value in effective(chosen.detect, arguments).items()
    }
    if parameters.get("preset"):
        kept["preset"] = str(parameters["preset"])
    return replace(detection, parameters={**kept, **detection.parameters})


def find_steps(values: ArrayLike, *, method: str = "default", **parameters: object) -> list[Step]:
    """Return the steps of one series, sorted by index; arguments and errors are those of :func:`explain`."""
    chosen, arguments = _prepare(method, parameters)
    return list(chosen.detect(check_series(values), **arguments, **chosen.lean).steps)


def parameters_of(method: str) -> dict[str, Value]:
    """Return the parameters of ``method`` with their defaults. Raises ``InputError`` when there is no such method."""
    return describe_method(method)[0]


def presets_of(method: str) -> Mapping[str, Mapping[str, Value]]:
    """Return the presets of ``method``: name to parameters. Raises ``InputError`` as :func:`parameters_of`."""
    return describe_method(method)[1]
