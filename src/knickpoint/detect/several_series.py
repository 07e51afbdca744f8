"""Run a method on several series at once: jointly, or to group those of one shape."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.registry import load_method
from knickpoint.model.step import Detection, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import ArrayLike

    from knickpoint.model.cluster import Cluster
    from knickpoint.model.frame import Frame

__all__ = ["explain_jointly", "find_clusters", "find_steps_jointly"]


def explain_jointly(
    frame: ArrayLike | Frame,
    keys: Iterable[str] | None = None,
    /,
    *,
    method: str = "e_divisive_joint",
    **parameters: object,
) -> list[Detection]:
    """Return what ``method`` decides about several series together: one detection for each row of ``frame``.

    ``frame`` is traces x commits, ``nan`` for missing; ``keys`` are the trace keys of its rows, those of the frame by
    default, for methods that learn from params. ``parameters`` and errors are those of :func:`knickpoint.detect.explain`.
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
