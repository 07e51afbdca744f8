"""Modes: a series that returns to the same levels again and again flips between them, and flipping is not a finding.

The stages, each in a module that the next one uses:

1. ``regimes``: the levels, which recur among the found steps or are two clear ones, the level of each value, and
   stretches of one way of flipping, by the likelihood of the visits, against steps that happen to return;
2. ``changes``: what changed from one regime to the next: a new mode, a vanished one, other shares, all modes shifted;
3. ``recognition``: the recognisers that put them together.

The guide page ``docs/guide/detect/default.md`` has the rules.
"""
