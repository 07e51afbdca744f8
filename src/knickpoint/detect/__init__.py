"""Find steps in benchmark series: arrays in, frozen results out, no input or output in between.

::

    from knickpoint.detect import find_steps

    for step in find_steps(values):                    # 1-D, nan where a commit has no value
        print(step.kind.value, step.index, step.relative_size)

``summarise`` makes one value a commit of samples, such as their 99th percentile. ``find_steps`` takes one series,
``find_steps_many`` a frame of traces x commits, and ``explain`` gives everything that a method decided.
``explain_jointly`` looks at several series together, ``find_clusters`` groups those of one shape. Each method is a
function of this package, too: ``e_divisive(values, …)`` is ``explain(values, method="e_divisive", …)``.
"""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Final

from knickpoint.detect.batch import (
    explain,
    explain_jointly,
    find_clusters,
    find_steps,
    find_steps_jointly,
    find_steps_many,
    find_steps_without_evidence,
)
from knickpoint.detect.local_levels import estimate_sizes
from knickpoint.detect.method import Method, MethodKind
from knickpoint.detect.registry import (
    METHODS,
    judges_groups,
    load_method,
    makes_clusters,
    package_of,
    parameters_of,
    presets_of,
)
from knickpoint.detect.samples import summarise

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "METHODS",
    "Method",
    "MethodKind",
    "catapult",
    "cluster",
    "e_divisive",
    "e_divisive_joint",
    "estimate_sizes",
    "explain",
    "explain_jointly",
    "find_clusters",
    "find_steps",
    "find_steps_jointly",
    "find_steps_many",
    "find_steps_without_evidence",
    "judge",
    "judges_groups",
    "load_method",
    "makes_clusters",
    "modes",
    "package_of",
    "parameters_of",
    "presets_of",
    "siblings",
    "step_fit",
    "summarise",
    "t_test",
    "threshold",
]

_RUN: Final[Mapping[MethodKind, Callable[..., object]]] = {
    MethodKind.SERIES: explain,
    MethodKind.JOINT: explain_jointly,
    MethodKind.GROUP: find_clusters,
}


def _function_of(name: str) -> Callable[..., object]:
    """Return the function of the method ``name``: its documentation and signature, with its parameters checked."""
    method = load_method(name)
    run = _RUN[method.kind]

    @wraps(method.detect)
    def detect(*series: Any, **parameters: Any) -> object:
        return run(*series, method=name, **parameters)

    detect.__name__ = detect.__qualname__ = name
    return detect


def __getattr__(name: str) -> Any:
    """Import a method, or ``judge``, when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "judge":
        from knickpoint.detect.judgement import judge

        found: Any = judge
    else:
        found = _function_of(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the public names, those not yet imported included."""
    return sorted(__all__)
