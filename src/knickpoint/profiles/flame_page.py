"""Write the page of a difference: a differential flame graph and a table of functions in one file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any, Final

from knickpoint.model.quantity_text import scale_for
from knickpoint.profiles.difference import Difference
from knickpoint.profiles.profile import Profile
from knickpoint.profiles.sides import Function, match, side_of

_SMALLEST_SHARE: Final = 1e-5
"""Stacks below this share of the whole cost are left out of the page: no screen has as many pixels."""
_DIGITS: Final = 6

Key = tuple[str, str, int]
"""Name, file and line of a function as the difference has it."""


def flame_page(found: Difference, before: Sequence[Profile], after: Sequence[Profile], title: str) -> str:
    """Return the page as HTML: what the profiles and the title say is text there, whatever it has in it."""
    place = files("knickpoint.profiles").joinpath("page")
    style, script, page = (
        place.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "flame.js", "page.html")
    )
    data = json.dumps(flame_data(found, before, after), ensure_ascii=True, separators=(",", ":")).replace(
        "<", "\\u003c"
    )
    texts = {"title": escape(title), "sentence": escape(found.sentence), "style": style, "script": script, "data": data}
    head, *parts = page.split("{{")
    return head + "".join(texts[name] + rest for name, rest in (part.split("}}", 1) for part in parts))


def flame_data(found: Difference, before: Sequence[Profile], after: Sequence[Profile]) -> dict[str, Any]:
    """Lay the functions and the stacks of both sides out as plain values, for the graph to draw."""
    whole = max(found.total.before, found.total.after)
    scale = scale_for(whole, found.unit)
    tree = _Tree(found, before, after, whole * _SMALLEST_SHARE)
    return {
        "unit": scale.unit,
        "divisor": scale.divisor,
        "whole": _short(whole),
        "note": f"Stacks below {100 * _SMALLEST_SHARE:g} % are left out." if tree.cut else "",
        "functions": [
            [
                each.name, each.place, each.former, *map(_short, (
                    each.own.before, each.own.after, each.total.before, each.total.after, each.explained.difference,
                    each.explained.low, each.explained.high,
                )), each.state.value, each.partner,
            ]
            for each in found.functions
        ],
        **tree.columns(),
    }  # fmt: skip


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


class _Tree:
    """The stacks of both sides in one tree, with the mean cost of each side."""

    def __init__(self, found: Difference, before: Sequence[Profile], after: Sequence[Profile], least: float) -> None:
        self._least = least
        self._places: dict[tuple[int, int], int] = {}
        self._parents: list[int] = []
        self._functions: list[int] = []
        self._costs: tuple[list[float], list[float]] = ([], [])
        known = {(each.name, each.file, each.line): place for place, each in enumerate(found.functions)}
        base, head = side_of(before), side_of(after)
        partners = {a: b for a, b in match(base, head) if a is not None and b is not None}
        rows: tuple[dict[Key, int], dict[Key, int]] = ({}, {})
        for place, function in enumerate(base.functions):
            partner = head.functions[partners[place]] if place in partners else function
            rows[0][_key(function)] = known[_key(partner)]
        rows[1].update((_key(function), known[_key(function)]) for function in head.functions)
        for side, profiles in enumerate((before, after)):
            for profile in profiles:
                self._add(profile, rows[side], side, 1 / len(profiles))
        self._keep()

    def _add(self, profile: Profile, rows: dict[Key, int], side: int, weight: float) -> None:
        keys = zip(profile.names, profile.files, profile.lines.tolist(), strict=True)
        functions = [rows[key] for key in keys]
        costs = self._costs[side]
        own: list[int] = []
        parents = profile.parents.tolist()
        for frame, parent, cost in zip(profile.frames.tolist(), parents, profile.subtotals.tolist(), strict=True):
            above = own[parent] if parent >= 0 else -1
            place = self._places.setdefault((above, functions[frame]), len(self._parents))
            if place == len(self._parents):
                self._parents.append(above)
                self._functions.append(functions[frame])
                for each in self._costs:
                    each.append(0.0)
            costs[place] += cost * weight
            own.append(place)

    def _keep(self) -> None:
        """Leave out stacks that no screen shows; a child never costs more than its parent."""
        kept = [max(a, b) >= self._least for a, b in zip(*self._costs, strict=True)]
        self.cut = not all(kept)
        moved: dict[int, int] = {-1: -1}
        for place, keep in enumerate(kept):
            if keep and self._parents[place] in moved:
                moved[place] = len(moved) - 1
        order = [place for place in moved if place >= 0]
        self._functions = [self._functions[place] for place in order]
        self._costs = [self._costs[0][place] for place in order], [self._costs[1][place] for place in order]
        self._parents = [moved[self._parents[place]] for place in order]

    def columns(self) -> dict[str, list[int] | list[float]]:
        return {
            "parents": self._parents,
            "frames": self._functions,
            "before": [_short(cost) for cost in self._costs[0]],
            "after": [_short(cost) for cost in self._costs[1]],
        }


def _key(function: Function) -> Key:
    return function.name, function.file, function.line
