"""The door for one series: a method by name, its parameters checked, its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from numpy.typing import ArrayLike

from knickpoint.detect.parameters import Value, describe, resolve
from knickpoint.detect.registry import load_method
from knickpoint.detect.series import check_series
from knickpoint.model.step import Detection, Step

__all__ = ["explain", "find_steps", "parameters_of", "presets_of"]


def explain(values: ArrayLike, *, method: str = "default", **parameters: object) -> Detection:
    """Return everything that ``method`` decides about one series: steps, candidates, parameters, facts.

    ``values`` is 1-D, in the order of the commits, ``nan`` for missing. ``parameters`` are those of the
    method, and ``preset``; text is converted as :mod:`knickpoint.detect.parameters` says.

    Raises:
        SeriesError: the values are not one series of finite or missing numbers.
        InputError: no such method, preset or parameter, or a value that the parameter cannot take.
    """
    chosen = load_method(method)
    arguments = resolve(chosen.detect, chosen.name, chosen.presets, parameters)
    detection = chosen.detect(check_series(values), **arguments)
    preset = parameters.get("preset")
    return replace(detection, parameters={**detection.parameters, "preset": str(preset)}) if preset else detection


def find_steps(values: ArrayLike, *, method: str = "default", **parameters: object) -> list[Step]:
    """Return the steps of one series, sorted by index; arguments and errors are those of :func:`explain`."""
    return list(explain(values, method=method, **parameters).steps)


def parameters_of(method: str) -> dict[str, Value]:
    """Return the parameters of ``method`` with their defaults. Raises ``InputError`` when there is no such method."""
    return describe(load_method(method).detect)


def presets_of(method: str) -> Mapping[str, Mapping[str, Value]]:
    """Return the presets of ``method``: name to parameters. Raises ``InputError`` as :func:`parameters_of`."""
    return load_method(method).presets
