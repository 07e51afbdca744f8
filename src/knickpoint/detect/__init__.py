"""Find steps in benchmark series: arrays in, frozen results out, no input or output in between.

::

    from knickpoint.detect import find_steps

    for step in find_steps(values):                    # 1-D, nan where a commit has no value
        print(step.index, step.relative_size)

``find_steps`` is the one door for one series, ``find_steps_many`` for a frame of traces x commits, and
``explain`` gives everything that a method decided. The methods are functions of this package, too, and
accept what ``find_steps`` does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from knickpoint.detect.batch import find_steps_many
from knickpoint.detect.registry import METHODS, TOGETHER
from knickpoint.detect.single_series import explain, find_steps, parameters_of, presets_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from knickpoint.model.step import Detection

__all__ = [
    "METHODS",
    "TOGETHER",
    "catapult",
    "cluster",
    "e_divisive",
    "e_divisive_joint",
    "explain",
    "find_steps",
    "find_steps_many",
    "judge",
    "modes",
    "parameters_of",
    "presets_of",
    "step_fit",
    "t_test",
    "threshold",
]

_ELSEWHERE: Final = {
    "judge": "knickpoint.detect.judgement",
    **TOGETHER,
}


def _method(name: str) -> Callable[..., Detection]:
    from knickpoint.detect.registry import load_method

    @wraps(load_method(name).detect)
    def detect(values: ArrayLike, **parameters: Any) -> Detection:
        return explain(values, method=name, **parameters)

    detect.__name__ = detect.__qualname__ = name
    return detect


def __getattr__(name: str) -> Any:
    """Import a method when it is first asked for."""
    if name in METHODS and name in __all__:
        found: Any = _method(name)
    elif name in _ELSEWHERE:
        found = getattr(import_module(_ELSEWHERE[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the public names, those not yet imported included."""
    return sorted(__all__)
