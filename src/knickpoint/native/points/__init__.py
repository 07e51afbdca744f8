"""Narrow values where that loses nothing, and lay stored points out as a matrix."""

from __future__ import annotations

from knickpoint.native.choice import choose
from knickpoint.native.points import reference
from knickpoint.native.points.tiles import PointTiles

__all__ = ["PointTiles", "lay", "narrowed"]

lay = choose(reference.lay)
narrowed = choose(reference.narrowed)
