"""Run a method: on one series, on several at once, or on many, on every core."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from knickpoint.detect.measured_series import available_threads, check_frame, check_series
from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.registry import load_method
from knickpoint.detect.samples import combine_samples, with_sample_evidence, with_sample_facts
from knickpoint.model.errors import InputError, SeriesError
from knickpoint.model.frame import Frame
from knickpoint.model.step import Detection, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from knickpoint.model.cluster import Cluster


# Run a method on many series: the same steps as one by one, on every core.


_PROCESSES_FROM: Final = 1_000_000
"""Values in a frame from which starting processes (about 0.3 s each) pays for a method that threads do not speed up."""

_BLOCK: Final = 64
"""Series in a task: enough to make its overhead small, few enough to keep all cores busy until the end."""


def _block(
    frame: NDArray[np.float64], first: int, *, method: Method[Detection], arguments: dict[str, Any]
) -> list[list[Step]]:
    """Return the steps of each row of a block; ``first`` is its first row in the whole frame."""
    if method.detect_many is not None:
        return [list(steps) for steps in method.detect_many(frame, **arguments)]
    steps: list[list[Step]] = []
    for row, values in enumerate(frame, start=first):
        try:
            steps.append(list(method.detect(values, **arguments, **method.without_candidates).steps))
        except SeriesError as error:
            where = f"trace {row}, {error.where}" if error.where else f"trace {row}"
            raise SeriesError(error.message, where=where, remedy=error.remedy) from error
    return steps


def _process_block(frame: NDArray[np.float64], first: int, *, name: str, arguments: dict[str, Any]) -> list[list[Step]]:
    return _block(frame, first, method=load_method(name), arguments=arguments)


def _in_blocks(frame: NDArray[np.float64], size: int) -> Iterator[tuple[NDArray[np.float64], int]]:
    return ((frame[first : first + size], first) for first in range(0, len(frame), size))


def _in_this_thread(
    chosen: Method[Detection], frame: NDArray[np.float64], arguments: dict[str, Any]
) -> list[list[Step]]:
    blocks = _in_blocks(frame, _BLOCK)
    return list(
        chain.from_iterable(_block(block, first, method=chosen, arguments=arguments) for block, first in blocks)
    )


def _in_parallel(
    chosen: Method[Detection], frame: NDArray[np.float64], arguments: dict[str, Any], workers: int
) -> list[list[Step]]:
    size = max(1, min(_BLOCK, -(-len(frame) // (4 * workers))))
    blocks, firsts = zip(*_in_blocks(frame, size), strict=True)
    if chosen.releases_gil:
        from concurrent.futures import ThreadPoolExecutor

        run: Callable[..., list[list[Step]]] = partial(_block, method=chosen, arguments=arguments)
        with ThreadPoolExecutor(workers) as threads:
            return list(chain.from_iterable(threads.map(run, blocks, firsts)))
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    run = partial(_process_block, name=chosen.name, arguments=arguments)
    try:
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as processes:
            return list(chain.from_iterable(processes.map(run, blocks, firsts)))
    except BrokenProcessPool:
        warnings.warn(
            "processes cannot be started here, so one thread does the work; "
            'call find_steps_many under if __name__ == "__main__", or give threads=1',
            RuntimeWarning,
            stacklevel=3,
        )
        return _in_this_thread(chosen, frame, arguments)


def find_steps_many(
    frame: ArrayLike | Frame, *, method: str = "default", threads: int | None = None, **parameters: object
) -> list[list[Step]]:
    """Return the steps of every trace of ``frame``: one of the store, or a matrix of traces x commits.

    ``nan`` is missing in a matrix.

    The steps are those of :func:`knickpoint.detect.find_steps` on each row, whatever ``threads`` is; None uses every
    core. A method that does not spend its time in kernels runs in processes instead of threads when the frame is large.
    A program that calls this from its top level then needs ``if __name__ == "__main__":``, or ``threads=1``.

    Raises:
        SeriesError: the frame is not a matrix of finite or missing numbers.
        InputError: as :func:`knickpoint.detect.explain`, or fewer than one thread.
    """
    chosen: Method[Detection] = load_method(method, MethodKind.SERIES)
    return _found(chosen, frame, chosen.arguments(parameters), threads)


def find_steps_without_evidence(
    frame: ArrayLike | Frame, method: str, parameters: Mapping[str, object], *, threads: int | None = None
) -> list[list[Step]]:
    """Return the steps that :func:`find_steps_many` returns, without the evidence that only people read.

    A method may leave out of the evidence what programs do not need, and takes less time then. The errors are the same.
    """
    chosen: Method[Detection] = load_method(method, MethodKind.SERIES)
    return _found(chosen, frame, {**chosen.arguments(parameters), **chosen.without_evidence}, threads)


def _found(
    chosen: Method[Detection], frame: ArrayLike | Frame, arguments: dict[str, Any], threads: int | None
) -> list[list[Step]]:
    """Return the steps of every trace, with as many threads or processes as pay."""
    matrix = check_frame(frame.values if isinstance(frame, Frame) else frame)
    workers = available_threads() if threads is None else threads
    if workers < 1:
        raise InputError(f"threads is {threads}", remedy="Give 1 or more, or leave it out to use every core.")
    workers = min(workers, len(matrix))
    if workers <= 1 or not (chosen.releases_gil or matrix.size >= _PROCESSES_FROM):
        return _in_this_thread(chosen, matrix, arguments)
    return _in_parallel(chosen, matrix, arguments, workers)


# Run a method on one series: look the method up, check its parameters and the values, and return what it found.


def explain(
    values: ArrayLike | None, *, method: str = "default", samples: Any = None, **parameters: object
) -> Detection:
    """Return everything that ``method`` decides about one series: steps, candidates, parameters, facts.

    ``values`` is 1-D, in the order of the commits, ``nan`` for missing; durations are taken in seconds. ``samples`` has
    an entry for each commit: an array of the samples of its run, or a list of arrays, one for each run. A commit's
    value is then that of its samples (:class:`~knickpoint.detect.samples.Samples`,
    :func:`~knickpoint.detect.samples.combine_samples`), and the one in ``values`` where it has none; ``values`` may be
    None. ``parameters`` are those of the method, and ``preset``; text is converted as :mod:`knickpoint.detect.method`
    says.

    Raises:
        SeriesError: the values are not one series of finite or missing numbers, or the samples are not those of its
            commits.
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

    The ``kind`` of a step says whether it is a step or, for example, the start of a drift. Its ``label`` is its place
    in the index of a pandas series.
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


# Run a method on several series at once: jointly, or to group those of one shape.


def explain_jointly(
    frame: ArrayLike | Frame,
    keys: Iterable[str] | None = None,
    /,
    *,
    method: str = "e_divisive_joint",
    **parameters: object,
) -> list[Detection]:
    """Return the decisions of ``method`` about several series together: one detection for each row of ``frame``.

    ``frame`` is traces x commits, ``nan`` for missing; ``keys`` are the trace keys of its rows, those of the frame by
    default, for methods that learn from params. ``parameters`` and errors are those of
    :func:`knickpoint.detect.explain`.
    """
    chosen: Method[list[Detection]] = load_method(method, MethodKind.JOINT)
    arguments = chosen.arguments(parameters)
    reported = chosen.reported_parameters(parameters, arguments)
    return [
        replace(detection, parameters={**reported, **detection.parameters})
        for detection in _detect(chosen, frame, keys, arguments)
    ]


def find_steps_jointly(
    frame: ArrayLike | Frame, keys: Iterable[str] | None = None, /, *, method: str, **parameters: object
) -> list[tuple[Step, ...]]:
    """Return the steps of each row of ``frame`` by a ``method`` that looks at several series together.

    The arguments and errors are those of :func:`explain_jointly`, which also says what was rejected.
    """
    chosen: Method[list[Detection]] = load_method(method, MethodKind.JOINT)
    found = _detect(chosen, frame, keys, {**chosen.arguments(parameters), **chosen.without_candidates})
    return [detection.steps for detection in found]


def _detect(
    chosen: Method[list[Detection]],
    frame: ArrayLike | Frame,
    keys: Iterable[str] | None,
    arguments: Mapping[str, Any],
) -> list[Detection]:
    return chosen.detect(frame, keys, **arguments) if chosen.takes_keys else chosen.detect(frame, **arguments)


def find_clusters(
    frame: ArrayLike | Frame, keys: Iterable[str] | None = None, *, method: str = "cluster", **parameters: object
) -> list[Cluster]:
    """Return the clusters that ``method`` makes of the traces of ``frame``, those with the strongest step first.

    ``frame`` is traces x commits, ``nan`` for missing; ``keys`` are the trace keys of its rows, those of the frame by
    default. ``parameters`` and errors are those of :func:`knickpoint.detect.explain`.
    """
    chosen: Method[list[Cluster]] = load_method(method, MethodKind.GROUP)
    return chosen.detect(frame, keys, **chosen.arguments(parameters))
