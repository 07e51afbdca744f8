"""Count the permutations of a series whose largest Q-hat reaches the observed one."""

from __future__ import annotations

from knickpoint.native.choice import choose
from knickpoint.native.permutation import reference
from knickpoint.native.permutation.reference import draw_permutations

__all__ = ["draw_permutations", "permute"]

permute = choose(reference.permute)
