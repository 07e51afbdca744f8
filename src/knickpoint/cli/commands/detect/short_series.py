"""Say which series have too few values for a step, for ``knick detect``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from knickpoint.cli.commands.detect.positions import names_positions
from knickpoint.cli.commands.detect.series_csv import NamedSeries
from knickpoint.model.plain_text import counted

__all__ = ["too_few_values"]

_MOST_NAMED: Final = 5
"""Series that get a line each."""


def too_few_values(series: Sequence[NamedSeries], method: str, parameters: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each series in which ``method`` cannot find a step, because it has too few values: has and needs."""
    from knickpoint.detect import load_method

    named = {name: text for name, text in parameters.items() if not names_positions({name: text})}
    fewest = load_method(method).fewest_values(named)
    measured = [(each.id, int(np.count_nonzero(~np.isnan(each.values)))) for each in series]
    short = [(name, count) for name, count in measured if count < fewest]
    for name, count in short[:_MOST_NAMED]:
        which = f"series {name!r}" if name else "the series"
        yield f"{which} has too few values: {count}; the method {method} needs at least {fewest} to find a step"
    if len(short) > _MOST_NAMED:
        yield f"{counted(len(short) - _MOST_NAMED, 'more series has', 'more series have')} too few values"
