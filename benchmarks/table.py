"""Print what a benchmark measured as a table, and write it to ``build/bench/NAME.json``.

A row says what was measured, ours and the peer's figure, and what we want to reach. Whether it is reached
is computed here and nowhere else; a row that lacks a figure it needs is ``not measured``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

__all__ = ["Reach", "Row", "finish", "one_line"]

_BUILD = Path(__file__).resolve().parent.parent / "build" / "bench"


class Reach(Enum):
    """Say which figure is compared with the bound, and in which direction."""

    TIMES_LESS = "peer / ours >= "
    TIMES_MORE = "ours / peer >= "
    AT_MOST_TIMES = "ours / peer <= "
    AT_MOST = "ours <= "
    AT_LEAST = "ours >= "
    SHOWN = ""

    @property
    def needs_peer(self) -> bool:
        """Whether the peer's figure takes part."""
        return "peer" in self.value


@dataclass(frozen=True, slots=True)
class Row:
    """Hold one measurement; None is a figure that could not be measured.

    ``reach`` and ``bound`` belong together: ``Reach.TIMES_LESS, 40`` is reached when the peer's figure is
    at least 40 times ours. ``Reach.SHOWN`` compares nothing.
    """

    measure: str
    unit: str
    ours: float | None
    peer: float | None = None
    peer_name: str = ""
    reach: Reach = Reach.SHOWN
    bound: float = 0.0

    @property
    def ratio(self) -> float | None:
        """Peer / ours where less is wanted by a factor, else ours / peer."""
        if self.ours is None or self.peer is None:
            return None
        above, below = (self.peer, self.ours) if self.reach is Reach.TIMES_LESS else (self.ours, self.peer)
        return above / below if below else None

    @property
    def reached(self) -> bool | str | None:
        """True or false; None where nothing is compared; ``"not measured"`` where a figure is missing."""
        if self.reach is Reach.SHOWN:
            return None
        figure = self.ratio if self.reach.needs_peer else self.ours
        if figure is None:
            return "not measured"
        return figure <= self.bound if "<=" in self.reach.value else figure >= self.bound

    def as_json(self) -> dict[str, object]:
        """Return the row as the benchmark files hold it."""
        return {
            "measure": self.measure,
            "unit": self.unit,
            "ours": self.ours,
            "peer": self.peer,
            "peer_name": self.peer_name,
            "ratio": self.ratio,
            "reach": f"{self.reach.value}{self.bound:g}" if self.reach is not Reach.SHOWN else None,
            "reached": self.reached,
        }


def _text(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "NO"
        case float() | int():
            return f"{value:.4g}"
        case _:
            return str(value)


def one_line(row: Row) -> str:
    """Return a row as a line of its own, to print while others are still measured."""
    peer = f" / {_text(row.peer)} = {_text(row.ratio)}" if row.peer is not None else ""
    wanted = f"; {row.reach.value}{row.bound:g}: {_text(row.reached)}" if row.reach is not Reach.SHOWN else ""
    return f"{row.measure}: {_text(row.ours)}{peer} {row.unit}".rstrip() + wanted


def finish(name: str, rows: Sequence[Row], *, only: Sequence[str] = ()) -> None:
    """Print ``rows`` and write them to ``build/bench/NAME.json``, whole or not at all.

    ``only`` names the parts a partial run was asked for; it then prints, and leaves the file alone.
    """
    records = [row.as_json() for row in rows]
    heads = list(records[0]) if records else ["measure"]
    cells = [heads, *([_text(record[head]) for head in heads] for record in records)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(heads))]
    for number, line in enumerate(cells):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
        if not number:
            print("  ".join("-" * width for width in widths))
    if only:
        print(f"A run of {', '.join(only)} only; {name}.json stays as it was.", file=sys.stderr)
        return
    _BUILD.mkdir(parents=True, exist_ok=True)
    part = _BUILD / f"{name}.json.part"
    part.write_text(json.dumps(records, indent=1, allow_nan=False) + "\n")
    part.replace(_BUILD / f"{name}.json")
