"""Say which series have too few values for a step, for ``knick detect``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import click
import numpy as np

from knickpoint.cli.commands.detect.positions import names_positions
from knickpoint.cli.exit_codes import NO_DATA
from knickpoint.cli.verbosity import note
from knickpoint.formats.series import NamedSeries
from knickpoint.model.plain_text import counted

__all__ = ["end_if_too_short"]

_MOST_NAMED: Final = 5
"""Series that get a line each."""


def end_if_too_short(series: Sequence[NamedSeries], method: str, parameters: Mapping[str, str]) -> None:
    """Print which series have too few values for ``method``, and end the command where that is all of them.

    Raises:
        click.exceptions.Exit: no series could be judged.
    """
    from knickpoint.detect import load_method

    named = {name: text for name, text in parameters.items() if not names_positions({name: text})}
    fewest = load_method(method).fewest_values(named)
    measured = [(each.id, int(np.count_nonzero(~np.isnan(each.values)))) for each in series]
    short = [(name, count) for name, count in measured if count < fewest]
    if len(short) < len(measured):
        for line in _lines(short, method, fewest):
            note(line, err=True)
        return
    for line in _lines(short, method, fewest):
        click.echo(f"knick: {line}", err=True)
    raise click.exceptions.Exit(NO_DATA)


def _lines(short: Sequence[tuple[str, int]], method: str, fewest: int) -> Iterator[str]:
    for name, count in short[:_MOST_NAMED]:
        which = f"series {name!r}" if name else "the series"
        yield f"{which} has too few values: {count}; the method {method} needs at least {fewest} to find a step"
    if len(short) > _MOST_NAMED:
        yield f"{counted(len(short) - _MOST_NAMED, 'more series has', 'more series have')} too few values"
