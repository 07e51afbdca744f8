"""The search: which commits to measure next, and what the measurements say; pure functions without I/O.

A *place* is a commit by number: 0 is the good end, the last one the bad end. Candidate c is the commit at place c: with
it the change may begin. A search is a ``Problem`` (candidates, priors, known levels) and its ``Observation`` objects;
it keeps nothing else, so a coordinator that restarts goes on from its journal.

Entry points, each from a problem and its observations:

- ``posterior``: the probability of each candidate, of no change and of several changes.
- ``plan``: the probes to start now, at most one for each free device. ``moot``: probes under way that can be cancelled.
- ``conclude``: the end of the search, None while it goes on. ``explain``: levels, noise and offsets behind a posterior.
- ``attribution.attribute``, ``attribution_of`` and ``next_cell``: which of two repositories made a change, before one
  of them is searched.

A caller that asks several questions after one result makes one ``standing.Standing`` and calls ``plan_of``, ``moot_of``
and ``conclude_of``: the posterior, the expensive part, is then computed once. The coordinator does so.

What callers can rely on:

- In: values or pass/fail answers by place and device. Out: frozen records. No clock, no randomness, no I/O: the same
  problem and observations give the same plan and the same conclusion.
- The posterior does not depend on the order of the observations. What is still to be verified does: a culprit's value
  and its parent's have to be measured beside each other on one device.
- No culprit is stated before its probability reaches ``Problem.probability``, and both it and its parent are measured;
  values twice each, on one device. Skipped places, and ends that the problem takes as certain, need no measurement.
- Commits that cannot be measured (``skipped``) are never planned. Candidates that no measurement can separate are
  stated as a range, never as one of them.
- When the budget ends first, the answer says so (``GAVE_UP``), and names the fewest candidates that together reach the
  probability.

The stages in the order in which an observation passes them:

1. ``problem`` has the records that go in and come out. ``Level.of`` makes the level of a history, without outliers.
2. ``values`` turns values into evidence for each gap between measured places. It puts them on one scale, and combines
   ``linear_model`` (levels, offsets of devices and variance integrated out) with ``mixture`` (noise with heavy tails,
   bursts or a second mode). Answers that pass or fail get theirs from ``belief.evidence_of_answers``.
3. ``belief`` weighs the evidence by the priors, and spreads the probability of each gap over its candidates.
4. ``standing`` says what follows: likely and sure culprits, what is verified, which size of a change is excluded.
5. ``planning`` chooses places: the ends first, then quantiles of the posterior, last the culprit and its parent.
6. ``conclusion`` decides whether the search ends, and says in words what stays open.

``attribution`` stands beside these stages: it has four combinations of old and new commits instead of a range.

Invariants between the stages:

- ``single``, ``none`` and ``several`` of a posterior sum to 1. Callers give each candidate some
  prior, so that evidence can always win.
- Inside a gap no measurement tells candidates apart: their posterior stays in proportion to their prior.
- All evidence is in logarithms, with common terms left out: compare hypotheses, never read one alone.
- Evidence is computed in the unit of the search (``linear_model.Scale``). Only ``conclusion`` converts back.
- ``planning`` and ``conclusion`` read the same standing, so nothing is planned after an end by evidence. Only
  ``conclusion`` knows the budget.
- Pass/fail answers exclude two changes: the second one would make the bad end pass.

Where to begin:

- Which commit is measured next: ``planning``; what a probe is worth: ``standing.gain`` and ``standing.doubt``.
- When a culprit is sure, or "no change" is stated: ``standing`` (``culprits``, ``verified``, ``not_reproducible``).
- Another shape of noise: ``mixture``. ``knick bisect --simulate`` and ``make bench-bisect`` show what it costs in
  probes.

The mathematics is in ``docs/guide/bisection-search.md``, the reasons in ``docs/decisions/bisection-search.md``.
"""

from __future__ import annotations

from knickpoint.bisect.search.belief import posterior
from knickpoint.bisect.search.conclusion import conclude, explain
from knickpoint.bisect.search.planning import moot, plan

__all__ = ["conclude", "explain", "moot", "plan", "posterior"]
