"""Modes: a series that returns to the same levels again and again flips between them, and flipping is not a finding.

The stages, each in a module that the next one uses:

1. ``visits``: levels that recur among the found steps, and the mode of each value;
2. ``regimes``: stretches of one way of flipping, by the likelihood of the visits, against steps that happen to return;
3. ``changes``: what changed from one regime to the next: a new mode, a vanished one, other shares, all modes shifted;
4. ``recognition``: the recogniser that puts them together, and what it costs where nothing recurs.

The guide page ``docs/guide/detect/default.md`` has the rules.
"""
