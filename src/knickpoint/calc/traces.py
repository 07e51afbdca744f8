"""The traces that formulas work on: a row of values for each, with its id."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["FORMULA_SIGN", "Traces", "formula_id", "plain"]

FORMULA_SIGN = "@"
"""Ids of calculated traces begin with it; trace keys never do."""


@dataclass(frozen=True, eq=False)
class Traces:
    """Hold ``values`` (traces x commits, float64, ``nan`` for missing) and the id of each row.

    An id is a trace key, or the text of a formula behind ``@``. ``origins`` are the trace keys that the rows
    were calculated from, "" where that is not a single trace; by default they are the ids that are trace keys.
    """

    ids: tuple[str, ...]
    values: NDArray[np.float64]
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Fill in the origins."""
        if not self.origins:
            keys = tuple("" if identity.startswith(FORMULA_SIGN) else identity for identity in self.ids)
            object.__setattr__(self, "origins", keys)

    def __len__(self) -> int:
        """Count the traces."""
        return len(self.ids)

    def map_values(self, name: str, function: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Traces:
        """Return the traces with ``function`` of their values; ids become ``name(id)``."""
        ids = tuple(formula_id(f"{name}({plain(identity)})") for identity in self.ids)
        return Traces(ids, function(self.values), self.origins)


def plain(identity: str) -> str:
    """Return an id without the sign of formulas, for use inside the text of another formula."""
    return identity.removeprefix(FORMULA_SIGN)


def formula_id(text: str) -> str:
    """Return the id of the trace that the formula ``text`` calculates."""
    return FORMULA_SIGN + text
