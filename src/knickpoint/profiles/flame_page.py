"""Write the page of a difference: a differential flame graph and a table of functions in one file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any, Final

import numpy as np

from knickpoint.model.quantity_text import scale_for
from knickpoint.profiles.difference import Difference
from knickpoint.profiles.profile import Floats, Profile
from knickpoint.profiles.stack_tree import Ints, depths_of, merge

_SMALLEST_SHARE: Final = 1e-5
"""Stacks below this share of the whole cost are left out of the page: no screen has as many pixels."""
_DIGITS: Final = 6


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
    tree = _tree(found, before, after)
    shown = _shown(tree, whole * _SMALLEST_SHARE)
    is_cut = len(shown.frames) < len(tree.frames)
    return {
        "unit": scale.unit,
        "divisor": scale.divisor,
        "whole": _short(whole),
        "note": f"Stacks below {100 * _SMALLEST_SHARE:g} % are left out." if is_cut else "",
        "functions": [
            [
                each.name, each.place, each.former, *map(_short, (
                    each.own.before, each.own.after, each.total.before, each.total.after, each.explained.difference,
                    each.explained.low, each.explained.high,
                )), each.state.value, each.partner,
            ]
            for each in found.functions
        ],
        "parents": shown.parents.tolist(),
        "frames": shown.frames.tolist(),
        "before": _shortened(shown.before).tolist(),
        "after": _shortened(shown.after).tolist(),
    }  # fmt: skip


def _short(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _shortened(values: Floats) -> Floats:
    """Round to the digits that are shown; a whole number over a power of ten is written as short as it is."""
    exponents = _DIGITS - 1 - np.floor(np.log10(np.where(values > 0, values, 1.0)))
    up, down = 10.0 ** np.maximum(exponents, 0), 10.0 ** np.maximum(-exponents, 0)
    rounded: Floats = np.rint(values / down * up) / up * down
    return rounded


@dataclass(frozen=True, slots=True)
class _Tree:
    """The stacks of both sides in one tree in preorder, with the mean cost of each side."""

    parents: Ints
    frames: Ints
    before: Floats
    after: Floats


def _tree(found: Difference, before: Sequence[Profile], after: Sequence[Profile]) -> _Tree:
    profiles = [*before, *after]
    functions = zip([*found.frames[0], *found.frames[1]], profiles, strict=True)
    frames = np.concatenate([places[profile.frames] for places, profile in functions])
    starts = np.cumsum([0, *(len(profile.frames) for profile in profiles)])
    parents = np.concatenate([
        np.where(profile.parents >= 0, profile.parents + start, -1)
        for profile, start in zip(profiles, starts[:-1], strict=True)
    ])  # fmt: skip
    merged = merge(parents, frames, depths_of(parents))
    middle = starts[len(before)]
    sides = []
    for side, places in ((before, merged.places[:middle]), (after, merged.places[middle:])):
        costs = np.concatenate([profile.subtotals for profile in side])
        sides.append(np.bincount(places, costs, len(merged.parents)) / len(side))
    return _Tree(merged.parents, merged.frames, *sides)


def _shown(tree: _Tree, least: float) -> _Tree:
    """Leave out stacks that no screen shows, and what begins with them."""
    kept = np.maximum(tree.before, tree.after) >= least
    while (alone := kept & (tree.parents >= 0) & ~kept[tree.parents]).any():
        kept &= ~alone
    places = np.cumsum(kept) - 1
    parents = tree.parents[kept]
    return _Tree(np.where(parents >= 0, places[parents], -1), tree.frames[kept], tree.before[kept], tree.after[kept])
