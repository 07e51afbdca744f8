"""Run a method on one series: look the method up, check its parameters and the values, and return what it found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from knickpoint.detect.measured_series import check_series
from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.registry import load_method
from knickpoint.detect.samples import combine_samples, with_sample_evidence, with_sample_facts
from knickpoint.model.errors import SeriesError
from knickpoint.model.step import Detection, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = ["explain", "find_steps"]


def explain(
    values: ArrayLike | None, *, method: str = "default", samples: Any = None, **parameters: object
) -> Detection:
    """Return everything that ``method`` decides about one series: steps, candidates, parameters, facts.

    ``values`` is 1-D, in the order of the commits, ``nan`` for missing; durations are taken in seconds. ``samples`` has an entry for each commit: an array of the
    samples of its run, or a list of arrays, one for each run. A commit's value is then that of its samples
    (:class:`~knickpoint.detect.samples.Samples`, :func:`~knickpoint.detect.samples.combine_samples`), and the one in ``values`` where it has none; ``values`` may be None.
    ``parameters`` are those of the method, and ``preset``; text is converted as
    :mod:`knickpoint.detect.parameters` says.

    Raises:
        SeriesError: the values are not one series of finite or missing numbers, or the samples are not those of its commits.
        InputError: no such method, preset or parameter, or a value that the parameter cannot take.
    """
    chosen: Method[Detection] = load_method(method, MethodKind.SERIES)
    arguments = chosen.arguments(parameters)
    reported = chosen.reported_parameters(parameters, arguments)
    if samples is None:
        detection = chosen.detect(_required(values), **arguments)
    else:
        commits = combine_samples(samples, values)
        detection = with_sample_facts(chosen.detect(commits.values, **arguments), commits)
    steps = tuple(_labelled(detection.steps, samples if values is None else values))
    return replace(detection, steps=steps, parameters={**reported, **detection.parameters})


def find_steps(
    values: ArrayLike | None, *, method: str = "default", samples: Any = None, **parameters: object
) -> list[Step]:
    """Return the steps of one series, sorted by index; arguments and errors are those of :func:`explain`.

    The ``kind`` of a step says whether it is a step or, for example, the start of a drift. Its ``label`` is its place in the
    index of a pandas series.
    """
    chosen: Method[Detection] = load_method(method, MethodKind.SERIES)
    arguments = chosen.arguments(parameters)
    if samples is None:
        found = list(chosen.detect(_required(values), **arguments, **chosen.without_candidates).steps)
    else:
        commits = combine_samples(samples, values)
        steps = chosen.detect(commits.values, **arguments, **chosen.without_candidates).steps
        found = [with_sample_evidence(step, commits) for step in steps]
    return _labelled(found, samples if values is None else values)


def _labelled(steps: Sequence[Step], values: Any) -> list[Step]:
    """Give each of ``steps`` its label where ``values`` have an index, as series of pandas do."""
    if not hasattr(values, "iloc"):
        return list(steps)
    return [replace(step, label=values.index[step.index]) for step in steps]


def _required(values: ArrayLike | None) -> NDArray[np.float64]:
    if values is None:
        raise SeriesError("there are neither values nor samples", remedy="Give one value a commit, or samples.")
    return check_series(values)
