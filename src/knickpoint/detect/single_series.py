"""Run a method on one series: look the method up, check its parameters and the values, and return what it found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from knickpoint.detect.measured_series import check_series
from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.registry import load_method
from knickpoint.model.step import Detection, Step

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["explain", "find_steps"]


def explain(values: ArrayLike, *, method: str = "default", **parameters: object) -> Detection:
    """Return everything that ``method`` decides about one series: steps, candidates, parameters, facts.

    ``values`` is 1-D, in the order of the commits, ``nan`` for missing. ``parameters`` are those of the
    method, and ``preset``; text is converted as :mod:`knickpoint.detect.parameters` says.

    Raises:
        SeriesError: the values are not one series of finite or missing numbers.
        InputError: no such method, preset or parameter, or a value that the parameter cannot take.
    """
    chosen: Method[Detection] = load_method(method, MethodKind.SERIES)
    arguments = chosen.arguments(parameters)
    detection = chosen.detect(check_series(values), **arguments)
    reported = chosen.reported_parameters(parameters, arguments)
    return replace(detection, parameters={**reported, **detection.parameters})


def find_steps(values: ArrayLike, *, method: str = "default", **parameters: object) -> list[Step]:
    """Return the steps of one series, sorted by index; arguments and errors are those of :func:`explain`."""
    chosen: Method[Detection] = load_method(method, MethodKind.SERIES)
    arguments = chosen.arguments(parameters)
    return list(chosen.detect(check_series(values), **arguments, **chosen.without_candidates).steps)
