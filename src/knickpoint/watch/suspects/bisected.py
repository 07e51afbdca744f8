"""Let the answer of a bisection replace a ranking: what was measured counts more than what commits touch."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from knickpoint.model.suspects import Suspect, Suspects
from knickpoint.store.bisections import StoredBisection

__all__ = ["measured_suspects"]

_LEAST: Final = 0.001
"""Probability below which a commit that a bisection excluded is no suspect any more."""


def measured_suspects(ranked: Suspects, bisection: StoredBisection) -> Suspects:
    """Return the commits with the probabilities that ``bisection`` found, the culprit first; reasons stay behind its name."""
    known = bisection.posterior
    if known is None:
        return ranked
    reasons = {each.slot: each.reasons for each in ranked.suspects}
    slots = bisection.request.slots[1:]
    # Of several culprits, none made the change alone.
    likely = known.marginal if len(bisection.answer.culprits) > 1 else known.single
    shares = dict(zip(slots, (float(share) for share in likely), strict=True))
    culprits = set(bisection.answer.culprits)
    suspects = [
        Suspect(slot, share, (_reason(bisection, found=slot in culprits), *reasons.get(slot, ())))
        for slot, share in shares.items()
        if share >= _LEAST or slot in culprits
    ]
    order = {slot: place for place, slot in enumerate(slots)}
    suspects.sort(key=lambda each: (each.slot not in culprits, -each.probability, order[each.slot]))
    left = max(0.0, 1.0 - sum(each.probability for each in suspects))
    return replace(ranked, none=left, suspects=tuple(suspects), note="", bisection=bisection.id, machine="")


def _reason(bisection: StoredBisection, *, found: bool) -> str:
    return f"bisection {bisection.name} found it" if found else f"bisection {bisection.name} does not exclude it"
